// What stands below an answer: the map, the figures, where the time went, and what can be done with it.
import { bytesText, el, percent, timeText } from './dom.js';
import { unpruned } from './estimate.js';
import { countsTable, mapFigure } from './map.js';
import { readTokens } from './tokens.js';

// Steps of a request in their order; several of the server's figures may make one.
const kSteps = [
  ['queue', ['queue']], ['image', ['image', 'route']], ['encode', ['encode']], ['fuse', ['fuse', 'project']],
  ['select', ['gram', 'select']], ['prefill', ['prefill']], ['decode', ['decode']],
];

export function timingBar(clasp, timings) {
  const times = clasp?.timings_ms;
  if (!times) return null;
  const steps = kSteps.map(([name, parts]) => ({ name, ms: parts.reduce((sum, part) => sum + (times[part] ?? 0), 0) }));
  const total = steps.reduce((sum, step) => sum + step.ms, 0) || 1;
  const speed = timings?.predicted_per_second ?? 0;
  const bar = el('div', { class: 'bar', 'aria-hidden': 'true' });
  const list = el('dl', { class: 'bar-list' });
  for (const { name, ms } of steps) {
    const part = el('span', { class: `step ${name}` });
    part.style.flexGrow = String(ms / total);
    if (ms >= total / 500) bar.append(part);
    const isCached = name === 'encode' && clasp.cache?.features === 'hit';
    list.append(el('div', { class: `step ${name}` }, el('dt', { text: name }), el('dd', { text: isCached ? 'cached, 0 ms' : timeText(ms) })));
  }
  return el('section', { class: 'timing', 'aria-label': 'Where the time went' }, el('h2', { text: `Time: ${timeText(times.total ?? total)}${speed > 0 ? `, ${speed.toFixed(speed < 10 ? 1 : 0)} tokens/s` : ''}` }), bar, list);
}

function figure(value, unit, note) {
  return el('div', { class: 'stat' }, el('p', { class: 'stat-value' }, value, el('small', { text: unit })), el('p', { class: 'stat-note' }, note));
}

function firstToken(clasp, message, onMeasure) {
  const whole = unpruned(clasp, message.measuredMs);
  const note = [];
  if (whole && clasp.method !== 'none') {
    note.push(`instead of ${whole.basis === 'measured' ? 'a measured' : 'an estimated'} ${timeText(whole.ms)}`);
    if (whole.basis !== 'measured' && onMeasure) note.push(' ', el('button', { type: 'button', class: 'link', text: 'measure', title: 'Ask once more with all tokens', onclick: onMeasure }));
  }
  const [value, unit] = timeText(clasp.timings_ms.first_token).split(' ');
  return figure(value, ` ${unit} to the first token`, note);
}

export function classText(chosen) {
  if (!chosen) return '';
  if (chosen.by === 'fallback') return `uncertain → ${chosen.name}`;
  return chosen.by === 'forced' ? `${chosen.name}, as chosen` : `${chosen.name} ${percent(chosen.confidence)}`;
}

export function chips(clasp) {
  const words = [classText(clasp.class), clasp.label || clasp.method, clasp.budget?.asked && `budget ${clasp.budget.asked}`, clasp.kv_bytes && `${bytesText(clasp.kv_bytes)} of KV`, clasp.history === 'reuse' && 'tokens of the question before'];
  return el('ul', { class: 'chips', 'aria-label': 'How it was answered' }, words.filter(Boolean).map((text) => el('li', { text })));
}

// One sentence for those who look at nothing else.
export function tokensText({ tokens }) {
  return `${tokens.final} of ${tokens.visual} visual tokens in the end, ${Math.round(tokens.average)} per layer`;
}

export async function resultCard(message, urls, onMeasure) {
  const { clasp } = message;
  if (!clasp?.tokens) return null;
  const card = el('div', { class: 'result' });
  const map = clasp.tokens.visual ? await mapFigure(clasp, urls).catch(() => null) : null;
  const kept = clasp.tokens.visual && figure(String(clasp.tokens.final), ` of ${clasp.tokens.visual} visual tokens`, [`${Math.round(clasp.tokens.average)} per layer on average`]);
  if (map) card.append(map);
  card.append(el('div', { class: 'facts' }, el('div', { class: 'stats' }, kept, firstToken(clasp, message, onMeasure)), chips(clasp), timingBar(clasp, message.timings), map && countsTable(readTokens(clasp)),
    (clasp.notes ?? []).length > 0 && el('ul', { class: 'notes' }, clasp.notes.map((text) => el('li', { text })))));
  return card;
}
