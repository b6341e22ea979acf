// The list of conversations: search, rename, export, delete.
import { button, byId, confirm, dialog, el, fill, saveFile } from './dom.js';
import * as store from './store.js';

export class History {
  // on.open(chat), on.deleted(id), on.renamed(chat)
  constructor(on) {
    this.on = on;
    this.openId = '';
    byId('search').addEventListener('input', () => this.draw());
  }

  async draw(openId = this.openId) {
    this.openId = openId;
    const wanted = byId('search').value.trim().toLowerCase();
    const has = (chat) => `${chat.title} ${chat.messages.map((message) => message.text).join(' ')}`.toLowerCase().includes(wanted);
    const chats = (await store.chats()).filter((chat) => !wanted || has(chat));
    fill(byId('history'), chats.length ? el('ul', {}, chats.map((chat) => this.row(chat))) : el('p', { class: 'note', text: wanted ? 'Nothing found.' : 'No conversations yet.' }));
  }

  row(chat) {
    const isOpen = chat.id === this.openId;
    return el('li', { class: isOpen ? 'open' : null },
      el('button', { type: 'button', class: 'row', 'aria-current': isOpen ? 'true' : null, text: chat.title, onclick: () => this.on.open(chat) }),
      button(`Rename ${chat.title}`, 'edit', () => this.rename(chat)),
      button(`Export ${chat.title}`, 'save', async () => saveFile(`clasp-${chat.id}.json`, await store.exportChat(chat.id))),
      button(`Delete ${chat.title}`, 'trash', () => this.remove(chat)));
  }

  async rename(chat) {
    const title = await dialog('Rename', (close) => {
      const input = el('input', { type: 'text', maxlength: 120, 'aria-label': 'Name', value: chat.title });
      return el('form', { onsubmit: (event) => { event.preventDefault(); close(input.value.trim()); } }, input,
        el('div', { class: 'dialog-foot' }, el('button', { type: 'submit', class: 'primary', text: 'Rename' })));
    });
    if (!title) return;
    chat.title = title;
    await store.saveChat(chat);
    this.on.renamed(chat);
    await this.draw();
  }

  async remove(chat) {
    if (!(await confirm('Delete this conversation?', `"${chat.title}" and its pictures will be gone from this browser.`, 'Delete'))) return;
    await store.deleteChat(chat.id);
    this.on.deleted(chat.id);
    await this.draw();
  }
}
