// The web page in a real browser, against a real server: CLASP_URL is its address, CLASP_PICTURE a picture of crosses.
// What a server does not do on demand (hostile answers, refusals, silence) is put in its place request by request.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import puppeteer from 'puppeteer-core';

const kUrl = new URL(process.env.CLASP_URL).href;
const kPicture = process.env.CLASP_PICTURE;
const kQuestion = 'How many yellow crosses are in the picture?';
const kAxe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const kFlags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'];
const kWait = { timeout: 120000 };

let browser;
let hasOwnRoutes;
before(async () => {
  hasOwnRoutes = (await fetch(new URL('clasp/info', kUrl))).status !== 404;
  if (!hasOwnRoutes) console.log('this server has no /clasp/ routes: the page must do without them');
  browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: kFlags });
});
after(async () => { await browser?.close(); });

// A page of its own, with everything that must not happen written down. replace(request) may answer a request itself.
async function withPage({ theme = 'light', width = 1280, height = 860, isPhone = false, replace = () => false, mayFail = false, url = kUrl }, act) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('console', (message) => {
    const from = message.location()?.url ?? '';
    const isAllowed = message.text().startsWith('Failed to load') && (mayFail || (!hasOwnRoutes && from.includes('/clasp/')));
    if (message.type() === 'error' && !isAllowed) wrong.push(`console: ${message.text()} ${from}`);
  });
  page.on('request', (request) => {
    const target = request.url();
    if (!target.startsWith(kUrl) && !target.startsWith('blob:') && !target.startsWith('data:')) wrong.push(`left the origin: ${target}`);
    if (!replace(request)) request.continue();
  });
  await page.setRequestInterception(true);
  await page.setViewport({ width, height, isMobile: isPhone, hasTouch: isPhone });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
  try {
    await page.goto(url);
    await act(page);
    assert.deepEqual(wrong, []);
  } finally {
    await context.close();
  }
}

const ready = (page) => page.waitForFunction(() => document.getElementById('state-dot').dataset.state === 'ok' && document.getElementById('model-name').textContent !== 'connecting', kWait);
const isChat = (request) => request.url().endsWith('/v1/chat/completions') && request.method() === 'POST';
const textOf = (page, selector) => page.$eval(selector, (node) => node.textContent);

async function addPicture(page) {
  await (await page.$('#file')).uploadFile(kPicture);
  await page.waitForSelector('#thumbs li img');
}

async function ask(page, question = kQuestion) {
  await page.type('#question', question);
  await page.keyboard.press('Enter');
}

async function askWithMap(page) {
  await ready(page);
  await addPicture(page);
  await ask(page);
  await page.waitForSelector('.result canvas', kWait);
}

// A number that changes when the pixels of a canvas do.
const pixels = (page) => page.$eval('.result canvas', (canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let sum = 7;
  for (const byte of data) sum = (sum * 31 + byte) % 4294967291;
  return sum;
});

async function setRange(page, selector, value) {
  await page.$eval(selector, (node, to) => { node.value = to; node.dispatchEvent(new Event('input', { bubbles: true })); }, String(value));
}

// A reply in the server's form with the text of somebody who means harm.
function streamOf(...texts) {
  const chunk = (choices) => `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'x', choices })}\n\n`;
  const pieces = texts.map((content) => chunk([{ index: 0, delta: { content }, finish_reason: null }]));
  return `${pieces.join('')}${chunk([{ index: 0, delta: {}, finish_reason: 'stop' }])}data: [DONE]\n\n`;
}
const answerWith = (body, status = 200, type = 'text/event-stream') => (request) => { request.respond({ status, contentType: type, body }); return true; };
const errorBody = (code) => JSON.stringify({ error: { message: code, type: 'x', param: null, code } });

