// What all clients ask.
import { readFileSync } from 'node:fs';

export const url = process.env.CLASP_URL;
export const picture = readFileSync(process.env.CLASP_PICTURE);
export const base64 = picture.toString('base64');
export const dataUrl = `data:image/png;base64,${base64}`;
export const question = 'How many yellow crosses are in the picture?';
export const answer = '6';
// Longer than anybody waits for, unless it is stopped.
export const long = { max_tokens: 1500, ignore_eos: true };
