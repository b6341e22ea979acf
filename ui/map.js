// The kept-token map of one answer: canvas, slider over the stages, legend, table.
import { el, fill } from './dom.js';
import { MapCanvas, loadPicture } from './canvas.js';
import { cellText, readTokens, stepText } from './tokens.js';

export function legend() {
  return el('ul', { class: 'legend' }, el('li', { class: 'pivot', text: 'pivot: relevant to the question' }), el('li', { class: 'coverage', text: 'coverage: keeps the rest represented' }), el('li', { class: 'dropped', text: 'dropped' }));
}

// The same for those who do not see the map, and for those who want numbers.
export function countsTable(tokens) {
  const head = ['Stage', 'Kept', 'Pivots', 'Coverage', 'Dropped'];
  const rows = tokens.steps.map((step, i) => [step.place, step.nKept, step.isWhole ? 0 : step.nPivots, step.isWhole ? 0 : step.nCoverage, i ? tokens.steps[i - 1].nKept - step.nKept : 0]);
  return el('details', { open: true }, el('summary', { text: 'Tokens per stage' }), el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Tokens per stage' },
    el('table', {}, el('caption', { class: 'hidden-label', text: 'Visual tokens per stage' }), el('thead', {}, el('tr', {}, head.map((text) => el('th', { scope: 'col', text })))),
      el('tbody', {}, rows.map(([first, ...rest]) => el('tr', {}, el('th', { scope: 'row', text: first }), rest.map((n) => el('td', { text: String(n) }))))))));
}

export function stageSlider(max, value, label, onInput) {
  return el('input', { type: 'range', class: 'stages', min: 0, max, step: 1, value, 'aria-label': label, oninput: (event) => onInput(Number(event.target.value)) });
}

// Buttons of which the last one pressed is marked.
function tabRow(labels, pressed, onPick) {
  const mark = (at) => row.childNodes.forEach((node, n) => node.setAttribute('aria-pressed', String(n === at)));
  const row = el('div', { class: 'tabs', role: 'group' }, labels.map((text, n) => el('button', { type: 'button', text, onclick: () => { mark(n); onPick(n); } })));
  mark(pressed);
  return row;
}

// urls: of the prompt's pictures in order.
export async function mapFigure(clasp, urls) {
  const tokens = readTokens(clasp);
  if (!tokens) return null;
  const pictures = await Promise.all(urls.map(loadPicture));
  const caption = el('p', { class: 'stage-text', role: 'status' });
  const cell = el('p', { class: 'cell-text', role: 'status' });
  const holder = el('div', { class: 'map-holder' });
  const last = tokens.steps.length - 1;
  let at = last;
  let canvas = null;
  const say = (found) => { cell.textContent = found ? cellText(tokens, found, at) : 'Point at a cell, or use the arrow keys.'; };
  const slider = stageSlider(last, at, 'Stage', (value) => show(value));
  const show = (value) => {
    at = value;
    slider.value = value;
    slider.setAttribute('aria-valuetext', stepText(tokens, at));
    caption.textContent = stepText(tokens, at);
    canvas.show(at);
    say(canvas.cursor);
  };
  const pick = (i) => {
    canvas = new MapCanvas(tokens, i, pictures[i], say);
    const { views: all } = canvas;
    const views = all.length > 1 && tabRow(all.map((_, n) => (n ? 'Tiles' : 'Overview')), all.length - 1, (n) => canvas.setView(all[n]));
    fill(holder, views, canvas.node);
    show(at);
  };
  const play = async () => {
    for (let step = 0; step <= last && holder.isConnected; step += 1) {
      show(step);
      await new Promise((resolve) => setTimeout(resolve, 850));
    }
  };
  pick(0);
  const tabs = tokens.images.length > 1 && tabRow(tokens.images.map((_, i) => `Picture ${i + 1}`), 0, pick);
  return el('figure', { class: 'map-figure' }, tabs, holder,
    el('div', { class: 'stage-row' }, el('button', { type: 'button', class: 'icon', 'aria-label': 'Play the stages', icon: 'play', onclick: play }), slider),
    caption, cell, legend());
}