test('a question with a picture: answer, map, slider, keys, table', () => withPage({}, async (page) => {
  await askWithMap(page);
  assert.ok((await textOf(page, '.assistant .text')).trim().length > 0);
  const last = Number(await page.$eval('.result .stages', (node) => node.max));
  assert.ok(last >= 1, 'there is a stage to look at');
  const shown = await pixels(page);
  await setRange(page, '.result .stages', 0);
  assert.notEqual(await pixels(page), shown);
  assert.match(await textOf(page, '.stage-text'), /^stage 1 of \d+, the whole picture: (\d+) of \1 tokens kept$/);
  await setRange(page, '.result .stages', last);
  assert.equal(await pixels(page), shown);
  await page.focus('.result canvas');
  await page.keyboard.press('ArrowRight');
  assert.match(await textOf(page, '.cell-text'), /^Token 0, row 1, column 1: /);
  await page.keyboard.press('ArrowDown');
  assert.match(await textOf(page, '.cell-text'), /row 2, column 1: (dropped|kept)/);
  const rows = await page.$$eval('.result tbody tr', (nodes) => nodes.map((node) => [...node.querySelectorAll('td')].map((cell) => Number(cell.textContent))));
  assert.equal(rows.length, last + 1);
  for (const [kept, pivots, coverage] of rows.slice(1)) assert.equal(pivots + coverage, kept);
  assert.ok((await textOf(page, '.stat-value')).startsWith(String(rows.at(-1)[0])), 'the table ends with what the figure says');
}));

test('a picture that is dropped, one that is pasted, and one more question', () => withPage({}, async (page) => {
  await ready(page);
  const bytes = readFileSync(kPicture).toString('base64');
  for (const kind of ['drop', 'paste']) {
    await page.evaluate((name, base64) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))], 'x.png', { type: 'image/png' }));
      const event = name === 'drop' ? new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }) : new ClipboardEvent('paste', { clipboardData: transfer, bubbles: true, cancelable: true });
      document.body.dispatchEvent(event);
    }, kind, bytes);
    await page.waitForFunction((n) => document.querySelectorAll('#thumbs li').length === n, kWait, kind === 'drop' ? 1 : 2);
  }
  await page.click('#thumbs li:last-child button');
  await page.waitForFunction(() => document.querySelectorAll('#thumbs li').length === 1);
  await ask(page);
  await page.waitForSelector('.result canvas', kWait);
  await ask(page, 'Which place is shown in the picture?');
  await page.waitForFunction(() => document.querySelectorAll('.result canvas').length === 2, kWait);
}));

// Before this browser has asked anything: from what the server says that prompts have taken.
const speeds = [
  ['no answer yet', null, /^33 %, 190 of 576 tokens$/],
  // 40 tokens of text and all 576 of the picture: 2000 + 100 + 616 * 10.
  ['an answer', { prefill_ms: 100, prefill_ms_per_token: 10, encode_ms: 2000, prompts: 3 }, /^all tokens · first token in about 8\.3 s, estimated$/],
  ['an answer without a picture', { prefill_ms: 100, prefill_ms_per_token: 10, encode_ms: null, prompts: 1 }, /^33 %, 190 of 576 tokens$/],
];
for (const [name, timing, expected] of speeds) {
  test(`the predicted time of a server that has given ${name}`, (context) => {
    if (!hasOwnRoutes) { context.skip('there are no /clasp/ routes'); return undefined; }
    const replace = (request) => {
      if (!request.url().endsWith('/clasp/info')) return false;
      fetch(request.url()).then((reply) => reply.json()).then((info) => request.respond({ contentType: 'application/json', body: JSON.stringify({ ...info, timing }) }));
      return true;
    };
    return withPage({ replace }, async (page) => {
      await page.evaluateOnNewDocument(() => localStorage.setItem('clasp.speed', JSON.stringify({ tiny: { perToken: 1e6, encode: 0, rest: 0, text: 1, visual: 576 } })));
      await page.reload();
      await ready(page);
      if (expected.source.startsWith('^all')) await setRange(page, '#budget', 100);
      assert.match(await textOf(page, '#budget-text'), expected);
    });
  });
}

