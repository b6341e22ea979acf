// The pictures of the question that is being written: accepted, shown as thumbnails, encoded ahead.
import { button, byId, confirm, el, newId, toast } from './dom.js';
import * as api from './api.js';
import * as store from './store.js';
import { model } from './model.js';

const kFormats = ['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/bmp'];
const kMaxBytes = 20 << 20;
const kMaxSide = 4096;

// Pictures go as they are; only one that the server would refuse is drawn anew, and only when that is wanted.
async function acceptable(file) {
  const most = model.limits.image_bytes ?? kMaxBytes;
  const isKnown = kFormats.includes(file.type);
  if (isKnown && file.size <= most) return file;
  const why = isKnown ? `${file.name} has ${Math.ceil(file.size / (1 << 20))} MiB; the server takes ${most >> 20}.` : `The server does not read this format (${file.type || 'unknown'}).`;
  if (!(await confirm('Convert the picture?', `${why} It can be sent as a JPEG of at most ${kMaxSide} pixels a side.`, 'Convert'))) return null;
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, kMaxSide / Math.max(bitmap.width, bitmap.height));
  const canvas = el('canvas', { width: Math.round(bitmap.width * scale), height: Math.round(bitmap.height * scale) });
  canvas.getContext('2d').drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => { canvas.toBlob(resolve, 'image/jpeg', 0.92); });
}

export class Pictures {
  constructor(onChange) {
    this.items = [];
    this.onChange = onChange;
  }

  ids() { return this.items.map((item) => item.id); }
  areReady() { return this.items.every((item) => item.state === 'ready'); }

  clear() {
    for (const item of this.items) this.take(item);
  }

  // Pictures that are pasted or dropped anywhere on the page.
  listen(take) {
    const images = (transfer) => [...(transfer?.files ?? [])].filter((file) => file.type.startsWith('image/'));
    document.addEventListener('paste', (event) => { if (images(event.clipboardData).length) { event.preventDefault(); take(images(event.clipboardData)); } });
    const isFiles = (event) => event.dataTransfer?.types.includes('Files');
    document.addEventListener('dragover', (event) => { if (isFiles(event)) { event.preventDefault(); byId('drop').hidden = false; } });
    document.addEventListener('dragleave', (event) => { if (!event.relatedTarget) byId('drop').hidden = true; });
    document.addEventListener('drop', (event) => {
      byId('drop').hidden = true;
      if (!isFiles(event)) return;
      event.preventDefault();
      take(images(event.dataTransfer));
    });
  }

  async addFiles(files) {
    for (const file of files) {
      try {
        const blob = await acceptable(file);
        if (blob) await this.add({ id: newId(), name: file.name, blob });
      } catch {
        toast(`${file.name} is no picture that this browser can read.`);
      }
    }
  }

  async add(picture) {
    await store.savePicture(picture);
    const item = { ...picture, state: '', encoding: new AbortController(), badge: el('span', { class: 'badge', role: 'status', hidden: true }) };
    const number = this.items.push(item);
    item.node = el('li', {}, el('img', { src: await store.pictureUrl(item.id), alt: `Picture ${number}` }), item.badge,
      button(`Remove picture ${number}`, 'close', () => { this.take(item); store.dropUnused([item.id]); }));
    if (!this.items.includes(item)) return;
    byId('thumbs').append(item.node);
    byId('thumbs').hidden = false;
    this.encode(item);
  }

  take(item) {
    item.encoding.abort();
    item.node?.remove();
    this.items = this.items.filter((other) => other !== item);
    byId('thumbs').hidden = !this.items.length;
    this.onChange();
  }

  setState(item, state) {
    item.state = state;
    item.node.className = state;
    item.badge.textContent = state;
    item.badge.hidden = !state;
    this.onChange();
  }

  // The vision tower runs while the question is typed. A server without that route is no trouble.
  async encode(item) {
    const { signal } = item.encoding;
    try {
      const url = await store.dataUrl(item.blob);
      for (let wait = 500; wait < 60000 && !signal.aborted; wait *= 2) {
        const { state } = await api.encode(url, signal);
        this.setState(item, state === 'cached' ? 'ready' : 'encoding');
        if (item.state === 'ready') return;
        await new Promise((resolve) => { setTimeout(resolve, wait); });
      }
    } catch {
      this.setState(item, '');
    }
  }
}
