// LangChain's models over OpenAI's and Ollama's routes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HumanMessage } from '@langchain/core/messages';
import { ChatOllama } from '@langchain/ollama';
import { ChatOpenAI } from '@langchain/openai';
import { answer, dataUrl, question, url } from './fixture.mjs';

const message = new HumanMessage({
  content: [
    { type: 'text', text: question },
    { type: 'image_url', image_url: { url: dataUrl } },
  ],
});
const configuration = { baseURL: `${url}/v1` };

async function streamed(model) {
  let text = '';
  for await (const piece of await model.stream([message])) text += piece.content;
  return text;
}

test('ChatOpenAI answers, with a budget that the reply\'s headers tell of', async () => {
  const headers = [];
  const fetchAndNote = async (...request) => {
    const reply = await fetch(...request);
    headers.push(reply.headers.get('x-clasp-tokens'));
    return reply;
  };
  const model = new ChatOpenAI({
    model: 'tiny',
    apiKey: 'k',
    configuration: { ...configuration, fetch: fetchAndNote },
    modelKwargs: { clasp: { budget: 64 } },
  });
  const reply = await model.invoke([message]);
  assert.equal(reply.content, answer);
  assert.ok(reply.usage_metadata.input_tokens > 576);
  assert.match(headers[0], /^[0-9]+\/576$/);
  assert.ok(Number(headers[0].split('/')[0]) < 100);
});

test('ChatOpenAI streams, with the budget in the name', async () => {
  assert.equal(await streamed(new ChatOpenAI({ model: 'tiny:64', apiKey: 'k', configuration })), answer);
});

test('ChatOllama answers, with our object', async () => {
  const reply = await new ChatOllama({ model: 'tiny:64', baseUrl: url }).invoke([message]);
  assert.equal(reply.content, answer);
  assert.equal(reply.response_metadata.clasp.budget.asked, '64');
});

test('ChatOllama streams', async () => {
  assert.equal(await streamed(new ChatOllama({ model: 'tiny', baseUrl: url })), answer);
});
