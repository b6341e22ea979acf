// Settings, the theme, and the question for a key.
import { byId, confirm, dialog, el } from './dom.js';
import * as api from './api.js';
import * as store from './store.js';
import { model } from './model.js';

const kThemes = ['auto', 'light', 'dark'];
// Which visual tokens a question sees that follows others.
const kHistory = [['', 'server default'], ['reselect', 'choose tokens anew'], ['reuse', 'reuse the tokens before'], ['auto', 'reuse them where they will do']];

export function applyTheme() {
  document.documentElement.dataset.theme = store.settings.theme;
  byId('theme').setAttribute('aria-label', `Theme: ${store.settings.theme}`);
  byId('theme').title = `Theme: ${store.settings.theme}`;
}

// The button goes from what is seen now to the other one.
export function nextTheme() {
  const isDark = store.settings.theme === 'dark' || (store.settings.theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  store.saveSettings({ theme: isDark ? 'light' : 'dark' });
  applyTheme();
}

function numberField(label, name, props, hint) {
  const input = el('input', { type: 'number', name, value: store.settings[name], placeholder: hint, ...props });
  return el('label', { class: 'line' }, el('span', { text: label }), input);
}

export async function openSettings(onDeleted) {
  const wantsDelete = await dialog('Settings', (close) => {
    const theme = el('select', { name: 'theme' }, kThemes.map((value) => el('option', { value, text: value })));
    theme.value = store.settings.theme;
    const system = el('textarea', { name: 'system', rows: 3, placeholder: 'none' });
    system.value = store.settings.system;
    const history = el('select', { name: 'history' }, kHistory.map(([value, text]) => el('option', { value, text })));
    history.value = store.settings.history;
    const form = el('form', { class: 'settings', onsubmit: (event) => { event.preventDefault(); save(); } },
      el('label', { class: 'line' }, el('span', { text: 'Theme' }), theme),
      el('label', { class: 'line tall' }, el('span', { text: 'System message' }), system),
      numberField('Temperature', 'temperature', { min: 0, max: 2, step: 0.1 }, 'server default'),
      numberField('Longest answer, tokens', 'max_tokens', { min: 1, max: 4096, step: 1 }, 'server default'),
      el('label', { class: 'line' }, el('span', { text: 'Questions that follow' }), history),
      numberField('Seed', 'seed', { min: -1, step: 1 }, 'server default'),
      el('p', { class: 'note', text: `Model ${model.id || 'unknown'}${model.version ? `, clasp-vlm ${model.version}` : ''}. Enter sends, Shift+Enter begins a line, Esc stops, Ctrl+K begins a new chat.` }),
      el('div', { class: 'dialog-foot' },
        el('button', { type: 'button', class: 'danger', text: 'Delete all data', onclick: () => close('delete') }),
        api.hasKey() && el('button', { type: 'button', text: 'Forget the key', onclick: (event) => { api.setKey(''); event.target.disabled = true; } }),
        el('span', { class: 'grow' }), el('button', { type: 'submit', class: 'primary', text: 'Save' })));
    const save = () => {
      store.saveSettings(Object.fromEntries(new FormData(form)));
      applyTheme();
      close();
    };
    return form;
  });
  if (wantsDelete !== 'delete') return;
  if (!(await confirm('Delete everything?', 'All conversations and pictures will be gone from this browser. The server keeps none.', 'Delete'))) return;
  await store.deleteAll();
  onDeleted();
}

let asking = null;
// One dialog, however many requests wait for it. Resolves to the key, or null.
export function askForKey(wasWrong) {
  asking ??= dialog('This server wants a key', (close) => {
    const input = el('input', { type: 'password', 'aria-label': 'Key', autocomplete: 'off', required: true });
    const remember = el('input', { type: 'checkbox' });
    return el('form', { onsubmit: (event) => { event.preventDefault(); api.setKey(input.value.trim(), remember.checked); close(input.value.trim()); } },
      el('p', { text: wasWrong ? 'The key was not accepted.' : 'It was started with --api-key.' }), input,
      el('label', { class: 'check' }, remember, 'remember it in this browser'),
      el('div', { class: 'dialog-foot' }, el('button', { type: 'submit', class: 'primary', text: 'Use it' })));
  }).finally(() => { asking = null; });
  return asking;
}
