// A request as somebody else would send it: curl, Python, JavaScript.
import { copyText, dialog, el } from './dom.js';
import { address, hasKey } from './api.js';

const json = (value, indent) => JSON.stringify(value, null, indent);
// Pictures are long: programs read them from a file.
const kMark = '@PICTURE@';

function forReaders(body) {
  let n = 0;
  const messages = body.messages.map((message) => (typeof message.content === 'string' ? message : {
    ...message,
    content: message.content.map((part) => (part.type === 'image_url' ? { type: 'image_url', image_url: { url: `${kMark}${(n += 1)}` } } : part)),
  }));
  const names = Array.from({ length: n }, (_, i) => (n > 1 ? `picture${i + 1}.png` : 'picture.png'));
  const { clasp: { map, ...clasp } = {}, ...rest } = body;
  return { body: { ...rest, messages, clasp }, names };
}

// A here-document: the shell fills in the files and leaves the rest alone.
export function asCurl(given) {
  const { body, names } = forReaders(given);
  const text = json(body, 1).replace(/[\\$`]/g, '\\$&').replace(/@PICTURE@(\d+)/g, (_, i) => `data:;base64,$(base64 -w0 ${names[i - 1]})`);
  const key = hasKey() ? ' -H "Authorization: Bearer $CLASP_API_KEY"' : '';
  return `curl ${address('v1/chat/completions')}${key} -H 'Content-Type: application/json' -d @- <<END\n${text}\nEND\n`;
}

export function asPython(given) {
  const { body, names } = forReaders(given);
  const { clasp, ...rest } = body;
  const messages = json(rest.messages, 4).replace(/"@PICTURE@(\d+)"/g, (_, i) => `picture("${names[i - 1]}")`).replaceAll('\n', '\n    ');
  const extras = Object.entries(rest).filter(([name]) => name !== 'messages').map(([name, value]) => `    ${name}=${json(value)},\n`).join('');
  const python = json(clasp).replaceAll(':true', ': True').replaceAll(':false', ': False').replaceAll('":', '": ').replaceAll(',"', ', "');
  return `import base64, os
from openai import OpenAI

def picture(path):
    with open(path, "rb") as file:
        return "data:;base64," + base64.b64encode(file.read()).decode()

client = OpenAI(base_url="${address('v1')}", api_key=os.environ.get("CLASP_API_KEY", "none"))
reply = client.chat.completions.create(
${extras}    messages=${messages},
    extra_body={"clasp": ${python}},
)
print(reply.choices[0].message.content)
print(reply.clasp["tokens"])
`;
}

export function asJavaScript(given) {
  const { body, names } = forReaders(given);
  const text = json(body, 2).replace(/"@PICTURE@(\d+)"/g, (_, i) => `picture('${names[i - 1]}')`);
  return `import { readFileSync } from 'node:fs';

const picture = (path) => 'data:;base64,' + readFileSync(path, 'base64');

const reply = await fetch('${address('v1/chat/completions')}', {
  method: 'POST',
  headers: { 'Content-Type': 'application/json'${hasKey() ? ', Authorization: `Bearer ${process.env.CLASP_API_KEY}`' : ''} },
  body: JSON.stringify(${text.replaceAll('\n', '\n  ')}),
});
const answer = await reply.json();
console.log(answer.choices[0].message.content, answer.clasp.tokens);
`;
}

export function showSnippets(body) {
  const kinds = [['curl', asCurl], ['Python', asPython], ['JavaScript', asJavaScript]];
  return dialog('This request as code', () => {
    const code = el('code');
    const tabs = el('div', { class: 'tabs', role: 'group', 'aria-label': 'Language' });
    const pick = (at) => {
      code.textContent = kinds[at][1](body);
      [...tabs.children].forEach((tab, i) => tab.setAttribute('aria-pressed', String(i === at)));
    };
    tabs.append(...kinds.map(([name], i) => el('button', { type: 'button', text: name, onclick: () => pick(i) })));
    pick(0);
    return [tabs, el('pre', { tabindex: '0' }, code), el('div', { class: 'dialog-foot' }, el('button', { type: 'button', class: 'primary', text: 'Copy', icon: 'copy', onclick: () => copyText(code.textContent) }))];
  });
}