test('the predicted time follows what the server has learned', (context) => (hasOwnRoutes ? withPage({}, async (page) => {
  await askWithMap(page);
  await page.waitForFunction(async () => (await (await fetch('clasp/info')).json()).timing !== null, kWait);
  await page.reload();
  await page.waitForFunction(() => /first token in about .+, estimated$/.test(document.getElementById('budget-text').textContent), kWait);
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), ['clasp.settings']);
}) : context.skip('there are no /clasp/ routes')));

test('a picture is encoded, and the question sorted, while it is typed', (context) => (hasOwnRoutes ? withPage({}, async (page) => {
  await ready(page);
  await addPicture(page);
  await page.waitForSelector('#thumbs li.ready', kWait);
  await page.type('#question', kQuestion);
  await page.waitForFunction(() => /^auto: Counting \d+ %$/.test(document.getElementById('class').options[0].text), kWait);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.result canvas', kWait);
  assert.equal(await textOf(page, '.bar-list .encode dd'), 'cached, 0 ms');
}) : context.skip('there are no /clasp/ routes')));

// The server's streams are short; this one comes when the test says, cut in the middle of a line and of a letter.
test('text is there before the answer ends', () => withPage({}, async (page) => {
  await ready(page);
  await page.evaluate(() => {
    const { fetch } = globalThis;
    globalThis.fetch = async (url, options) => {
      if (!String(url).endsWith('/v1/chat/completions')) return fetch(url, options);
      return new Response(new ReadableStream({ start(stream) { globalThis.stream = stream; } }), { headers: { 'Content-Type': 'text/event-stream' } });
    };
  });
  await ask(page, 'Slowly');
  await page.waitForFunction(() => globalThis.stream);
  const feed = (bytes) => page.evaluate((list) => globalThis.stream.enqueue(Uint8Array.from(list)), [...bytes]);
  const bytes = Buffer.from(streamOf('First ', 'ha\u00efku', ' last.'));
  const middle = bytes.indexOf(0xc3) + 1;
  await feed(bytes.subarray(0, middle));
  await page.waitForFunction(() => document.querySelector('.assistant .text').textContent.trim() === 'First');
  assert.ok(await page.$eval('#stop', (node) => !node.hidden));
  await feed(bytes.subarray(middle));
  await page.evaluate(() => globalThis.stream.close());
  await page.waitForSelector('.assistant .actions');
  assert.equal((await textOf(page, '.assistant .text')).trim(), 'First ha\u00efku last.');
  assert.ok(await page.$eval('#stop', (node) => node.hidden));
}));

test('a request as code is that request', () => withPage({}, async (page) => {
  await askWithMap(page);
  const answer = (await textOf(page, '.assistant .text')).trim();
  const folder = mkdtempSync(join(tmpdir(), 'clasp-page-'));
  copyFileSync(kPicture, join(folder, 'picture.png'));
  await page.click('.assistant [aria-label="Show as code"]');
  await page.waitForSelector('dialog code');
  const hasCurl = spawnSync('curl', ['--version']).status === 0;
  for (const [at, run] of [[0, (text) => hasCurl && spawnSync('bash', ['-c', text], { cwd: folder, encoding: 'utf8' })], [2, (text) => spawnSync(process.execPath, ['--input-type=module', '-e', text], { cwd: folder, encoding: 'utf8' })]]) {
    await (await page.$$('dialog .tabs button'))[at].click();
    const got = run(await textOf(page, 'dialog code'));
    if (got) assert.ok(at ? got.stdout.startsWith(`${answer} {`) : JSON.parse(got.stdout).choices[0].message.content === answer, `${got.stdout} ${got.stderr}`);
  }
  rmSync(folder, { recursive: true });
}));

