// The question: its text, its pictures, and how it is to be answered.
import { byId, el, fill, timeText, toast } from './dom.js';
import * as api from './api.js';
import * as store from './store.js';
import { firstTokenMs, visualTokens } from './estimate.js';
import { budgetShare, model } from './model.js';
import { Pictures } from './pictures.js';
import { classText } from './result.js';

const kRouteAfterMs = 250;

export class Composer {
  // on.send(text, pictureIds), on.stop(), on.hasPictures(): of the conversation so far.
  constructor(on) {
    this.on = on;
    this.question = byId('question');
    this.pictures = new Pictures(() => this.tuned());
    byId('composer').addEventListener('submit', (event) => { event.preventDefault(); this.send(); });
    this.question.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) { event.preventDefault(); this.send(); }
    });
    this.question.addEventListener('input', () => this.typed());
    byId('stop').addEventListener('click', () => on.stop());
    for (const [from, to] of [['add-picture', 'file'], ['add-photo', 'photo']]) {
      byId(from).addEventListener('click', () => byId(to).click());
      byId(to).addEventListener('change', ({ target }) => { this.addFiles([...target.files]); target.value = ''; });
    }
    for (const id of ['budget', 'budget-auto', 'method', 'class']) byId(id).addEventListener('input', () => this.tuned());
    this.pictures.listen((files) => this.addFiles(files));
  }

  async addFiles(files) {
    await this.pictures.addFiles(files);
    this.question.focus();
  }

  // The question as it stands, without sending it.
  draft() { return { role: 'user', text: this.question.value.trim(), pictures: this.pictures.ids() }; }

  send() {
    const { text, pictures } = this.draft();
    if (this.isBusy || (!text && !pictures.length)) return;
    if (!text) { toast('Type a question about the picture.'); this.question.focus(); return; }
    this.clear();
    this.on.send(text, pictures);
  }

  clear() {
    this.pictures.clear();
    this.question.value = '';
    this.typed();
  }

  async fill(text, ids) {
    this.clear();
    this.question.value = text;
    this.typed();
    for (const id of ids) {
      const found = await store.picture(id);
      if (found) await this.pictures.add(found);
    }
    this.question.focus();
  }

  setBusy(isBusy) {
    this.isBusy = isBusy;
    byId('send').hidden = isBusy;
    byId('stop').hidden = !isBusy;
    if (!isBusy) this.tuned();
  }

  typed() {
    this.question.style.height = 'auto';
    this.question.style.height = `${Math.min(220, this.question.scrollHeight)}px`;
    clearTimeout(this.routeTimer);
    this.routeTimer = setTimeout(() => this.route(), kRouteAfterMs);
  }

  async route() {
    this.routing?.abort();
    this.routing = new AbortController();
    const text = this.question.value.trim();
    const auto = byId('class').options[0];
    if (!text) { auto.text = 'auto'; return; }
    try {
      auto.text = `auto: ${classText(await api.route(text, this.routing.signal))}`;
    } catch {
      if (!this.routing.signal.aborted) auto.text = 'auto';
    }
  }

  // After the model is known.
  offer() {
    fill(byId('class'), el('option', { value: '', text: 'auto' }), model.classes.map(({ name }) => el('option', { value: name, text: name })));
    fill(byId('method'), el('option', { value: '', text: model.method ? `default (${model.method})` : 'default' }), model.methods.map(({ name, summary }) => el('option', { value: name, text: name, title: summary })));
    byId('method').value = model.methods.some(({ name }) => name === store.settings.method) ? store.settings.method : '';
    byId('add-picture').hidden = !model.hasVision;
    const budget = store.settings.budget || model.budget;
    byId('budget-auto').checked = budget === 'auto';
    byId('budget').value = String(Math.round(100 * (budgetShare(budget, visualTokens(model.nVisual)) ?? 0.33)));
    this.tuned();
  }

  budget() {
    if (byId('budget-auto').checked) return 'auto';
    return byId('budget').value === '100' ? 'none' : `${byId('budget').value}%`;
  }

  tuned() {
    const budget = this.budget();
    const share = budgetShare(budget, 0);
    const n = visualTokens(model.nVisual);
    const isEncoded = this.pictures.ids().length ? this.pictures.areReady() : this.on.hasPictures();
    const ms = share && firstTokenMs(share, isEncoded, model.nVisual);
    const count = share === null ? 'auto: prunes where it pays' : share === 1 ? 'all tokens' : `${Math.round(share * 100)} %${n ? `, ${Math.round(share * n)} of ${n} tokens` : ''}`;
    byId('budget').disabled = share === null;
    byId('budget').setAttribute('aria-valuetext', count);
    byId('budget-text').textContent = count + (ms ? ` · first token in about ${timeText(ms)}, estimated` : '');
    store.saveSettings({ budget, method: byId('method').value });
  }

  // The clasp object of the next request.
  tuning() {
    const clasp = { budget: this.budget() };
    if (byId('method').value) clasp.method = byId('method').value;
    if (byId('class').value) clasp.class = byId('class').value;
    return clasp;
  }
}
