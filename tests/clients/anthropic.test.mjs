// The `@anthropic-ai/sdk` package.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { answer, base64, question, url } from './fixture.mjs';

const client = new Anthropic({ baseURL: url, apiKey: 'k' });
const request = {
  model: 'tiny',
  max_tokens: 16,
  messages: [
    {
      role: 'user',
      content: [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } },
        { type: 'text', text: question },
      ],
    },
  ],
};

test('answers', async () => {
  const message = await client.messages.create(request);
  assert.equal(message.content[0].text, answer);
  assert.equal(message.stop_reason, 'end_turn');
  assert.equal(message.clasp.tokens.visual, 576);
});

test('streams', async () => {
  const stream = client.messages.stream(request);
  let text = '';
  stream.on('text', (piece) => {
    text += piece;
  });
  const message = await stream.finalMessage();
  assert.equal(text, answer);
  assert.equal(message.content[0].text, answer);
  assert.ok(message.usage.output_tokens > 0);
});

test('counts', async () => {
  const { model, messages } = request;
  const count = await client.messages.countTokens({ model, messages });
  assert.ok(count.input_tokens > 576);
});

test('throws what it is told', async () => {
  await assert.rejects(client.messages.create({ ...request, messages: [] }), Anthropic.BadRequestError);
  await assert.rejects(
    client.messages.create({ ...request, tools: [{ name: 'f', input_schema: { type: 'object' } }] }),
    /does not support tools/,
  );
});
