// scripts/soak says what this does.
import { spawn, spawnSync, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const options = { program: '', minutes: 10, clients: [1, 8, 32, 128], health: 100 };

function die(message) {
  console.error(`soak: ${message}`);
  process.exit(2);
}

for (let i = 2; i < process.argv.length; i += 2) {
  const [name, value] = [process.argv[i], process.argv[i + 1]];
  if (value === undefined) die(`${name} needs a value; see the head of scripts/soak`);
  if (name === '--program') options.program = value;
  else if (name === '--minutes' && Number(value) > 0) options.minutes = Number(value);
  else if (name === '--health' && Number(value) > 0) options.health = Number(value);
  else if (name === '--clients' && /^[0-9]+(,[0-9]+)*$/.test(value)) options.clients = value.split(',').map(Number);
  else die(`cannot use ${name} ${value}; see the head of scripts/soak`);
}
if (!options.program) {
  execFileSync(join(root, 'clasp-vlm'), ['--version'], { stdio: ['ignore', 'ignore', 'inherit'] });
  options.program = join(root, 'build/release/src/cli/clasp-vlm');
}
if (!existsSync(options.program)) die(`there is no ${options.program}`);

const picture = readFileSync(join(root, 'examples/pictures/crosses.png')).toString('base64');
const url = `data:image/png;base64,${picture}`;
const say = (text, more = {}) => ({ messages: [{ role: 'user', content: text }], max_tokens: 16, ...more });
const see = (text, more = {}) => ({
  messages: [{ role: 'user', content: [{ type: 'text', text }, { type: 'image_url', image_url: { url } }] }],
  max_tokens: 16,
  ...more,
});
// What clients ask, in turns. `leaves`: after so many milliseconds the client is gone.
const kinds = [
  { path: '/v1/chat/completions', body: see('How many yellow crosses are in the picture?'), expect: '6' },
  { path: '/v1/chat/completions', body: say('What colour is the sky?', { stream: true }) },
  { path: '/v1/responses', body: { input: 'What colour is the sky?', max_output_tokens: 16, stream: true } },
  { path: '/v1/messages', body: { max_tokens: 16, messages: [{ role: 'user', content: 'Is there a circle?' }] } },
  { path: '/api/chat', body: { messages: [{ role: 'user', content: 'Is it red?' }], options: { num_predict: 8 } } },
  { path: '/completion', body: { prompt: 'USER: Is it red? ASSISTANT:', n_predict: 8, n_probs: 3 } },
  { path: '/v1/chat/completions', body: see('Describe the picture.', { clasp: { budget: 64, map: 'stages' } }) },
  { path: '/v1/chat/completions', body: see('Tell me all.', { stream: true, max_tokens: 512, ignore_eos: true }), leaves: 150 },
  { path: '/v1/chat/completions', body: { messages: [] }, status: 400 },
];

// Clients that open 200 connections and then take their time: with their heads, their bodies, with reading.
const slowKinds = [
  ['heads', ['-H', '-i', '5', '-t', 'GET'], '/v1/models'],
  ['bodies', ['-B', '-i', '5', '-s', '8192', '-x', '10', '-t', 'POST'], '/v1/chat/completions'],
  ['readers', ['-X', '-w', '1', '-y', '8', '-n', '5', '-z', '32', '-k', '3', '-t', 'GET'], '/clasp/info'],
];
const slowSeconds = 20;
// Servers that are killed one after the other while clients ask, with one folder of what they keep.
const kills = 4;

let port = 0;
const agent = new Agent({ keepAlive: true, maxSockets: 256 });

// The status and the body of a reply; status 0: the connection was lost, -1: this client left.
function ask(path, body, leaves) {
  return new Promise((resolve) => {
    let hasLeft = false;
    const data = body === undefined ? undefined : JSON.stringify(body);
    const headers = data === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(data) };
    const request = httpRequest({ host: '127.0.0.1', port, path, method: data ? 'POST' : 'GET', headers, agent });
    const lost = (error) => resolve(hasLeft ? { status: -1 } : { status: 0, body: String(error) });
    request.on('error', lost);
    request.on('response', (reply) => {
      let text = '';
      reply.on('data', (piece) => (text += piece));
      reply.on('end', () => resolve({ status: reply.statusCode, body: text }));
      reply.on('error', lost);
      reply.on('aborted', () => lost('cut off'));
    });
    request.end(data);
    if (leaves) {
      setTimeout(() => {
        hasLeft = true;
        request.destroy();
      }, leaves);
    }
  });
}

