// How long the first token will take. The server's own figures come first; else what this page has seen of the
// model. Whatever is computed here is called an estimate wherever it is shown.

const kName = 'clasp.speed';
let seen = {};
try {
  seen = JSON.parse(localStorage.getItem(kName)) ?? {};
} catch {
  seen = {};
}

// Learns from a reply: reading costs time per token and layer, the rest does not depend on the budget.
export function learn(model, clasp) {
  const { tokens, timings_ms: times } = clasp ?? {};
  if (!tokens?.visual || !times?.prefill) return;
  // Where most of the prompt was there from before, its time tells nothing about the next picture.
  if (clasp.history === 'reuse' || clasp.cache?.front_tokens > 0) return;
  const before = seen[model];
  const encode = times.encode > 1 ? times.encode : before?.encode ?? 0;
  seen[model] = {
    perToken: times.prefill / (tokens.text + tokens.average),
    encode,
    rest: Math.max(0, times.first_token - times.prefill - times.encode),
    text: tokens.text,
    visual: tokens.visual,
    final: tokens.final,
  };
  localStorage.setItem(kName, JSON.stringify(seen));
}

export const visualTokens = (model) => seen[model]?.visual ?? 0;

// Milliseconds, or null when nothing is known yet. share: of the visual tokens, per layer on average.
export function firstTokenMs(model, share, isEncoded) {
  const known = seen[model];
  if (!known) return null;
  return known.rest + (isEncoded ? 0 : known.encode) + known.perToken * (known.text + share * known.visual);
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