// Some models see the overview first, some last; the map begins with the tiles.
for (const [name, tilesFirst] of [['last', true], ['first', false]]) {
  const tiles = [0, 1].map((i) => ({ grid: [2, 2], area: [i * 100, 0, i * 100 + 100, 100], view: tilesFirst ? 0 : 1 }));
  const overview = { grid: [2, 2], area: [0, 0, 200, 100], view: tilesFirst ? 1 : 0 };
  const image = { width: 200, height: 100, grid: [4, 2], offset: 0, tokens: 12, area: [0, 0, 200, 100], regions: tilesFirst ? [...tiles, overview] : [overview, ...tiles] };
  const clasp = { tokens: { visual: 12, text: 4, final: 1, average: 6 }, method: 'clasp', timings_ms: { first_token: 9, prefill: 5 }, stages: [{ layer: 1, kept: [0], pivots: [0] }], images: [image] };
  const body = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Yes' }, finish_reason: 'stop' }], clasp })}\n\ndata: [DONE]\n\n`;
  test(`a picture in tiles, its overview ${name}`, () => withPage({ replace: (request) => isChat(request) && answerWith(body)(request) }, async (page) => {
    await askWithMap(page);
    const begin = async () => {
      await page.focus('#question');
      await page.focus('.result canvas');
      await page.keyboard.press('ArrowRight');
      return [await textOf(page, '.map-holder [aria-pressed="true"]'), await textOf(page, '.cell-text')].join(': ');
    };
    assert.match(await begin(), tilesFirst ? /^Tiles: Token 0,/ : /^Tiles: Token 4,/);
    await (await page.$$('.map-holder .tabs button'))[0].click();
    assert.match(await begin(), tilesFirst ? /^Overview: Token 8,/ : /^Overview: Token 0,/);
  }));
}

// fastv lets layer 0 run on all tokens and drops behind it: that is not what enters the decoder.
test('a stage after a layer is told from one before it', () => {
  const image = { width: 100, height: 100, grid: [2, 2], offset: 0, tokens: 4, area: [0, 0, 100, 100] };
  const replyOf = (stages) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Yes' }, finish_reason: 'stop' }], clasp: { tokens: { visual: 4, text: 4, final: 1, average: 2 }, method: 'x', timings_ms: { first_token: 9, prefill: 5 }, stages, images: [image] } })}\n\ndata: [DONE]\n\n`;
  const after = replyOf([{ site: 'decoder', layer: 0, when: 'after', kept: [0, 1] }, { site: 'decoder', layer: 3, when: 'after', kept: [0] }]);
  const before = replyOf([{ site: 'before', layer: 0, when: 'before', kept: [0, 1] }, { site: 'decoder', layer: 3, when: 'before', kept: [0] }]);
  let n = 0;
  return withPage({ replace: (request) => isChat(request) && answerWith([after, before][n++ % 2])(request) }, async (page) => {
    await askWithMap(page);
    const texts = async (slider, output) => {
      const found = [];
      for (let at = 0; at <= Number(await page.$eval(slider, (node) => node.max)); at += 1) {
        await setRange(page, slider, at);
        found.push((await textOf(page, output)).replace(/^stage \d+ of \d+[,:] |: .*$/g, ''));
      }
      return found;
    };
    assert.deepEqual(await texts('.result .stages', '.result .stage-text'), ['the whole picture', 'after layer 0', 'after layer 3']);
    await page.click('#open-compare');
    await (await page.waitForSelector('#run-compare')).click();
    await page.waitForFunction(() => document.querySelectorAll('.column canvas').length === 3 && document.getElementById('run-compare').textContent === 'Run', kWait);
    assert.deepEqual(await texts('.shared .stages', '.shared .stage-text'), ['the whole picture', 'entering the decoder', 'after layer 0', 'before layer 3', 'after layer 3']);
  });
});

test('history survives a reload; it is renamed, found, deleted', () => withPage({}, async (page) => {
  await askWithMap(page);
  const answer = await textOf(page, '.assistant .text');
  await page.reload();
  await page.waitForSelector('.result canvas', kWait);
  assert.equal(await textOf(page, '.assistant .text'), answer);
  await page.hover('#history li');
  await page.click('#history li [aria-label^="Rename"]');
  await page.waitForSelector('dialog input');
  await page.$eval('dialog input', (node) => { node.value = ''; });
  await page.type('dialog input', 'Crosses');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('#history .row').textContent === 'Crosses');
  await page.type('#search', 'nothing like it');
  await page.waitForFunction(() => !document.querySelector('#history li'));
  await page.$eval('#search', (node) => { node.value = ''; node.dispatchEvent(new Event('input')); });
  await page.waitForSelector('#history li');
  await page.hover('#history li');
  await page.click('#history li [aria-label^="Delete"]');
  await (await page.waitForSelector('dialog .primary')).click();
  await page.waitForSelector('.welcome');
}));

