// A request as the server takes it.
import * as store from './store.js';
import { model } from './model.js';

// Messages with their pictures, and a system message if there is one.
async function wireMessages(messages, system) {
  const wire = system ? [{ role: 'system', content: system }] : [];
  for (const { role, text, pictures = [] } of messages) {
    const parts = [];
    for (const id of pictures) {
      const found = await store.picture(id);
      if (!found) throw new Error('A picture of this conversation is not in this browser any more.');
      parts.push({ type: 'image_url', image_url: { url: await store.dataUrl(found.blob) } });
    }
    wire.push({ role, content: parts.length ? [...parts, { type: 'text', text }] : text });
  }
  return wire;
}

// What the settings add to every request.
export async function requestBody(messages, clasp) {
  const { system, temperature, max_tokens, seed, history } = store.settings;
  const body = { model: model.id, messages: await wireMessages(messages, system), clasp: history ? { ...clasp, history } : clasp };
  for (const [name, value] of Object.entries({ temperature, max_tokens, seed })) if (value !== '') body[name] = Number(value);
  return body;
}
