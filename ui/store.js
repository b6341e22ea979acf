// What stays in this browser: chats and their pictures (IndexedDB), settings (localStorage). Where a browser
// forbids it, they live as long as the page.

const kSettingsName = 'clasp.settings';
const kDefaults = { theme: 'auto', system: '', temperature: '', max_tokens: '', seed: '', history: '', budget: '', method: '' };

function open() {
  return new Promise((resolve) => {
    let request;
    try {
      request = indexedDB.open('clasp', 1);
    } catch {
      resolve(null);
      return;
    }
    request.onupgradeneeded = () => {
      request.result.createObjectStore('chats', { keyPath: 'id' });
      request.result.createObjectStore('pictures', { keyPath: 'id' });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => resolve(null);
  });
}

const database = open();
const memory = { chats: new Map(), pictures: new Map() };

async function run(store, mode, act) {
  const db = await database;
  return new Promise((resolve, reject) => {
    const request = act(db.transaction(store, mode).objectStore(store));
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function put(store, value) {
  if (await database) return run(store, 'readwrite', (objects) => objects.put(value));
  return memory[store].set(value.id, value);
}

async function get(store, id) {
  if (await database) return run(store, 'readonly', (objects) => objects.get(id));
  return memory[store].get(id);
}

async function remove(store, id) {
  if (await database) return run(store, 'readwrite', (objects) => objects.delete(id));
  return memory[store].delete(id);
}

async function all(store) {
  if (await database) return run(store, 'readonly', (objects) => objects.getAll());
  return [...memory[store].values()];
}

const pictureIds = (chat) => chat.messages.flatMap((message) => message.pictures ?? []);

// A chat: {id, title, created, updated, messages: [{role, text, pictures: [id], ...}]}, newest first.
export async function chats() {
  return (await all('chats')).sort((a, b) => b.updated - a.updated);
}
export const chat = (id) => get('chats', id);
export const saveChat = (value) => put('chats', value);

// Pictures go with the last chat that shows them.
export async function deleteChat(id) {
  const gone = await get('chats', id);
  await remove('chats', id);
  if (gone) await dropUnused(pictureIds(gone));
}

export async function dropUnused(ids) {
  const used = new Set((await all('chats')).flatMap(pictureIds));
  for (const id of ids) if (!used.has(id)) await deletePicture(id);
}

export async function deleteAll() {
  for (const store of ['chats', 'pictures']) {
    if (await database) await run(store, 'readwrite', (objects) => objects.clear());
    memory[store].clear();
  }
  urls.forEach((url) => URL.revokeObjectURL(url));
  urls.clear();
}

// A picture: {id, name, blob}.
export const savePicture = (picture) => put('pictures', picture);
export const picture = (id) => get('pictures', id);

const urls = new Map();
export async function pictureUrl(id) {
  if (!urls.has(id)) {
    const found = await picture(id);
    if (!found) return '';
    urls.set(id, URL.createObjectURL(found.blob));
  }
  return urls.get(id);
}

async function deletePicture(id) {
  await remove('pictures', id);
  URL.revokeObjectURL(urls.get(id));
  urls.delete(id);
}

export const dataUrl = (blob) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result);
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(blob);
});

export async function exportChat(id) {
  const value = await get('chats', id);
  const pictures = {};
  for (const key of new Set(pictureIds(value))) {
    const found = await picture(key);
    if (found) pictures[key] = { name: found.name, data: await dataUrl(found.blob) };
  }
  return JSON.stringify({ ...value, pictures }, null, 1);
}

function readSettings() {
  try {
    return { ...kDefaults, ...JSON.parse(localStorage.getItem(kSettingsName)) };
  } catch {
    return { ...kDefaults };
  }
}

export const settings = readSettings();
export function saveSettings(changes) {
  Object.assign(settings, changes);
  localStorage.setItem(kSettingsName, JSON.stringify(settings));
}
