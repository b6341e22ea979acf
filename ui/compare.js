// One question, two to four ways to answer it, side by side: N requests in turn, maps under one slider.
import { button, byId, el, fill, icon, timeText } from './dom.js';
import * as api from './api.js';
import * as store from './store.js';
import { MapCanvas, loadPicture } from './canvas.js';
import { legend, stageSlider } from './map.js';
import { markdown } from './markdown.js';
import { model } from './model.js';
import { requestBody } from './request.js';
import { tokensText } from './result.js';
import { readTokens, stepAtLayer } from './tokens.js';

const kMost = 4;
const kBudgets = ['none', 'auto', '66%', '50%', '33%', '22%', '11%', '5%'];
const budgetWord = (budget) => (budget === 'none' ? 'all tokens (unpruned)' : budget);
const sameText = (a, b) => a.trim().toLowerCase().replace(/[.!]$/, '') === b.trim().toLowerCase().replace(/[.!]$/, '');

export class Compare {
  constructor(node, onClose) {
    this.node = node;
    this.onClose = onClose;
    this.columns = [{ budget: 'none', method: '' }, { budget: '33%', method: '' }, { budget: '11%', method: '' }];
  }

  // messages: a conversation that ends with the question.
  open(messages) {
    this.stop();
    this.controller = null;
    this.running = null;
    this.messages = messages;
    this.columns.forEach((column) => { delete column.reply; delete column.error; });
    this.draw();
  }

  stop() { this.controller?.abort(); }

  close() {
    this.stop();
    this.onClose();
  }

  select(label, values, column, name) {
    const node = el('select', { onchange: () => { column[name] = node.value; delete column.reply; this.draw(); } }, values.map(([value, text]) => el('option', { value, text })));
    node.value = column[name];
    return el('label', { class: 'field' }, el('span', { text: label }), node);
  }

  async draw() {
    const question = this.messages.at(-1);
    const urls = await Promise.all(this.messages.flatMap((message) => message.pictures ?? []).map(store.pictureUrl));
    this.picture = urls[0] ? await loadPicture(urls.at(-1)) : null;
    this.pictureIndex = urls.length - 1;
    this.maps = [];
    const isRunning = Boolean(this.controller);
    this.slider = el('div', { class: 'stage-row shared', hidden: true });
    fill(this.node,
      el('div', { class: 'compare-head' }, urls.at(-1) && el('img', { src: urls.at(-1), alt: 'The picture' }), el('div', {}, el('h2', { text: 'Compare' }), el('p', { text: question.text })), button('Close the comparison', 'close', () => this.close())),
      el('div', { class: 'compare-bar' },
        el('button', { type: 'button', class: 'primary', id: 'run-compare', text: isRunning ? 'Stop' : 'Run', icon: isRunning ? 'stop' : 'play', onclick: () => (isRunning ? this.stop() : this.run()) }),
        this.columns.length < kMost && el('button', { type: 'button', text: 'Add a column', icon: 'plus', disabled: isRunning, onclick: () => { this.columns.push({ budget: '22%', method: '' }); this.draw(); } })),
      this.slider,
      el('div', { class: `columns n${this.columns.length}` }, this.columns.map((column, i) => this.column(column, i, isRunning))),
      this.maps.length > 0 && legend());
    this.shareSlider();
  }

  column(column, i, isRunning) {
    const methods = [['', model.method ? `default (${model.method})` : 'default'], ...model.methods.map(({ name }) => [name, name])];
    const head = el('fieldset', { disabled: isRunning }, el('legend', { text: `Column ${i + 1}` }),
      this.select('Budget', kBudgets.map((budget) => [budget, budgetWord(budget)]), column, 'budget'),
      column.budget !== 'none' && this.select('Method', methods, column, 'method'),
      this.columns.length > 2 && button(`Remove column ${i + 1}`, 'close', () => { this.columns.splice(i, 1); this.draw(); }));
    const body = el('div', { class: 'column-body', 'aria-live': 'polite' });
    if (column === this.running) body.append(el('p', { class: 'working', text: 'Working' }));
    if (column.error) body.append(el('p', { class: 'error', text: column.error }));
    if (column.reply) this.fillColumn(body, column);
    return el('section', { class: 'column', 'aria-label': `Column ${i + 1}` }, head, body);
  }

  fillColumn(body, column) {
    const { text, clasp } = column.reply;
    const whole = this.columns.find((other) => other.budget === 'none' && other.reply);
    body.append(el('div', { class: text.length < 60 ? 'text short' : 'text' }, markdown(text)));
    if (whole && whole !== column) {
      const isSame = sameText(whole.reply.text, text);
      body.append(el('p', { class: isSame ? 'verdict same' : 'verdict differs' }, icon(isSame ? 'check' : 'differs'), isSame ? 'agrees with unpruned' : 'differs from unpruned'));
    } else if (whole) {
      body.append(el('p', { class: 'verdict', text: 'the reference' }));
    }
    if (!clasp) return;
    const tokens = readTokens(clasp);
    if (tokens && this.picture) {
      const map = new MapCanvas(tokens, this.pictureIndex, this.picture);
      this.maps.push(map);
      body.append(map.node);
    }
    body.append(el('p', { class: 'note', text: tokensText(clasp) }), el('p', { class: 'note', text: `first token ${timeText(clasp.timings_ms.first_token)}, ${clasp.method === 'none' ? 'nothing pruned' : clasp.label || clasp.method}` }));
  }

  // Methods act at different layers: the slider walks over all of them, each map shows what is left by then.
  shareSlider() {
    const places = new Map(this.maps.flatMap((map) => map.tokens.steps.map((step) => [step.layer, step.place])));
    const layers = [...places.keys()].sort((a, b) => a - b);
    this.slider.hidden = layers.length < 2;
    const text = el('output', { class: 'stage-text' });
    const node = stageSlider(Math.max(0, layers.length - 1), layers.length - 1, 'Stage of all maps', (at) => show(at));
    const show = (at) => {
      text.textContent = `stage ${at + 1} of ${layers.length}: ${places.get(layers[at])}`;
      node.setAttribute('aria-valuetext', text.textContent);
      for (const map of this.maps) map.show(stepAtLayer(map.tokens, layers[at]));
    };
    fill(this.slider, node, text);
    if (layers.length) show(layers.length - 1);
  }

  async run() {
    const controller = new AbortController();
    const { signal } = controller;
    this.controller = controller;
    this.columns.forEach((column) => { delete column.reply; delete column.error; });
    for (const column of [...this.columns]) {
      if (signal.aborted) break;
      this.running = column;
      await this.draw();
      const clasp = column.budget === 'none' ? { vanilla: true, map: 'stages' } : { budget: column.budget, map: 'stages', ...(column.method && { method: column.method }) };
      try {
        column.reply = await api.chat(await requestBody(this.messages, clasp), signal);
      } catch (error) {
        if (!signal.aborted) column.error = error.message;
      }
    }
    if (this.controller !== controller) return;
    this.running = null;
    this.controller = null;
    if (!this.node.hidden) await this.draw();
    byId('run-compare')?.focus();
  }
}
