// The thread of scripts/soak that asks for the server's health, five times a second until it gets a message; it
// answers with the milliseconds of each reply and with what was none.
import { Agent, get } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const agent = new Agent({ keepAlive: true });
const times = [];
const faults = [];
let isOver = false;
parentPort.once('message', () => (isOver = true));

const askOnce = () =>
  new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port: workerData.port, path: '/health', agent }, (reply) => {
      reply.resume();
      reply.on('end', () => resolve(reply.statusCode === 200 ? '' : `/health: ${reply.statusCode}`));
      reply.on('error', (error) => resolve(`/health: ${error}`));
    });
    request.on('error', (error) => resolve(`/health: ${error}`));
  });

while (!isOver) {
  const begin = performance.now();
  const fault = await askOnce();
  times.push(performance.now() - begin);
  if (fault) faults.push(fault);
  await new Promise((resolve) => setTimeout(resolve, 200));
}
parentPort.postMessage({ times, faults });