const resident = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
// Least squares: how much y grows per unit of x.
function slope(points) {
  const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
  const [mx, my] = [mean(points.map((p) => p[0])), mean(points.map((p) => p[1]))];
  const over = points.reduce((sum, [x, y]) => sum + (x - mx) * (y - my), 0);
  const under = points.reduce((sum, [x]) => sum + (x - mx) ** 2, 0);
  return under > 0 ? over / under : 0;
}

// Asks for the server's health until told to stop; how long the slowest answer took.
async function watchHealth(isOver, lost, onAnswer = () => {}) {
  let slowest = 0;
  while (!isOver()) {
    const begin = performance.now();
    const reply = await ask('/health');
    slowest = Math.max(slowest, performance.now() - begin);
    if (reply.status !== 200) lost.push(`/health: ${reply.status}`);
    onAnswer();
    await sleep(200);
  }
  return slowest;
}

async function crowd(n, pid) {
  const end = Date.now() + options.minutes * 60000;
  const counts = { answered: 0, refused: 0, left: 0 };
  const lost = [];
  const client = async (number) => {
    for (let i = number; Date.now() < end; ++i) {
      const kind = kinds[i % kinds.length];
      const reply = await ask(kind.path, kind.body, kind.leaves);
      if (reply.status === -1) counts.left += 1;
      else if (reply.status === 429 || reply.status === 503) {
        counts.refused += 1;
        await sleep(100);
      } else if (reply.status !== (kind.status ?? 200)) lost.push(`${kind.path}: ${reply.status} ${reply.body}`);
      else if (kind.expect && JSON.parse(reply.body).choices[0].message.content !== kind.expect) lost.push(`other answer: ${reply.body}`);
      else counts.answered += 1;
    }
  };
  const memory = [];
  const watched = watchHealth(() => Date.now() >= end, lost, () => memory.push([Date.now() / 60000, resident(pid)]));
  const [slowest] = await Promise.all([watched, ...Array.from({ length: n }, (_, i) => client(i))]);
  // The first third is for warming up.
  const warm = memory.slice(Math.floor(memory.length / 3));
  return { n, ...counts, lost, slowest, memory: warm.at(-1)[1], growth: slope(warm) };
}

