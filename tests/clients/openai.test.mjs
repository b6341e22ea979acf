// The `openai` package: models, chat, streams, parsed answers, text completions, responses, errors, abort.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { answer, dataUrl, long, question, url, withServer } from './fixture.mjs';

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k' });
const messages = [
  {
    role: 'user',
    content: [
      { type: 'text', text: question },
      { type: 'image_url', image_url: { url: dataUrl, detail: 'low' } },
    ],
  },
];
const schema = {
  type: 'object',
  properties: { crosses: { type: 'integer', minimum: 0, maximum: 20 } },
  required: ['crosses'],
  additionalProperties: false,
};

test('lists models', async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.ok(ids.includes('tiny'));
  assert.equal((await client.models.retrieve('tiny')).owned_by, 'clasp');
});

test('answers a question about a picture, with our object', async () => {
  const reply = await client.chat.completions.create({ model: 'tiny', messages, clasp: { budget: 64 } });
  assert.equal(reply.choices[0].message.content, answer);
  assert.equal(reply.choices[0].finish_reason, 'stop');
  assert.equal(reply.clasp.budget.asked, '64');
  assert.equal(reply.usage.prompt_tokens_details.image_tokens, 576);
  assert.match(reply._request_id, /^req-/);
});

test('streams the same text, and the helper gets usage and figures', async () => {
  const stream = await client.chat.completions.create({ model: 'tiny:64', messages, stream: true });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
  assert.equal(text, answer);
  const helper = client.chat.completions.stream({ model: 'tiny', messages, stream_options: { include_usage: true } });
  const final = await helper.finalChatCompletion();
  assert.equal(final.choices[0].message.content, answer);
  assert.ok(final.usage.total_tokens > 576);
  assert.ok(final.timings.prompt_n > 576);
  assert.equal(final.clasp.tokens.visual, 576);
});

test('parses an answer of a schema', async () => {
  const reply = await client.chat.completions.parse({
    model: 'tiny',
    messages,
    response_format: { type: 'json_schema', json_schema: { name: 'count', schema, strict: true } },
  });
  const parsed = JSON.parse(reply.choices[0].message.content);
  assert.ok(Number.isInteger(parsed.crosses) && parsed.crosses >= 0 && parsed.crosses <= 20);
});

test('tells how likely tokens were', async () => {
  const reply = await client.chat.completions.create({ model: 'tiny', messages, logprobs: true, top_logprobs: 3 });
  const [first] = reply.choices[0].logprobs.content;
  assert.ok(first.logprob <= 0);
  assert.equal(first.top_logprobs.length, 3);
  assert.equal(first.token.trim(), answer);
});

test('completes a prompt', async () => {
  const prompt = 'USER: What colour is the sky? ASSISTANT:';
  const whole = await client.completions.create({ model: 'tiny', prompt, max_tokens: 8 });
  let text = '';
  for await (const chunk of await client.completions.create({ model: 'tiny', prompt, max_tokens: 8, stream: true })) {
    text += chunk.choices[0]?.text ?? '';
  }
  assert.equal(text, whole.choices[0].text);
});

const input = [
  {
    role: 'user',
    content: [
      { type: 'input_text', text: question },
      { type: 'input_image', image_url: dataUrl, detail: 'auto' },
    ],
  },
];

test('responds, whole and in events', async () => {
  const whole = await client.responses.create({ model: 'tiny', input });
  assert.equal(whole.output_text, answer);
  assert.equal(whole.status, 'completed');
  const types = [];
  const stream = client.responses.stream({ model: 'tiny', input });
  for await (const event of stream) types.push(event.type);
  assert.equal(types[0], 'response.created');
  assert.equal(types.at(-1), 'response.completed');
  assert.equal((await stream.finalResponse()).output_text, answer);
  const formed = await client.responses.create({
    model: 'tiny',
    input,
    text: { format: { type: 'json_schema', name: 'count', schema, strict: true } },
  });
  assert.ok(Number.isInteger(JSON.parse(formed.output_text).crosses));
});

test('throws what it is told', async () => {
  await assert.rejects(client.chat.completions.create({ model: 'tiny', messages: [] }), OpenAI.BadRequestError);
  await assert.rejects(
    client.chat.completions.create({ model: 'tiny', messages, clasp: { budget: -1 } }),
    (error) => error.status === 400 && error.param === 'clasp.budget',
  );
  await assert.rejects(
    client.chat.completions.create({ model: 'tiny', messages, tools: [{ type: 'function', function: { name: 'f' } }] }),
    /does not support tools/,
  );
  await assert.rejects(client.models.retrieve('nobody'), OpenAI.NotFoundError);
});

// One request runs and one waits; the third is refused, waits as long as it is told to, and comes back.
for (const [status, code, options] of [
  [429, 'too_many_requests', ['--max-per-client', '2']],
  [503, 'queue_full', ['--max-queue', '1']],
]) {
  test(`comes back after ${status}`, () =>
    withServer(['--parallel', '1', ...options], async (own) => {
      const refusals = [];
      const watched = async (...call) => {
        const reply = await fetch(...call);
        if (!reply.ok) refusals.push({ status: reply.status, wait: Number(reply.headers.get('retry-after')), ...(await reply.clone().json()).error });
        return reply;
      };
      const patient = new OpenAI({ baseURL: `${own}/v1`, apiKey: 'k', fetch: watched, maxRetries: 8 });
      const ask = () => patient.chat.completions.create({ model: 'tiny', messages, max_tokens: 100, ignore_eos: true });
      const replies = await Promise.all([ask(), ask(), ask()]);
      assert.deepEqual(replies.map((reply) => reply.usage.completion_tokens), [100, 100, 100]);
      assert.ok(refusals.length > 0);
      for (const refusal of refusals) assert.ok(refusal.status === status && refusal.code === code && refusal.wait >= 1, JSON.stringify(refusal));
    }));
}

test('does not come back when it would be in vain', async () => {
  let n = 0;
  const counting = (...call) => {
    n += 1;
    return fetch(...call);
  };
  const client501 = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', fetch: counting });
  await assert.rejects(client501.embeddings.create({ model: 'tiny', input: 'x' }), (error) => error.status === 501);
  assert.equal(n, 1);
});

test('stops when it is told to', async () => {
  const stream = await client.chat.completions.create({
    model: 'tiny',
    messages: [{ role: 'user', content: 'Tell me a story.' }],
    stream: true,
    ...long,
  });
  let n = 0;
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta?.content && ++n === 2) stream.controller.abort();
  }
  assert.ok(n >= 2);
});
