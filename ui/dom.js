// Small helpers: elements, icons, numbers in words. Text is always text; nothing here or elsewhere parses HTML.

const kPaths = {
  plus: 'M12 5v14M5 12h14', close: 'M6 6l12 12M18 6L6 18', menu: 'M4 7h16M4 12h16M4 17h16',
  send: 'M12 19V5M5.5 11.5L12 5l6.5 6.5', stop: 'M7 7h10v10H7z', columns: 'M4 5h7v14H4zM13 5h7v14h-7z',
  theme: 'M12 4a8 8 0 100 16 8 8 0 000-16zM12 4v16a8 8 0 000-16z',
  gear: 'M4 8h9M17 8h3M4 16h3M11 16h9M13 6h4v4h-4zM7 14h4v4H7z',
  picture: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9.5h.01', camera: 'M4 8h4l1.5-2h5L16 8h4v11H4zM12 16.5a3.2 3.2 0 100-6.4 3.2 3.2 0 000 6.4z',
  copy: 'M9 9h10v11H9zM15 9V4H5v11h4', code: 'M8.5 7L4 12l4.5 5M15.5 7L20 12l-4.5 5', again: 'M19 12a7 7 0 11-2.2-5.1M19 4v4h-4',
  edit: 'M5 19l1-4L16.5 4.5l3 3L9 18z', trash: 'M5 7h14M10 7V4.5h4V7M7 7l1 13h8l1-13', save: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  play: 'M8 5l11 7-11 7z', check: 'M5 13l4.5 4.5L19 7', differs: 'M6 9h12M6 15h12M15 5L9 19', key: 'M14 10a4 4 0 10-3.5 4L13 16.5h2.5V19H18v-2.5l-5-5',
};

export function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', kPaths[name]);
  svg.append(path);
  return svg;
}

// el('p', {class: 'note', text: 'x', onclick: f}, child, ...): null and false among props and children are left out.
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'text') node.textContent = value;
    else if (name === 'icon') node.prepend(icon(value));
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const byId = (id) => document.getElementById(id);

export function button(label, iconName, onclick, props = {}) {
  return el('button', { type: 'button', class: 'icon', 'aria-label': label, title: label, onclick, ...props }, icon(iconName));
}

export function fill(node, ...children) {
  node.replaceChildren(...children.flat().filter(Boolean));
  return node;
}

// A modal <dialog> that is gone when it is closed; resolves to what close(value) was given, else null.
export function dialog(title, build) {
  return new Promise((resolve) => {
    let result = null;
    const id = newId();
    const heading = el('h2', { text: title, id });
    const box = el('dialog', { 'aria-labelledby': id });
    const close = (value = null) => { result = value; box.close(); };
    box.append(el('div', { class: 'dialog-head' }, heading, button('Close', 'close', () => close())), ...[build(close)].flat());
    box.addEventListener('close', () => { box.remove(); resolve(result); });
    document.body.append(box);
    box.showModal();
  });
}

export function confirm(title, text, yes) {
  return dialog(title, (close) => [
    el('p', { text }),
    el('div', { class: 'dialog-foot' }, el('button', { type: 'button', text: 'Cancel', onclick: () => close() }),
      el('button', { type: 'button', class: 'primary', text: yes, onclick: () => close(true) })),
  ]);
}

let toastTimer = 0;
export function toast(text) {
  byId('toast').textContent = text;
  byId('toast').classList.add('on');
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => byId('toast').classList.remove('on'), 2500);
}

// Without https and beyond this machine there is no clipboard object; the old way still works there.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el('textarea', { class: 'hidden-label', 'aria-hidden': 'true' });
    area.value = text;
    (document.querySelector('dialog[open]') ?? document.body).append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  toast('Copied');
}

export function saveFile(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  el('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export function timeText(ms) {
  if (ms < 1) return '0 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 9950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

export const percent = (share) => `${Math.round(share * 100)} %`;

export function bytesText(n) {
  return n < 1 << 20 ? `${Math.ceil(n / 1024)} KiB` : `${(n / (1 << 20)).toFixed(n < 10 << 20 ? 1 : 0)} MiB`;
}

export function newId() {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
