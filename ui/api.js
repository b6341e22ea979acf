// Everything that goes to the server. Addresses are relative to this file, so a prefix in front of them is no matter.

const kRoot = new URL('..', import.meta.url);
const kKeyName = 'clasp.key';

export class ApiError extends Error {
  constructor(status, error = {}) {
    super(error.message || `The server answered with status ${status}.`);
    this.status = status;
    this.code = error.code || '';
  }
}

// app.js sets both: askForKey resolves to a key or null; onState hears 'ok', 'loading', 'draining' or 'gone'.
export const hooks = { askForKey: async () => null, onState: () => {} };

export const address = (path) => new URL(path, kRoot).href;
export const hasKey = () => storedKey() !== '';

function storedKey() {
  return sessionStorage.getItem(kKeyName) ?? localStorage.getItem(kKeyName) ?? '';
}

export function setKey(key, remember) {
  sessionStorage.removeItem(kKeyName);
  localStorage.removeItem(kKeyName);
  if (key) (remember ? localStorage : sessionStorage).setItem(kKeyName, key);
}

const pause = (ms, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener('abort', () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});

async function errorOf(response) {
  let error = {};
  try {
    const body = await response.json();
    error = typeof body.error === 'string' ? { message: body.error } : body.error;
  } catch {
    // not JSON: the status has to do
  }
  return new ApiError(response.status, error);
}

// A refused key is asked for again; a model that is still loading is waited for.
async function request(path, { body, signal } = {}) {
  for (;;) {
    const headers = {};
    if (storedKey()) headers.Authorization = `Bearer ${storedKey()}`;
    if (body) headers['Content-Type'] = 'application/json';
    let response;
    try {
      response = await fetch(address(path), { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body), signal });
    } catch (error) {
      if (signal?.aborted) throw error;
      watchServer();
      throw new ApiError(0, { message: 'The server cannot be reached.' });
    }
    if (response.ok) {
      hooks.onState('ok');
      return response;
    }
    const error = await errorOf(response);
    if (response.status === 401) {
      const key = await hooks.askForKey(hasKey());
      if (key === null) throw error;
    } else if (response.status === 503 && error.code === 'loading') {
      hooks.onState('loading');
      await pause(1000, signal);
    } else {
      throw error;
    }
  }
}

const getJson = async (path, options) => (await request(path, options)).json();

export const models = () => getJson('v1/models');

// Routes of our own: a server without one is asked once.
const missing = new Map();
async function own(path, options) {
  if (missing.has(path)) throw missing.get(path);
  try {
    return await getJson(path, options);
  } catch (error) {
    if (error.status === 404 || error.status === 501) missing.set(path, error);
    throw error;
  }
}

export const info = () => own('clasp/info');
export const route = (question, signal) => own('clasp/route', { body: { question }, signal });
export const encode = (image, signal) => own('clasp/encode', { body: { image }, signal });

let isWatching = false;
// Looks until the server is well again; says what it sees.
export async function watchServer() {
  if (isWatching) return;
  isWatching = true;
  for (let state = ''; state !== 'ok';) {
    try {
      const response = await fetch(address('health'));
      state = response.ok ? 'ok' : (await errorOf(response)).code === 'draining' ? 'draining' : 'loading';
    } catch {
      state = 'gone';
    }
    hooks.onState(state);
    if (state !== 'ok') await pause(1500);
  }
  isWatching = false;
}

// The events of one streamed reply, as JSON. A line may come in any number of pieces.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith('data:')) continue;
      const data = line.slice(5).trim();
      if (data === '[DONE]') return;
      yield JSON.parse(data);
    }
  }
}

// One answer. on.text(piece) and on.progress({stage, share}) come while it is made; resolves to
// {text, finish, usage, timings, clasp}.
export async function chat(body, signal, on = {}) {
  const whole = { text: '', finish: '', usage: null, timings: null, clasp: null };
  const response = await request('v1/chat/completions', {
    body: { ...body, stream: true, stream_options: { include_usage: true }, return_progress: true },
    signal,
  });
  for await (const chunk of events(response)) {
    if (chunk.error) throw new ApiError(200, chunk.error);
    if (chunk.prompt_progress) {
      on.progress?.(chunk.clasp ?? {});
      continue;
    }
    const piece = chunk.choices?.[0]?.delta?.content;
    if (piece) {
      whole.text += piece;
      on.text?.(piece);
    }
    whole.finish = chunk.choices?.[0]?.finish_reason ?? whole.finish;
    for (const name of ['usage', 'timings', 'clasp']) whole[name] = chunk[name] ?? whole[name];
  }
  if (!whole.finish) throw new ApiError(0, { message: 'The connection ended before the answer did.' });
  return whole;
}
