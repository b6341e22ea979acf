// What all clients ask, and servers of their own for those that need one.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

export const url = process.env.CLASP_URL;
export const picture = readFileSync(process.env.CLASP_PICTURE);
export const base64 = picture.toString('base64');
export const dataUrl = `data:image/png;base64,${base64}`;
export const question = 'How many yellow crosses are in the picture?';
export const answer = '6';
// Longer than anybody waits for, unless it is stopped.
export const long = { max_tokens: 1500, ignore_eos: true };

// A server with options of its own while act(url) runs.
export async function withServer(options, act) {
  const server = spawn(process.env.CLASP_PROGRAM, ['serve', '--port', '0', ...options], { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    let head = '';
    for await (const piece of server.stdout.iterator({ destroyOnReturn: false })) {
      head += piece;
      if (head.includes('\n')) break;
    }
    await act(/listening on (\S+)/.exec(head)[1]);
  } finally {
    server.kill('SIGKILL');
  }
}
