// The `ollama` package.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ollama } from 'ollama';
import { answer, base64, question, url } from './fixture.mjs';

const client = new Ollama({ host: url });
const messages = [{ role: 'user', content: question, images: [base64] }];

test('chats, whole and streamed, with our object', async () => {
  const whole = await client.chat({ model: 'tiny', messages, options: { clasp: { budget: 64 } } });
  assert.equal(whole.message.content, answer);
  assert.equal(whole.clasp.budget.asked, '64');
  let text = '';
  for await (const part of await client.chat({ model: 'tiny', messages, stream: true })) text += part.message.content;
  assert.equal(text, answer);
});

test('generates, and in a format', async () => {
  const reply = await client.generate({ model: 'tiny', prompt: question, images: [base64] });
  assert.equal(reply.response, answer);
  const formed = await client.generate({
    model: 'tiny',
    prompt: question,
    images: [base64],
    format: { type: 'object', properties: { n: { type: 'integer', minimum: 0, maximum: 9 } }, required: ['n'] },
  });
  assert.ok(Number.isInteger(JSON.parse(formed.response).n));
});

test('lists, shows, says what runs and which version', async () => {
  const { models } = await client.list();
  assert.equal(models[0].name, 'tiny:latest');
  assert.ok(models.some((model) => model.name === 'tiny:64'));
  const shown = await client.show({ model: 'tiny' });
  assert.ok(shown.capabilities.includes('vision'));
  assert.equal((await client.ps()).models.length, 1);
  assert.match((await client.version()).version, /^\d+\.\d+\.\d+$/);
});

test('stops when it is told to', async () => {
  const stream = await client.chat({
    model: 'tiny',
    messages: [{ role: 'user', content: 'Tell me a story.' }],
    stream: true,
    options: { num_predict: 1500, ignore_eos: true },
  });
  await assert.rejects(async () => {
    for await (const part of stream) if (part.message.content) stream.abort();
  }, /abort/i);
});

test('throws what it is told', async () => {
  await assert.rejects(client.chat({ model: 'tiny', messages: [{ role: 'tool', content: 'x' }] }), /role/);
  await assert.rejects(client.pull({ model: 'x' }), /does not do that/);
});
