// What is there before the first question.
import { el } from './dom.js';

const kExamples = [
  { file: 'example-crosses.webp', question: 'How many yellow crosses are in the picture?' },
  { file: 'example-beach.webp', question: 'Which place is shown in the picture?' },
];

export async function examplePicture({ file }) {
  return new File([await (await fetch(new URL(file, import.meta.url))).blob()], file, { type: 'image/webp' });
}

export function emptyState(onExample) {
  return el('div', { class: 'welcome' },
    el('h2', { text: 'Ask a picture. See what the answer needed.' }),
    el('p', { text: 'Drop, paste or pick a picture. The model keeps only the visual tokens that your question needs, and this page shows which.' }),
    el('ul', { class: 'examples', 'aria-label': 'Examples' }, kExamples.map((example) => el('li', {}, el('button', { type: 'button', onclick: () => onExample(example) },
      el('img', { src: new URL(example.file, import.meta.url).href, alt: '', width: 224, height: 224 }), el('span', { text: example.question }))))));
}
