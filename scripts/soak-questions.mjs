// What the clients of scripts/soak ask.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const chat = '/v1/chat/completions';

export const textQuestion = (text, more = {}) => ({ messages: [{ role: 'user', content: text }], max_tokens: 16, ...more });
const see = (data, text) => ({ role: 'user', content: [{ type: 'text', text }, { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }] });
const pictureQuestion = (data, text, more = {}) => ({ messages: [see(data, text)], max_tokens: 16, ...more });

export const questionAboutCrosses = {
  path: chat, same: 'crosses', expect: '6',
  body: pictureQuestion(readFileSync(join(root, 'examples/pictures/crosses.png')).toString('base64'), 'How many yellow crosses are in the picture?'),
};

// Drawn scenes, each as {name, data, texts: two questions}.
export function drawScenes(program, count) {
  const folder = mkdtempSync(join(tmpdir(), 'clasp-soak-scenes-'));
  execFileSync(program, ['scenes', '--split', 'test', '--count', String(count), '--questions', '2', '--seed', '21', '--out', folder], { stdio: 'ignore' });
  const byName = new Map();
  for (const line of readFileSync(join(folder, 'questions.jsonl'), 'utf8').trim().split('\n')) {
    const { image: name, text } = JSON.parse(line);
    if (!byName.has(name)) byName.set(name, { name, data: readFileSync(join(folder, name)).toString('base64'), texts: [] });
    byName.get(name).texts.push(text);
  }
  rmSync(folder, { recursive: true });
  return [...byName.values()];
}

// A second question about the scene, to a server that is to keep what it can of the first. What is kept depends on
// what else was asked since, so the answer may be another each time.
function conversation({ data, texts }, history) {
  const body = pictureQuestion(data, texts[0], { clasp: { history } });
  const next = ({ choices: [{ message }] }) =>
    ({ ...body, messages: [...body.messages, { role: 'assistant', content: message.content || '-' }, { role: 'user', content: texts[1] }] });
  return { path: chat, body, next };
}

// What clients ask, in turns, each of a scene. `leaves`: after so many milliseconds the client is gone; `status`: what
// is right if it is not 200; `same`: the question's name, if its answer has to be the same each time.
export const kinds = [
  () => questionAboutCrosses,
  () => ({ path: chat, body: textQuestion('What colour is the sky?', { stream: true }) }),
  ({ name, data, texts }) => ({ path: chat, body: pictureQuestion(data, texts[0]), same: `${name}, question 1` }),
  () => ({ path: '/v1/responses', body: { input: 'What colour is the sky?', max_output_tokens: 16, stream: true } }),
  (scene) => conversation(scene, 'reuse'),
  ({ data, texts }) => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
    return { path: '/v1/messages', body: { max_tokens: 16, messages: [{ role: 'user', content: [image, { type: 'text', text: texts[1] }] }] } };
  },
  ({ data, texts }) => ({ path: '/api/chat', body: { messages: [{ role: 'user', content: texts[1], images: [data] }], options: { num_predict: 8 } } }),
  () => ({ path: '/completion', body: { prompt: 'USER: Is it red? ASSISTANT:', n_predict: 8, n_probs: 3 } }),
  ({ name, data, texts }) => ({ path: chat, body: pictureQuestion(data, texts[1], { clasp: { budget: 64, map: 'stages' } }), same: `${name}, question 2` }),
  (scene) => conversation(scene, 'auto'),
  ({ data }) => ({ path: chat, body: pictureQuestion(data, 'Tell me all.', { stream: true, max_tokens: 512, ignore_eos: true }), leaves: 150 }),
  ({ data }) => ({ path: '/clasp/encode', body: { image: `data:image/png;base64,${data}` }, status: 202 }),
  () => ({ path: chat, body: { messages: [] }, status: 400 }),
];
