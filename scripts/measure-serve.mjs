// scripts/measure-serve says what this does.
import { spawn, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync, appendFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { request as httpRequest } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const options = {
  ours: '', theirs: '', model: '', mmproj: '', threads: 2, tokens: 16, turns: 3,
  'at-once': '1,2,4,8', parallel: '1,4', budgets: 'none,33%,64', history: 'reselect,auto,reuse',
};

function die(message) {
  console.error(`measure-serve: ${message}`);
  process.exit(2);
}

for (let i = 2; i < process.argv.length; i += 2) {
  const name = process.argv[i].replace(/^--/, '');
  if (!(name in options) || process.argv[i + 1] === undefined) die(`cannot use ${process.argv[i]}`);
  options[name] = typeof options[name] === 'number' ? Number(process.argv[i + 1]) : process.argv[i + 1];
}
const crowds = options['at-once'].split(',').map(Number);
const parallels = options.parallel.split(',').map(Number);
if ([...crowds, ...parallels].some((n) => !(n >= 1)) || !(options.tokens >= 2) || !(options.turns >= 0)) die('a number is missing');
const budgets = options.budgets.split(',');
const histories = options.history.split(',');
const most = Math.max(...crowds);
// Room in llama-server for each of its slots: a prompt with all visual tokens, its follow-ups and the answers.
const roomPerSlot = 2048;

const folder = join(root, 'build/measure');
mkdirSync(folder, { recursive: true });
const raw = join(folder, `serve-${basename(options.model, '.gguf')}-${Date.now()}.jsonl`);
const keep = (entry) => appendFileSync(raw, `${JSON.stringify(entry)}\n`);

// Questions of three classes in a row, each with a mix of vision layers of its own in the profile llava, and of one.
const talks = [
  ['three classes', ['How many people are standing in front of the house?', 'What colour is the door?', 'Is there a tree on the left?', 'What is it made of?']],
  ['one class', ['How many people are standing in front of the house?', 'How many windows does the house have?', 'How many trees are there?', 'How many birds are on the roof?']],
];

// Enough pictures that nobody sees one twice.
const servers = 1 + parallels.length;
const n_rows = 1 + budgets.length * parallels.length;
const conversations = options.turns > 0 ? talks.length * (2 + budgets.length * histories.length) : 0;
const n_pictures = n_rows * crowds.reduce((sum, n) => sum + n, 0) + conversations + servers;
const scenes = join(folder, 'serve-scenes');
rmSync(scenes, { recursive: true, force: true });
execFileSync(options.ours, ['scenes', '--split', 'test', '--count', String(n_pictures), '--seed', '21', '--out', scenes], { stdio: 'ignore' });
const asked = readFileSync(join(scenes, 'questions.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
let next_picture = 0;
const picture = () => {
  const { image } = asked[next_picture++];
  return `data:image/png;base64,${readFileSync(join(scenes, image)).toString('base64')}`;
};

const free_port = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const status_of = (pid, key) => Number(new RegExp(`${key}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

// POST, and the time in ms until the first piece of the answer's text when it is streamed.
function post(port, path, body) {
  return new Promise((resolve, reject) => {
    const data = JSON.stringify(body);
    const begin = performance.now();
    const request = httpRequest({
      host: '127.0.0.1', port, path, method: 'POST', agent: false, // no connection that a server has closed
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(data) },
    });
    request.on('error', reject);
    request.on('response', (reply) => {
      let text = '';
      let first = null;
      let answer = '';
      let read = 0;
      let last = null;
      reply.setEncoding('utf8');
      reply.on('error', reject);
      reply.on('data', (piece) => {
        text += piece;
        if (!body.stream) return;
        for (let end = text.indexOf('\n', read); end >= 0; end = text.indexOf('\n', read)) {
          const line = text.slice(read, end);
          read = end + 1;
          if (!line.startsWith('data: {')) continue;
          last = JSON.parse(line.slice(6));
          const said = last.choices?.[0]?.delta?.content;
          if (said) {
            first ??= performance.now() - begin;
            answer += said;
          }
        }
      });
      reply.on('end', () => {
        if (reply.statusCode !== 200) return reject(new Error(`${path}: ${reply.statusCode} ${text.slice(0, 300)}`));
        resolve({ first, whole: performance.now() - begin, answer, last: last ?? JSON.parse(text) });
      });
    });
    request.end(data);
  });
}

// said: gets what the server writes to its log.
async function start(name, program, args, said = () => {}) {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.setEncoding('utf8').on('data', said);
  let ended = false;
  child.on('exit', () => (ended = true));
  process.on('exit', () => child.kill('SIGKILL'));
  const port = Number(args[args.indexOf('--port') + 1]);
  for (let i = 0; i < 3000; ++i) {
    if (ended) die(`${name} ended before it was ready`);
    const ok = await new Promise((resolve) => {
      const probe = httpRequest({ host: '127.0.0.1', port, path: '/health' }, (reply) => {
        reply.resume();
        resolve(reply.statusCode === 200);
      });
      probe.on('error', () => resolve(false));
      probe.end();
    });
    if (ok) return { name, port, pid: child.pid };
    await sleep(100);
  }
  return die(`${name} was not ready in five minutes`);
}

// One word again and again: every token of an answer shows at once, and no answer ends before the others.
async function fixed_word(server) {
  const { last } = await post(server.port, '/tokenize', { content: ' the' });
  return last.tokens.at(-1);
}
const question = (server, messages, more) => ({
  messages, max_tokens: options.tokens, stream: true, temperature: 0, ignore_eos: true,
  logit_bias: [[server.word, 100]], ...more,
});
const see = (text) => ({ role: 'user', content: [{ type: 'text', text }, { type: 'image_url', image_url: { url: picture() } }] });

const sorted = (list) => [...list].sort((a, b) => a - b);
const seconds = (ms) => (ms / 1000).toFixed(ms < 1000 ? 3 : 2);

// MiB of keys and values that a request had: as our reply says; llama-server keeps every token in every layer.
function kvMib(server, { last }) {
  if (last.clasp) return last.clasp.kv_bytes / 2 ** 20;
  return server.cellMib * (last.timings.cache_n + last.timings.prompt_n + last.timings.predicted_n);
}

async function crowd(who, server, n, more) {
  writeFileSync(`/proc/${server.pid}/clear_refs`, '5'); // the peak of memory counts from here
  const begin = performance.now();
  const bodies = Array.from({ length: n }, () => question(server, [see(talks[0][1][0])], more));
  const replies = await Promise.all(bodies.map((body) => post(server.port, '/v1/chat/completions', body)));
  const whole = performance.now() - begin;
  const firsts = sorted(replies.map((r) => r.first ?? r.whole));
  const entry = {
    who, at_once: n, median: firsts[Math.ceil(0.5 * n) - 1], slowest: firsts.at(-1), firsts, whole,
    rate: (1000 * n * options.tokens) / whole, kv: replies.reduce((sum, reply) => sum + kvMib(server, reply), 0) / n,
    peak: status_of(server.pid, 'VmHWM'),
  };
  keep(entry);
  return entry;
}

// What a follow-up found of its conversation, in the words of the table.
function foundOf({ last: { clasp, timings } }) {
  if (!clasp) return `${timings.cache_n} tokens`;
  if (clasp.history === 'reuse') return 'the turn';
  return clasp.cache.front_tokens > 0 ? 'rows to the first stage' : 'vision layers';
}

async function conversation(who, server, [kind, texts], more) {
  const messages = [];
  const replies = [];
  for (let turn = 0; turn < options.turns; ++turn) {
    const text = texts[turn % texts.length];
    messages.push(turn === 0 ? see(text) : { role: 'user', content: text });
    const reply = await post(server.port, '/v1/chat/completions', question(server, messages, more));
    replies.push(reply);
    messages.push({ role: 'assistant', content: reply.answer });
  }
  const firsts = replies.map((reply) => reply.first ?? reply.whole);
  const found = replies.slice(1).map(foundOf);
  keep({ who, kind, firsts, found, classes: replies.map((reply) => reply.last.clasp?.class?.name) });
  return { firsts, found };
}

const common = ['--model', options.model, '--mmproj', options.mmproj, '--threads', String(options.threads)];
const theirArguments = [
  ...common, '--parallel', String(most), '--ctx-size', String(most * roomPerSlot),
  '--batch-size', String(roomPerSlot), '--ubatch-size', String(roomPerSlot), '--no-warmup', '--no-jinja', '--chat-template', 'vicuna',
];
// MiB that llama-server reserves for keys and values. Only a log of many words tells, so it is started once for that.
let log = '';
const talkative = await start('llama-server', options.theirs, [...theirArguments, '--port', String(await free_port()), '--verbosity', '4'], (text) => (log += text));
process.kill(talkative.pid);
const reserved = [...log.matchAll(/KV buffer size\s*=\s*([0-9.]+) MiB/g)].reduce((sum, found) => sum + Number(found[1]), 0);
if (!(reserved > 0)) die('llama-server did not say how much it takes for keys and values');
const theirs = await start('llama-server', options.theirs, [...theirArguments, '--port', String(await free_port()), '--log-disable']);
theirs.cellMib = reserved / (most * roomPerSlot);
const ours = [];
for (const n of parallels) {
  const more = ['--parallel', String(n), '--port', String(await free_port())];
  ours.push(await start('clasp-vlm serve', options.ours, ['serve', ...common, ...more]));
}
const idle = [theirs, ...ours].map((server) => status_of(server.pid, 'VmRSS').toFixed(0));
for (const server of [theirs, ...ours]) {
  server.word = await fixed_word(server);
  await post(server.port, '/v1/chat/completions', question(server, [see('Is it red?')], {}));
}

// [name, server, fields of the request, from how many at once]: one question alone is the same with any --parallel.
const rows = [['llama-server', theirs, {}, 1]];
for (const budget of budgets) {
  for (const [i, n] of parallels.entries()) {
    rows.push([`ours, ${budget === 'none' ? 'unpruned' : `R = ${budget}`}, ${n} in parallel`, ours[i], { clasp: { budget } }, i === 0 ? 1 : 2]);
  }
}
console.log(`${basename(options.model)}, ${options.threads} threads, ${options.tokens} tokens an answer; llama-server with --parallel ${most}, for which it reserves ${reserved.toFixed(0)} MiB of keys and values; resident before: llama-server ${idle[0]} MiB, ours ${idle.slice(1).join(' and ')} MiB; load ${readFileSync('/proc/loadavg', 'utf8').split(' ')[0]}\n`);
console.log('| Questions at once | | first token, median, s | slowest, s | all answered, s | tokens/s | KV of each, MiB | peak resident, MiB |');
console.log('|---:|---|---:|---:|---:|---:|---:|---:|');
for (const n of crowds) {
  for (const [who, server, more] of rows.filter((row) => n >= row[3])) {
    const r = await crowd(who, server, n, more);
    console.log(`| ${n} | ${who} | ${seconds(r.median)} | ${seconds(r.slowest)} | ${seconds(r.whole)} | ${r.rate.toFixed(2)} | ${r.kv.toFixed(1)} | ${r.peak.toFixed(0)} |`);
  }
}
if (options.turns > 0) {
  console.log(`\n| Conversation | questions of | ${Array.from({ length: options.turns }, (_, i) => `question ${i + 1}, s`).join(' | ')} | follow-ups found |`);
  console.log(`|---|---|${'---:|'.repeat(options.turns)}---|`);
  for (const talk of talks) {
    const show = async (who, server, more) => {
      const { firsts, found } = await conversation(who, server, talk, more);
      console.log(`| ${who} | ${talk[0]} | ${firsts.map(seconds).join(' | ')} | ${found.join(', ')} |`);
    };
    await show('llama-server, its prompt cache', theirs, {});
    if (budgets.includes('none')) await show('ours, unpruned', ours[0], { clasp: { budget: 'none' } });
    for (const budget of budgets.filter((b) => b !== 'none')) {
      for (const history of histories) await show(`ours, R = ${budget}, ${history}`, ours[0], { clasp: { budget, history } });
    }
  }
}
console.log(`\nraw figures: ${raw}`);
process.exit(0);
