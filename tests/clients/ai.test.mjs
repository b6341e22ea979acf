// The `ai` package with its OpenAI-compatible provider (chat completions) and its OpenAI provider (responses): replies
// are checked against their schemas.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateObject, generateText, streamText } from 'ai';
import { z } from 'zod';
import { answer, picture, question, url } from './fixture.mjs';

const compatible = createOpenAICompatible({
  name: 'clasp',
  baseURL: `${url}/v1`,
  apiKey: 'k',
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey: 'k' });
const messages = [
  {
    role: 'user',
    content: [
      { type: 'text', text: question },
      { type: 'image', image: picture, mediaType: 'image/png' },
    ],
  },
];

for (const [name, model] of [
  ['chat completions', compatible('tiny')],
  ['chat completions of the OpenAI provider', openai.chat('tiny')],
  ['responses', openai('tiny')],
]) {
  test(`text by ${name}`, async () => {
    const { text, usage, finishReason } = await generateText({ model, messages });
    assert.equal(text, answer);
    assert.equal(finishReason, 'stop');
    assert.ok(usage.inputTokens > 576);
  });

  test(`a stream by ${name}`, async () => {
    const result = streamText({ model, messages });
    let text = '';
    for await (const piece of result.textStream) text += piece;
    assert.equal(text, answer);
    assert.ok((await result.usage).inputTokens > 576);
  });

  test(`an object by ${name}`, async () => {
    const schema = z.object({ colour: z.enum(['red', 'yellow']), many: z.boolean() });
    const { object } = await generateObject({ model, messages, schema });
    assert.ok(['red', 'yellow'].includes(object.colour));
    assert.equal(typeof object.many, 'boolean');
  });
}

test('a budget as an option of the provider', async () => {
  const metadata = {};
  const model = createOpenAICompatible({
    name: 'clasp',
    baseURL: `${url}/v1`,
    metadataExtractor: {
      extractMetadata: async ({ parsedBody }) => ({ clasp: Object.assign(metadata, parsedBody.clasp) }),
      createStreamExtractor: () => ({ processChunk() {}, buildMetadata: () => undefined }),
    },
  })('tiny');
  await generateText({ model, messages, providerOptions: { clasp: { clasp: { budget: 64 } } } });
  assert.equal(metadata.budget.asked, '64');
  assert.equal(metadata.budget.by, 'body');
});