test('comparison: columns in turn, one slider, agreement', () => withPage({}, async (page) => {
  await askWithMap(page);
  await page.click('#open-compare');
  await (await page.waitForSelector('#run-compare')).click();
  await page.waitForFunction(() => document.querySelectorAll('.column canvas').length === 3 && document.getElementById('run-compare').textContent === 'Run', kWait);
  assert.equal((await page.$$('.verdict.same, .verdict.differs')).length, 2);
  await setRange(page, '.shared .stages', 0);
  assert.match(await textOf(page, '.shared .stage-text'), /the whole picture/);
  await page.keyboard.press('Escape');
  await page.click('[aria-label="Close the comparison"]');
  assert.ok(await page.$eval('#chat', (node) => !node.hidden));
}));

test('Stop and Esc end a request that is under way', () => withPage({ replace: (request) => isChat(request) }, async (page) => {
  for (const stop of [() => page.click('#stop'), () => page.keyboard.press('Escape')]) {
    await ready(page);
    const failed = new Promise((resolve) => { page.on('requestfailed', resolve); });
    await ask(page, 'Wait');
    await page.waitForFunction(() => !document.getElementById('stop').hidden);
    await new Promise((resolve) => { setTimeout(resolve, 100); });
    await stop();
    await failed;
    await page.waitForFunction(() => [...document.querySelectorAll('.assistant .note')].at(-1)?.textContent === 'Stopped.' && document.getElementById('stop').hidden);
    await page.click('#new-chat');
  }
}));

test('a hostile answer is text', () => {
  const hostile = ['<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script>\n\n', '[click](javascript:document.title="taken") [data](data:text/html,x) [fine](https://example.org/a)\n\n', '![spy](https://example.org/spy.png?secret)\n\n', '<iframe src="https://example.org"></iframe> `code` **bold**\n'];
  return withPage({ replace: (request) => isChat(request) && answerWith(streamOf(...hostile))(request) }, async (page) => {
    await ready(page);
    await ask(page, 'Be bad');
    await page.waitForSelector('.assistant .actions');
    assert.equal((await page.$$('.assistant .text :is(img, script, iframe)')).length, 0);
    assert.deepEqual(await page.$$eval('.assistant .text a', (links) => links.map((link) => [link.href, link.rel])),
      [['https://example.org/a', 'noopener noreferrer'], ['https://example.org/spy.png?secret', 'noopener noreferrer'], ['https://example.org/', 'noopener noreferrer']]);
    assert.match(await textOf(page, '.assistant .text'), /<img src=x onerror=/);
    assert.doesNotMatch(await page.title(), /taken/);
  });
});

test('a line of a megabyte, and a megabyte of marks, do not stop the page', () => {
  let n = 0;
  const long = [`${'x'.repeat(1 << 20)}`, '[*_`!'.repeat(1 << 14), `${'> - **a** '.repeat(9000)}`];
  return withPage({ replace: (request) => isChat(request) && answerWith(streamOf(long[n++ % long.length]))(request) }, async (page) => {
    await ready(page);
    for (let i = 1; i <= long.length; i += 1) {
      await ask(page, 'Go on');
      await page.waitForFunction((count) => document.querySelectorAll('.assistant .actions').length === count, { timeout: 30000 }, i);
    }
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  });
});

