// The conversation that is open: its messages, the answer that is being written, what can be done with each.
import { button, byId, copyText, el, fill, newId, toast } from './dom.js';
import * as api from './api.js';
import * as store from './store.js';
import { learn } from './estimate.js';
import { markdown } from './markdown.js';
import { loadTiming } from './model.js';
import { requestBody } from './request.js';
import { resultCard } from './result.js';
import { showSnippets } from './snippet.js';
import { emptyState } from './welcome.js';

const kDrawEveryMs = 70;
const kShort = 60;  // characters that are shown large
const kStages = { encode: 'Looking at the picture', select: 'Choosing tokens', prefill: 'Reading', queue: 'Waiting for its turn' };

// Screen readers hear whole sentences, not tokens.
class Speaker {
  constructor() { this.said = 0; }
  tell(text, isOver) {
    const end = isOver ? text.length : Math.max(...['. ', '! ', '? ', '\n'].map((mark) => text.lastIndexOf(mark) + 1));
    if (end <= this.said) return;
    byId('live').textContent = text.slice(this.said, end);
    this.said = end;
  }
}

export class Chat {
  // on.saved(chat): after each change; on.edit(message): its text goes back to the composer; on.busy(is);
  // on.compare(messages); on.example(example); tuning(): the clasp object of the next request.
  constructor(node, on) {
    this.node = node;
    this.on = on;
    this.start();
  }

  start(chat = null) {
    this.stop();
    this.chat = chat ?? { id: newId(), title: '', created: Date.now(), updated: Date.now(), messages: [] };
    this.draw();
  }

  get messages() { return this.chat.messages; }
  hasPictures() { return this.messages.some((message) => message.pictures?.length); }
  stop() { this.controller?.abort(); }

  // One request at a time; whoever was before it has been told to stop.
  begin() {
    this.stop();
    this.controller = new AbortController();
    this.on.busy(true);
    return this.controller;
  }

  end(signal) {
    if (signal === this.controller.signal) this.on.busy(false);
  }

  async save() {
    this.chat.updated = Date.now();
    this.chat.title ||= this.messages[0]?.text.slice(0, 60) || 'Picture';
    await store.saveChat(this.chat);
    this.on.saved(this.chat);
  }

  async draw() {
    const drawn = this.chat;
    const nodes = await Promise.all(this.messages.map((message) => this.article(message)));
    if (drawn !== this.chat) return;
    fill(this.node, nodes.length ? nodes : emptyState(this.on.example));
    if (nodes.length) this.toEnd();
    else byId('main').scrollTo({ top: 0 });
  }

  // An answer with its map may be higher than the window: then its beginning is what is wanted.
  toEnd() {
    const main = byId('main');
    const last = this.node.lastElementChild;
    const top = last?.matches('.assistant') && last.offsetHeight > main.clientHeight - 40 ? last.offsetTop - main.offsetTop - 12 : main.scrollHeight;
    main.scrollTo({ top });
  }

  async ask(text, pictures) {
    this.messages.push({ role: 'user', text, pictures });
    await this.save();
    await this.answer();
  }

  async article(message) {
    const isUser = message.role === 'user';
    const node = el('article', { class: `message ${message.role}`, 'aria-label': isUser ? 'You' : 'Answer' });
    if (isUser) {
      const urls = await Promise.all((message.pictures ?? []).map(store.pictureUrl));
      const pictures = urls.filter(Boolean).map((src, i) => el('img', { src, alt: `Picture ${i + 1} of the question` }));
      node.append(el('div', { class: 'bubble' }, pictures.length > 0 && el('div', { class: 'pictures' }, pictures), el('p', { class: 'plain', text: message.text })));
    } else {
      node.append(el('div', { class: message.text.length < kShort ? 'text short' : 'text' }, markdown(message.text)));
      if (message.error) node.append(el('p', { class: 'error', text: message.error }));
      if (message.isStopped) node.append(el('p', { class: 'note', text: 'Stopped.' }));
      const card = await resultCard(message, await this.pictureUrls(message), () => this.measure(message));
      if (card) node.append(card);
    }
    node.append(this.actions(message));
    return node;
  }

  // All pictures that the model saw up to a message, in order.
  async pictureUrls(message) {
    const before = this.messages.slice(0, this.messages.indexOf(message));
    return Promise.all(before.flatMap((one) => one.pictures ?? []).map(store.pictureUrl));
  }

  actions(message) {
    const before = () => this.messages.slice(0, this.messages.indexOf(message));
    const shared = [button('Copy the text', 'copy', () => copyText(message.text))];
    const own = message.role === 'user'
      ? [button('Edit and ask again', 'edit', () => this.edit(message))]
      : [button('Answer again', 'again', () => this.again(message)),
        button('Compare methods and budgets', 'columns', () => this.on.compare(before())),
        button('Show as code', 'code', async () => showSnippets(await requestBody(before(), message.asked ?? {})))];
    return el('div', { class: 'actions' }, shared, own, button('Delete from here on', 'trash', () => this.cut(message)));
  }

  async cut(message) {
    this.stop();
    this.messages.splice(this.messages.indexOf(message));
    await this.save();
    await this.draw();
  }

  async edit(message) {
    await this.cut(message);
    this.on.edit(message);
  }

  async again(message) {
    await this.cut(message);
    await this.answer();
  }

  async answer() {
    const { chat } = this;
    const before = [...this.messages];
    const message = { role: 'assistant', text: '', asked: { ...this.on.tuning(), map: 'stages' } };
    this.messages.push(message);
    await this.draw();
    const article = this.node.lastElementChild;
    const text = article.querySelector('.text');
    const status = el('p', { class: 'working', role: 'status', text: 'Sending' });
    fill(article, text, status);
    const speaker = new Speaker();
    let lastDrawn = 0;
    const show = (isOver) => {
      if (!isOver && performance.now() - lastDrawn < kDrawEveryMs) return;
      const isAtEnd = byId('main').scrollHeight - byId('main').scrollTop - byId('main').clientHeight < 80;
      fill(text, markdown(message.text));
      speaker.tell(message.text, isOver);
      if (isAtEnd) this.toEnd();
      lastDrawn = performance.now();
    };
    const { signal } = this.begin();
    try {
      const reply = await api.chat(await requestBody(before, message.asked), signal, {
        progress: ({ stage, share }) => { status.textContent = `${kStages[stage] ?? 'Working'}${share > 0 ? ` ${Math.round(share * 100)} %` : ''}`; },
        text: (piece) => { message.text += piece; status.textContent = 'Writing'; show(false); },
      });
      Object.assign(message, { clasp: reply.clasp, timings: reply.timings, finish: reply.finish });
      learn(reply.clasp);
      loadTiming();
    } catch (error) {
      if (signal.aborted) message.isStopped = true;
      else message.error = error.message;
    }
    show(true);
    this.end(signal);
    await store.saveChat(Object.assign(chat, { updated: Date.now() }));
    this.on.saved(chat);
    if (chat === this.chat) {
      article.replaceWith(await this.article(message));
      this.toEnd();
    }
  }

  // The same question with all tokens. Encoding may come from the cache there: it counts as in the answer itself.
  async measure(message) {
    const before = this.messages.slice(0, this.messages.indexOf(message));
    const { signal } = this.begin();
    try {
      const { clasp } = await api.chat(await requestBody(before, { vanilla: true }), signal);
      message.measuredMs = clasp.timings_ms.first_token - clasp.timings_ms.encode + message.clasp.timings_ms.encode;
      await this.save();
      await this.draw();
    } catch (error) {
      if (!signal.aborted) toast(error.message);
    }
    this.end(signal);
  }
}
