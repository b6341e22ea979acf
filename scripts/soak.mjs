// scripts/soak says what this does.
import { spawn, spawnSync, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { drawScenes, kinds, questionAboutCrosses, textQuestion } from './soak-questions.mjs';

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

const scenes = drawScenes(options.program, 200);
// Less than the scenes need (about 0.6 MiB each for their vision layers, 2 MiB for a turn), so that the caches let
// something go all the time.
const cacheMib = 16;

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

// Asks for the server's health until told to stop, in a thread of its own, since this one has a crowd to play. How
// long the slowest answer took, and 99 % of all.
async function watchHealth(ended, lost) {
  const worker = new Worker(join(root, 'scripts/soak-health.mjs'), { workerData: { port } });
  const told = new Promise((resolve) => worker.on('message', resolve));
  await ended;
  worker.postMessage('stop');
  const { times, faults } = await told;
  lost.push(...faults);
  times.sort((a, b) => a - b);
  return { slowest: times.at(-1), most: times[Math.ceil(0.99 * times.length) - 1] };
}

// What was answered when a question was first asked: the same question gets the same answer ever after.
const known = new Map();
const followUps = { asked: 0, reused: 0 };

// The reply to a kind of question; of a conversation that to its second question, if the first one got one.
async function converse(kind) {
  const first = await ask(kind.path, kind.body, kind.leaves);
  if (!kind.next || first.status !== 200) return first;
  const reply = await ask(kind.path, kind.next(JSON.parse(first.body)));
  if (reply.status === 200) {
    followUps.asked += 1;
    if (JSON.parse(reply.body).clasp.history === 'reuse') followUps.reused += 1;
  }
  return reply;
}

// Why a reply is none that the documents name; empty if it is one.
function faultOf(kind, reply) {
  if (reply.status !== (kind.status ?? 200)) return `${kind.path}: ${reply.status} ${reply.body}`;
  if (!kind.same) return '';
  const { content } = JSON.parse(reply.body).choices[0].message;
  const expected = kind.expect ?? known.get(kind.same) ?? content;
  known.set(kind.same, expected);
  return content === expected ? '' : `other answer to ${kind.same}: '${content}', not '${expected}'`;
}

async function crowd(n, pid) {
  const end = Date.now() + options.minutes * 60000;
  const counts = { answered: 0, refused: 0, left: 0 };
  const lost = [];
  const client = async (number) => {
    for (let i = number; Date.now() < end; ++i) {
      // Some questions about one scene, then on to the next; clients are scenes apart.
      const kind = kinds[i % kinds.length](scenes[(13 * number + Math.floor(i / 4)) % scenes.length]);
      const reply = await converse(kind);
      if (reply.status === -1) counts.left += 1;
      else if (reply.status === 429 || reply.status === 503) {
        counts.refused += 1;
        await sleep(100);
      } else {
        const fault = faultOf(kind, reply);
        if (fault) lost.push(fault);
        else counts.answered += 1;
      }
    }
  };
  const memory = [];
  const sampling = setInterval(() => memory.push([Date.now() / 60000, resident(pid)]), 200);
  const ended = Promise.all(Array.from({ length: n }, (_, i) => client(i)));
  const health = await watchHealth(ended, lost);
  clearInterval(sampling);
  // The first third is for warming up.
  const warm = memory.slice(Math.floor(memory.length / 3));
  return { n, ...counts, lost, ...health, memory: warm.at(-1)[1], growth: slope(warm) };
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
      const fault = faultOf(questionAboutCrosses, await converse(questionAboutCrosses));
      if (fault) lost.push(fault);
      else answered += 1;
    }
  };
  const { slowest } = await watchHealth(Promise.all([client(), ended]), lost);
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
  const answers = new Map();
  let answered = 0;
  let others = 0;
  const askOne = async (i) => {
    const reply = await ask('/v1/chat/completions', bodies[i]);
    if (reply.status !== 200) return reply.status;
    const text = JSON.parse(reply.body).choices[0].message.content;
    answered += 1;
    if (answers.has(i) && answers.get(i) !== text) others += 1;
    answers.set(i, text);
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

const server = await start('--metrics', '--image-cache', String(cacheMib), '--history-cache', String(cacheMib));

let failed = false;
console.log('clients  answered  refused  left  lost  health 99 % ms  health max ms  memory MiB  growth MiB/min');
for (const n of options.clients) {
  const result = await crowd(n, server.pid);
  console.log(
    `${String(n).padStart(7)}  ${String(result.answered).padStart(8)}  ${String(result.refused).padStart(7)}  ` +
      `${String(result.left).padStart(4)}  ${String(result.lost.length).padStart(4)}  ${result.most.toFixed(1).padStart(14)}  ${result.slowest.toFixed(1).padStart(13)}  ` +
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

const metric = async (name) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec((await ask('/metrics')).body)[1]);
// Pictures that were sent ahead of their questions have waited until nobody asked.
for (let i = 0; i < 600 && (await metric('llamacpp:requests_deferred')) > 0; ++i) await sleep(100);
const [hits, misses] = [await metric('clasp_image_cache_hits_total'), await metric('clasp_image_cache_misses_total')];
console.log(`caches: of ${hits + misses} pictures ${misses} were encoded, ${scenes.length + 1} of them new; of ${followUps.asked} second questions ${followUps.reused} kept the tokens of the first`);
// Without pictures encoded again and turns that were gone, nothing was ever let go.
if (options.minutes >= 5 && misses <= scenes.length + 1) {
  console.log('  no cache was ever full');
  failed = true;
}

if (spawnSync('slowhttptest', ['-h']).error) {
  console.log('slow clients: left out, there is no slowhttptest here (scripts/setup soak)');
} else {
  for (const kind of slowKinds) failed = !(await slowClients(kind)) || server.ended !== null || failed;
}

// A signal drains: what is under way is answered, and the process ends by itself.
const last = ask('/v1/chat/completions', textQuestion('Tell me a story.', { max_tokens: 64, ignore_eos: true }));
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
