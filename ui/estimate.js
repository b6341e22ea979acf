// How long the first token will take; always called an estimate where it is shown. The server tells what prompts and
// pictures have taken there (`timing` of /clasp/info); this page's own answers tell the rest, and all of it where the
// server says nothing. Nothing is kept: at the same address another machine may answer tomorrow.

// Tokens of a short question in its template, until an answer has told.
const kTextTokens = 40;
let server = null;
let seen = null;

export function told(timing) { server = timing ?? null; }

// Learns from a reply: reading costs time per token and layer, the rest does not depend on the budget.
export function learn(clasp) {
  const { tokens, timings_ms: times } = clasp ?? {};
  if (!tokens?.visual || !times?.prefill) return;
  // Where most of the prompt was there from before, its time tells nothing about the next picture.
  if (clasp.history === 'reuse' || clasp.cache?.front_tokens > 0) return;
  seen = {
    perToken: times.prefill / (tokens.text + tokens.average),
    encode: times.encode > 1 ? times.encode : seen?.encode,
    rest: Math.max(0, times.first_token - times.prefill - times.encode),
    text: tokens.text,
    visual: tokens.visual,
  };
}

// Visual tokens of the pictures of the last answer, else of one picture.
export const visualTokens = (nVisual) => seen?.visual || nVisual;

// Milliseconds, or null when nothing is known yet. share: of the visual tokens, per layer on average.
export function firstTokenMs(share, isEncoded, nVisual) {
  const visual = visualTokens(nVisual);
  const encode = isEncoded ? 0 : server?.encode_ms ?? seen?.encode;
  if (!(server || seen) || !visual || encode === undefined) return null;
  const tokens = (seen?.text ?? kTextTokens) + share * visual;
  return encode + (seen?.rest ?? 0) + (server ? server.prefill_ms + server.prefill_ms_per_token * tokens : seen.perToken * tokens);
}

// What the same request would have taken unpruned: {ms, basis}, basis 'measured' or 'estimate'; null if unknown.
export function unpruned(clasp, measuredMs) {
  if (measuredMs) return { ms: measuredMs, basis: 'measured' };
  if (clasp.unpruned?.first_token_ms) return { ms: clasp.unpruned.first_token_ms, basis: clasp.unpruned.basis };
  const { tokens, timings_ms: times } = clasp;
  if (!tokens?.visual || !times?.prefill || clasp.method === 'none') return null;
  const longer = (tokens.text + tokens.visual) / (tokens.text + tokens.average);
  return { ms: times.first_token + times.prefill * (longer - 1), basis: 'estimate' };
}