test('a key is asked for, a wrong one again', () => {
  const guard = (request) => !request.url().includes('/ui/') && request.url() !== kUrl && !request.url().endsWith('/health') && !request.url().startsWith('blob:')
    && request.headers().authorization !== 'Bearer right' && answerWith(errorBody('invalid_api_key'), 401, 'application/json')(request);
  return withPage({ mayFail: true, replace: guard }, async (page) => {
    for (const key of ['wrong', 'right']) {
      await page.waitForSelector('dialog input[type=password]');
      if (key === 'right') await page.waitForFunction(() => document.querySelector('dialog p').textContent === 'The key was not accepted.');
      await page.type('dialog input[type=password]', key);
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => !document.querySelector('dialog') || document.querySelector('dialog p').textContent.includes('accepted'));
    }
    await ready(page);
  });
});

test('a model that loads, and a server that goes and comes back', () => {
  let state = 'loading';
  const isPageFile = (request) => request.url() === kUrl || request.url().includes('/ui/') || request.url().startsWith('blob:');
  const replace = (request) => {
    if (isPageFile(request) || state === 'well') return false;
    if (state === 'gone') { request.abort('connectionrefused'); return true; }
    return answerWith(errorBody('loading'), 503, 'application/json')(request);
  };
  return withPage({ mayFail: true, replace }, async (page) => {
    await page.waitForFunction(() => document.getElementById('banner').textContent.startsWith('Loading model'));
    state = 'well';
    await ready(page);
    await page.waitForFunction(() => document.getElementById('banner').hidden);
    state = 'gone';
    await ask(page, 'Anybody there?');
    await page.waitForFunction(() => document.getElementById('banner').textContent.includes('cannot be reached'));
    assert.match(await textOf(page, '.assistant .error'), /cannot be reached/);
    state = 'well';
    await page.waitForFunction(() => document.getElementById('banner').hidden, kWait);
  });
});

// A phone widens its window for what hangs over: what counts is the width that was asked for.
for (const isPhone of [false, true]) test(`nothing hangs over at 320 pixels${isPhone ? ' of a phone' : ''}`, () => withPage({ width: 320, height: 640, isPhone }, async (page) => {
  const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= 320 && document.getElementById('main').scrollWidth <= document.getElementById('main').clientWidth);
  await ready(page);
  assert.ok(await fits(), 'empty');
  assert.equal(await page.$eval('#add-photo', (node) => getComputedStyle(node).display !== 'none'), isPhone, 'the camera is for phones');
  assert.ok(await page.$eval('.welcome h2', (node) => node.getBoundingClientRect().top > document.getElementById('main').getBoundingClientRect().top), 'the headline is seen first');
  await askWithMap(page);
  assert.ok(await fits(), 'chat');
  await page.click('#open-compare');
  await page.waitForSelector('#run-compare');
  assert.ok(await fits(), 'comparison');
  await page.click('#side-open');
  await page.waitForFunction(() => getComputedStyle(document.getElementById('side')).visibility === 'visible');
}));

test('the theme follows the system until it is chosen', () => withPage({ theme: 'dark' }, async (page) => {
  await ready(page);
  const back = () => page.$eval('body', (node) => getComputedStyle(node).backgroundColor);
  const dark = await back();
  await page.click('#theme');
  assert.notEqual(await back(), dark);
  await page.reload();
  assert.notEqual(await back(), dark);
}));

for (const theme of ['light', 'dark']) {
  test(`axe finds nothing, ${theme}`, () => withPage({ theme }, async (page) => {
    const check = async (state) => {
      await page.evaluate(kAxe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
      assert.deepEqual(violations.map(({ id, nodes }) => `${state}: ${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join(' | ')}`), []);
    };
    await ready(page);
    await check('empty');
    await askWithMap(page);
    await check('chat with map');
    await page.click('#open-settings');
    await page.waitForSelector('dialog');
    await check('settings');
    await page.keyboard.press('Escape');
    await page.click('#open-compare');
    await (await page.waitForSelector('#run-compare')).click();
    await page.waitForFunction(() => document.querySelectorAll('.column canvas').length === 3 && document.getElementById('run-compare').textContent === 'Run', kWait);
    await check('comparison');
  }));
}