// What slowhttptest says of a server that somebody else asks at the same time.
async function slowClients([name, how, path]) {
  let text = '';
  let isOver = false;
  const lost = [];
  const settings = ['-c', '200', '-r', '50', '-l', String(slowSeconds), '-p', '3', '-u', `http://127.0.0.1:${port}${path}`];
  const tool = spawn('slowhttptest', [...how, ...settings], { stdio: ['ignore', 'pipe', 'ignore'] });
  tool.stdout.on('data', (piece) => (text += piece));
  const ended = new Promise((resolve) => tool.on('close', resolve)).then(() => (isOver = true));
  let answered = 0;
  const client = async () => {
    while (!isOver) {
      const reply = await ask(kinds[0].path, kinds[0].body);
      if (reply.status !== 200) lost.push(`${kinds[0].path}: ${reply.status} ${reply.body}`);
      else answered += 1;
    }
  };
  const [slowest] = await Promise.all([watchHealth(() => isOver, lost), client(), ended]);
  const words = [...text.replaceAll(/\x1b\[[0-9;]*m/g, '').matchAll(/service available:\s+(\w+)/g)].map((found) => found[1]);
  const isAvailable = words.length > 0 && words.every((word) => word === 'YES');
  console.log(`slow ${name}: available ${isAvailable ? 'throughout' : `not always (${words.join(' ')})`}, ${answered} answered, ${lost.length} lost, health at most ${slowest.toFixed(1)} ms`);
  for (const line of lost.slice(0, 5)) console.log(`  lost: ${line.slice(0, 300)}`);
  return isAvailable && answered > 0 && lost.length === 0 && slowest <= options.health;
}

const children = new Set();
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

// Starts a server, sets the port that is asked, and resolves to the process; its `ended` says how it ended.
async function start(...more) {
  const server = spawn(
    options.program,
    ['serve', '--port', '0', '--max-per-client', '48', '--max-queue', '64', '--max-connections-per-address', '256', ...more],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  children.add(server);
  server.ended = null;
  server.on('exit', (code, signal) => {
    server.ended = code ?? signal;
    children.delete(server);
  });
  let head = '';
  for await (const piece of server.stdout.iterator({ destroyOnReturn: false })) {
    head += piece;
    const found = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(head);
    if (found) {
      port = Number(found[1]);
      return server;
    }
  }
  return die('the server did not start');
}

// Kills servers while clients ask. What was answered once is answered the same by those that come after, which find
// the folder as their predecessors left it.
async function survivesKills() {
  const folder = mkdtempSync(join(tmpdir(), 'clasp-soak-'));
  const pictures = ['crosses', 'beach', 'key'].map((name) => readFileSync(join(root, `examples/pictures/${name}.png`)).toString('base64'));
  const questions = ['What is in the picture?', 'What colour is it?', 'How many yellow crosses are in the picture?'];
  const bodies = pictures.flatMap((data) => questions.map((text) => ({
    messages: [{ role: 'user', content: [{ type: 'text', text }, { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }] }],
    max_tokens: 16,
  })));
  const known = new Map();
  let answered = 0;
  let others = 0;
  const askOne = async (i) => {
    const reply = await ask('/v1/chat/completions', bodies[i]);
    if (reply.status !== 200) return reply.status;
    const text = JSON.parse(reply.body).choices[0].message.content;
    answered += 1;
    if (known.has(i) && known.get(i) !== text) others += 1;
    known.set(i, text);
    return 200;
  };
  for (let round = 0; round < kills; round += 1) {
    const server = await start('--cache', folder);
    const clients = Array.from({ length: 8 }, async (_, number) => {
      for (let i = number; server.ended === null && !server.killed; i += 1) await askOne(i % bodies.length);
    });
    await sleep(300 * (round + 1));
    server.kill('SIGKILL');
    await Promise.all(clients);
  }
  const last = await start('--cache', folder);
  const statuses = [];
  for (const i of bodies.keys()) statuses.push(await askOne(i));
  last.kill('SIGKILL');
  rmSync(folder, { recursive: true });
  const isWell = others === 0 && answered > bodies.length && statuses.every((status) => status === 200);
  console.log(`kill -9: ${kills} servers killed, ${answered} answered, ${others} answered otherwise later, the last one answered ${statuses.filter((status) => status === 200).length} of ${statuses.length}`);
  return isWell;
}

const server = await start();

let failed = false;
console.log('clients  answered  refused  left  lost  health max ms  memory MiB  growth MiB/min');
for (const n of options.clients) {
  const result = await crowd(n, server.pid);
  console.log(
    `${String(n).padStart(7)}  ${String(result.answered).padStart(8)}  ${String(result.refused).padStart(7)}  ` +
      `${String(result.left).padStart(4)}  ${String(result.lost.length).padStart(4)}  ${result.slowest.toFixed(1).padStart(13)}  ` +
      `${result.memory.toFixed(1).padStart(10)}  ${result.growth.toFixed(2).padStart(14)}`,
  );
  for (const line of result.lost.slice(0, 5)) console.log(`  lost: ${line.slice(0, 300)}`);
  if (result.lost.length > 0 || result.answered === 0 || server.ended !== null) failed = true;
  if (result.slowest > options.health) {
    console.log(`  health took more than ${options.health} ms`);
    failed = true;
  }
  // A minute of warm memory is too short to tell growth from chance.
  if (options.minutes >= 5 && result.growth > 1) {
    console.log('  memory grows by more than 1 MiB a minute');
    failed = true;
  }
}

if (spawnSync('slowhttptest', ['-h']).error) {
  console.log('slow clients: left out, there is no slowhttptest here (scripts/setup soak)');
} else {
  for (const kind of slowKinds) failed = !(await slowClients(kind)) || server.ended !== null || failed;
}

// A signal drains: what is under way is answered, and the process ends by itself.
const last = ask('/v1/chat/completions', say('Tell me a story.', { max_tokens: 64, ignore_eos: true }));
await sleep(100);
server.kill('SIGTERM');
const drained = await last;
for (let i = 0; i < 300 && server.ended === null; ++i) await sleep(100);
if (drained.status !== 200 || server.ended !== 0) {
  console.log(`SIGTERM: the last request got ${drained.status}, the server ended with ${server.ended}`);
  failed = true;
} else {
  console.log('SIGTERM: the last request was answered, and the server ended by itself');
}

if (!(await survivesKills())) failed = true;
process.exit(failed ? 1 : 0);
