// What a reply says about its visual tokens, made easy to draw: which are kept at each step, why, and where each
// was dropped. Indices count the tokens of all pictures in order, row by row.

export const kDropped = 0;
export const kPivot = 1;
export const kCoverage = 2;

const kWords = ['dropped', 'pivot', 'coverage'];
export const reasonWord = (reason) => kWords[reason];

// Where a stage stands: a layer that ran on all tokens before they were dropped is half a step behind its number.
function placeOf({ layer = 0, when }) {
  if (when === 'after') return { layer: layer + 0.5, place: `after layer ${layer}` };
  return { layer, place: layer ? `before layer ${layer}` : 'entering the decoder' };
}

function regionsOf(image) {
  const regions = image.regions?.length ? image.regions : [{ grid: image.grid, area: image.area, view: 0 }];
  let first = image.offset;
  return regions.map(({ grid: [columns, rows], area: [left, top, right, bottom], view = 0, breaks = false, class_row: classRow = false }) => {
    // With breaks every row ends with a token that has no cell; a class row is one before the first cell.
    const stride = columns + (breaks ? 1 : 0);
    first += classRow ? 1 : 0;
    const region = { columns, rows, left, top, width: right - left, height: bottom - top, view, first, stride };
    first += stride * rows;
    return region;
  });
}

// The view whose cells are the picture's grid: the tiles, where there is an overview too. The last of several such.
function finestView(regions, [columns, rows]) {
  const views = [...new Set(regions.map((region) => region.view))];
  const size = (view) => regions.reduce((sum, region) => sum + (region.view === view ? region.columns * region.rows : 0), 0);
  return views.findLast((view) => size(view) === columns * rows) ?? views.at(-1);
}

function stepOf(n, stage) {
  const reasons = new Uint8Array(n);
  for (const token of stage.kept) reasons[token] = kCoverage;
  for (const token of stage.pivots ?? []) reasons[token] = kPivot;
  const nKept = stage.kept.length;
  const nPivots = (stage.pivots ?? []).length;
  return { ...placeOf(stage), reasons, nKept, nPivots, nCoverage: nKept - nPivots };
}

// null when the reply has no map. steps[0] is the whole picture, before anything was dropped.
export function readTokens(clasp) {
  if (!clasp?.images?.length || !clasp.stages) return null;
  const images = clasp.images.map((image) => {
    const regions = regionsOf(image);
    return { width: image.width, height: image.height, regions, finest: finestView(regions, image.grid) };
  });
  const last = images.at(-1).regions.at(-1);
  const n = last.first + last.stride * last.rows;
  const whole = { place: 'the whole picture', layer: -1, reasons: new Uint8Array(n).fill(kCoverage), nKept: n, nPivots: 0, nCoverage: n, isWhole: true };
  const steps = [whole, ...clasp.stages.map((stage) => stepOf(n, stage))];
  return { n, images, steps };
}

export function stepText(tokens, at) {
  const step = tokens.steps[at];
  return `stage ${at + 1} of ${tokens.steps.length}, ${step.place}: ${step.nKept} of ${tokens.n} tokens kept`;
}

// The last step that a layer has seen, for maps that share a slider.
export function stepAtLayer(tokens, layer) {
  return Math.max(0, tokens.steps.findLastIndex((step) => step.layer <= layer));
}

// The cell under a point of the picture, in a view; null beside the grid.
export function tokenAt(image, view, x, y) {
  for (const region of image.regions) {
    const column = Math.floor(((x - region.left) / region.width) * region.columns);
    const row = Math.floor(((y - region.top) / region.height) * region.rows);
    if (region.view === view && column >= 0 && row >= 0 && column < region.columns && row < region.rows) {
      return { region, column, row, token: region.first + row * region.stride + column };
    }
  }
  return null;
}

export function cellText(tokens, { token, row, column }, at) {
  const here = tokens.steps[at];
  const drop = tokens.steps.findIndex((step) => step.reasons[token] === kDropped);
  const place = `Token ${token}, row ${row + 1}, column ${column + 1}: `;
  if (drop >= 0 && drop <= at) return `${place}dropped ${tokens.steps[drop].place}, stage ${drop + 1}`;
  const now = here.isWhole ? 'not looked at yet' : `kept for ${reasonWord(here.reasons[token]) === 'pivot' ? 'relevance (pivot)' : 'coverage'}`;
  return `${place}${now}; ${drop < 0 ? 'stays to the end' : `will be dropped ${tokens.steps[drop].place}`}`;
}
