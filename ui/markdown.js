// Answers as Markdown: headings, lists, quotes, code, tables, bold, italic, links. Built of DOM nodes, so that an
// answer is text whatever it says. Pictures become links: loading them would tell others what was asked.
import { el, button, copyText } from './dom.js';

// Beyond this an answer is shown as it is; no pattern may cost time without bound.
const kMaxChars = 100000;
const kMaxSpan = 2000;
const kMaxDepth = 6;

function link(label, target) {
  let url;
  try {
    url = new URL(target);
  } catch {
    return null;
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  return el('a', { href: url.href, target: '_blank', rel: 'noopener noreferrer', text: label || url.href });
}

// Where the closing mark stands, or -1; never looks further than kMaxSpan.
function closing(text, mark, from) {
  const at = text.slice(from, from + kMaxSpan).indexOf(mark);
  return at <= 0 ? -1 : from + at;
}

function readLink(text, at) {
  const isPicture = text[at] === '!';
  const open = at + (isPicture ? 1 : 0);
  const middle = text.indexOf('](', open);
  if (middle < 0 || middle - open > kMaxSpan) return null;
  const end = closing(text, ')', middle + 2);
  if (end < 0) return null;
  const label = text.slice(open + 1, middle);
  const node = link((isPicture ? 'picture: ' : '') + label, text.slice(middle + 2, end).trim().split(/\s/)[0]);
  return node && { node, end: end + 1 };
}

const kMarks = [['**', 'strong'], ['__', 'strong'], ['~~', 's'], ['*', 'em'], ['_', 'em']];

function readMarked(text, at, depth) {
  for (const [mark, tag] of kMarks) {
    if (!text.startsWith(mark, at) || /\s/.test(text[at + mark.length] ?? ' ')) continue;
    if (mark[0] === '_' && /\w/.test(text[at - 1] ?? ' ')) continue;
    const end = closing(text, mark, at + mark.length);
    if (end < 0 || /\s/.test(text[end - 1])) continue;
    return { node: el(tag, {}, inline(text.slice(at + mark.length, end), depth + 1)), end: end + mark.length };
  }
  return null;
}

function readSpan(text, at, depth) {
  const char = text[at];
  if (char === '\\' && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? '')) return { node: text[at + 1], end: at + 2 };
  if (char === '`') {
    const end = closing(text, '`', at + 1);
    return end < 0 ? null : { node: el('code', { text: text.slice(at + 1, end) }), end: end + 1 };
  }
  if (char === '[' || (char === '!' && text[at + 1] === '[')) return readLink(text, at);
  if (char === 'h') {
    const url = /^https?:\/\/[^\s<>()[\]]+[^\s<>()[\].,;:!?'"*]/.exec(text.slice(at, at + kMaxSpan));
    const node = url && !/\w/.test(text[at - 1] ?? ' ') && link('', url[0]);
    return node ? { node, end: at + url[0].length } : null;
  }
  return '*_~'.includes(char) ? readMarked(text, at, depth) : null;
}

function inline(text, depth = 0) {
  const nodes = [];
  if (depth > kMaxDepth) return [text];
  let plain = 0;
  const special = /[\\`[!h*_~]/g;
  for (let match = special.exec(text); match; match = special.exec(text)) {
    const span = readSpan(text, match.index, depth);
    if (!span) continue;
    if (match.index > plain) nodes.push(text.slice(plain, match.index));
    nodes.push(span.node);
    plain = special.lastIndex = span.end;
  }
  nodes.push(text.slice(plain));
  return nodes;
}

function codeBlock(language, lines) {
  const code = lines.join('\n');
  return el('div', { class: 'code' }, el('div', { class: 'code-head' }, el('span', { text: language || 'text' }), button('Copy the code', 'copy', () => copyText(code))),
    el('pre', { tabindex: '0' }, el('code', { text: code })));
}

const kItem = /^(\s{0,8})([-*+]|\d{1,9}[.)])\s+(.*)$/;
const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => cell.trim());

function table(lines) {
  const row = (line, tag) => el('tr', {}, cells(line).map((cell) => el(tag, tag === 'th' ? { scope: 'col' } : {}, inline(cell))));
  return el('div', { class: 'scroll', tabindex: '0' }, el('table', {}, el('thead', {}, row(lines[0], 'th')), el('tbody', {}, lines.slice(2).map((line) => row(line, 'td')))));
}

function list(lines) {
  const [, indent, mark] = kItem.exec(lines[0]);
  const node = el(/\d/.test(mark) ? 'ol' : 'ul', /\d/.test(mark) ? { start: parseInt(mark, 10) } : {});
  for (let i = 0; i < lines.length;) {
    const item = kItem.exec(lines[i]);
    const inner = [];
    for (i += 1; i < lines.length && (!kItem.test(lines[i]) || kItem.exec(lines[i])[1].length > indent.length + 1); i += 1) inner.push(lines[i]);
    const nested = inner.findIndex((line) => kItem.test(line));
    const words = [item[3], ...(nested < 0 ? inner : inner.slice(0, nested)).map((line) => line.trim())].join(' ');
    node.append(el('li', {}, inline(words), nested < 0 ? null : list(inner.slice(nested))));
  }
  return node;
}

// The nodes of one answer.
export function markdown(text) {
  if (text.length > kMaxChars) return [el('p', { class: 'plain', text })];
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const nodes = [];
  const take = (test) => {
    const taken = [];
    while (i < lines.length && test(lines[i])) taken.push(lines[i++]);
    return taken;
  };
  let i = 0;
  while (i < lines.length) {
    const line = lines[i];
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    if (/^\s*$/.test(line)) {
      i += 1;
    } else if (line.startsWith('```')) {
      i += 1;
      nodes.push(codeBlock(line.slice(3).trim(), take((next) => !next.startsWith('```'))));
      i += 1;
    } else if (heading) {
      i += 1;
      nodes.push(el(`h${Math.min(6, heading[1].length + 1)}`, {}, inline(heading[2])));
    } else if (/^(-{3,}|\*{3,})\s*$/.test(line)) {
      i += 1;
      nodes.push(el('hr'));
    } else if (line.startsWith('>')) {
      nodes.push(el('blockquote', {}, inline(take((next) => next.startsWith('>')).map((next) => next.slice(1).trim()).join(' '))));
    } else if (kItem.test(line)) {
      nodes.push(list(take((next) => kItem.test(next) || /^\s+\S/.test(next))));
    } else if (line.includes('|') && /^[\s|:-]+$/.test(lines[i + 1] ?? '') && lines[i + 1].includes('-')) {
      nodes.push(table(take((next) => next.includes('|'))));
    } else {
      const words = take((next) => /\S/.test(next) && !/^(#{1,6}\s|```|>)/.test(next) && !(kItem.test(next) && next !== line));
      nodes.push(el('p', {}, words.flatMap((next, n) => (n ? [el('br'), ...inline(next)] : inline(next)))));
      if (!words.length) i += 1;
    }
  }
  return nodes;
}
