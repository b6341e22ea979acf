// Puts the parts together.
import { byId, icon, toast } from './dom.js';
import * as api from './api.js';
import * as store from './store.js';
import { Chat } from './chat.js';
import { Compare } from './compare.js';
import { Composer } from './composer.js';
import { History } from './history.js';
import { loadModel, model } from './model.js';
import { applyTheme, askForKey, nextTheme, openSettings } from './settings.js';
import { examplePicture } from './welcome.js';

for (const node of document.querySelectorAll('[data-icon]')) node.prepend(icon(node.dataset.icon));
applyTheme();

const kStates = { loading: 'Loading model: the server will answer as soon as it is there.', draining: 'The server is shutting down.', gone: 'The server cannot be reached. Trying again.' };
let isBeginning = true;  // until the first attempt is over
api.hooks.askForKey = askForKey;
api.hooks.onState = (next) => {
  byId('banner').hidden = next === 'ok';
  byId('banner').textContent = kStates[next] ?? '';
  byId('state-dot').dataset.state = next;
  if (next === 'ok' && !model.id && !isBeginning) begin();
};

const history = new History({
  open: (chat) => { showChat(chat); closeSide(); },
  deleted: (id) => { if (id === chat.chat.id) showChat(); },
  renamed: (renamed) => { if (renamed.id === chat.chat.id) chat.chat.title = renamed.title; },
});
const composer = new Composer({
  send: (text, pictures) => { showCompare(false); chat.ask(text, pictures); },
  stop: () => chat.stop(),
  hasPictures: () => chat?.hasPictures() ?? false,
});
const chat = new Chat(byId('chat'), {
  saved: (saved) => {
    if (saved === chat.chat) location.hash = saved.id;
    history.draw(chat.chat.id);
  },
  edit: ({ text, pictures = [] }) => composer.fill(text, pictures),
  busy: (isBusy) => composer.setBusy(isBusy),
  compare: (messages) => { showCompare(true); compare.open(messages); },
  tuning: () => composer.tuning(),
  example: async (example) => {
    await composer.addFiles([await examplePicture(example)]);
    composer.question.value = example.question;
    composer.send();
  },
});
const compare = new Compare(byId('compare'), () => showCompare(false));

function showCompare(isShown) {
  byId('compare').hidden = !isShown;
  byId('chat').hidden = isShown;
  document.body.classList.toggle('comparing', isShown);
}

function showChat(opened = null) {
  showCompare(false);
  chat.start(opened);
  if (opened) location.hash = opened.id;
  else window.history.replaceState(null, '', location.pathname);
  history.draw(chat.chat.id);
  composer.tuned();
}

function newChat() {
  showChat();
  closeSide();
  composer.question.focus();
}

function openSide(isOpen = true) {
  document.body.classList.toggle('side-open', isOpen);
  byId('shade').hidden = !isOpen;
  byId('side-open').setAttribute('aria-expanded', String(isOpen));
  if (isOpen) byId('new-chat').focus();
}
const closeSide = () => openSide(false);

byId('new-chat').addEventListener('click', newChat);
byId('side-open').addEventListener('click', () => openSide());
byId('side-close').addEventListener('click', closeSide);
byId('shade').addEventListener('click', closeSide);
byId('theme').addEventListener('click', nextTheme);
byId('open-settings').addEventListener('click', () => openSettings(newChat));
byId('open-compare').addEventListener('click', () => {
  const draft = composer.draft();
  const last = chat.messages.findLastIndex((message) => message.role === 'user');
  const messages = draft.text ? [...chat.messages, draft] : chat.messages.slice(0, last + 1);
  if (!messages.length) { toast('Type a question first, with a picture.'); return; }
  showCompare(true);
  compare.open(messages);
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'k' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); newChat(); }
  if (event.key === 'Escape' && !document.querySelector('dialog[open]')) { chat.stop(); compare.stop(); closeSide(); }
});

async function begin() {
  isBeginning = true;
  try {
    await loadModel();
    byId('model-name').textContent = model.id;
    document.title = `CLASP: ${model.id}`;
    composer.offer();
  } catch (error) {
    byId('model-name').textContent = 'not connected';
    if (error.status !== 0) toast(error.message);
  }
  isBeginning = false;
}

const opened = location.hash && await store.chat(location.hash.slice(1));
showChat(opened || null);
composer.question.focus();
await begin();
