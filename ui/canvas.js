// A canvas over one picture: dropped cells are dimmed, pivots carry a disc, coverage a square.
import { el } from './dom.js';
import { kCoverage, kDropped, kPivot, tokenAt } from './tokens.js';

// Those of the maps that the program writes; a white edge parts them from any picture.
const kPivotColour = '#1e6eff';
const kCoverageColour = '#f03232';
const kEdgeColour = '#fff';
const kVeil = 'rgba(9, 11, 18, 0.78)';
const kFadeMs = 220;

// show(at) draws a step; onCell hears about the cell under pointer or keys.
export class MapCanvas {
  constructor(tokens, imageIndex, picture, onCell = () => {}) {
    Object.assign(this, { tokens, picture, onCell, at: 0, cursor: null, image: tokens.images[imageIndex] });
    const { finest, regions } = this.image;
    this.views = [...new Set(regions.map((region) => region.view))].filter((view) => view !== finest).concat(finest);
    this.view = finest;
    this.veil = new Float32Array(tokens.n);
    this.node = el('canvas', { class: 'map', tabindex: '0', role: 'application', 'aria-roledescription': 'token map', 'aria-label': 'Kept tokens on the picture; arrow keys move from cell to cell' });
    this.node.addEventListener('pointermove', (event) => this.point(event));
    this.node.addEventListener('pointerleave', () => this.setCursor(null));
    this.node.addEventListener('keydown', (event) => this.key(event));
    this.node.addEventListener('blur', () => this.setCursor(null));
    new ResizeObserver(() => this.draw()).observe(this.node);
    this.frame();
  }

  // What is seen: the picture and all that the grid covers, padding included.
  frame() {
    const regions = this.image.regions.filter((region) => region.view === this.view);
    this.left = Math.min(0, ...regions.map((region) => region.left));
    this.top = Math.min(0, ...regions.map((region) => region.top));
    this.width = Math.max(this.image.width, ...regions.map((region) => region.left + region.width)) - this.left;
    this.height = Math.max(this.image.height, ...regions.map((region) => region.top + region.height)) - this.top;
    this.node.style.aspectRatio = `${this.width} / ${this.height}`;
  }

  setView(view) {
    this.view = view;
    this.cursor = null;
    this.frame();
    this.draw();
  }

  show(at) {
    this.at = at;
    const from = Float32Array.from(this.veil);
    const reasons = this.tokens.steps[at].reasons;
    const start = performance.now();
    const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
    cancelAnimationFrame(this.pending);
    const tick = (now) => {
      const share = isStill ? 1 : Math.min(1, Math.max(0, (now - start) / kFadeMs));
      for (let i = 0; i < this.veil.length; i += 1) this.veil[i] = from[i] + ((reasons[i] === kDropped ? 1 : 0) - from[i]) * share;
      this.draw();
      if (share < 1) this.pending = requestAnimationFrame(tick);
    };
    tick(start);
  }

  draw() {
    const ratio = devicePixelRatio || 1;
    const width = Math.round(this.node.clientWidth * ratio);
    if (!width) return;
    const scale = width / this.width;
    this.node.width = width;
    this.node.height = Math.round(this.height * scale);
    const context = this.node.getContext('2d');
    context.fillStyle = '#8b90a0';
    context.fillRect(0, 0, width, this.node.height);
    context.setTransform(scale, 0, 0, scale, -this.left * scale, -this.top * scale);
    context.drawImage(this.picture, 0, 0, this.image.width, this.image.height);
    for (const region of this.image.regions) if (region.view === this.view) this.drawRegion(context, region, 1 / scale);
    if (this.cursor) this.drawCursor(context, this.cursor, 1 / scale);
  }

  drawRegion(context, region, pixel) {
    const step = this.tokens.steps[this.at];
    const wide = region.width / region.columns;
    const high = region.height / region.rows;
    const size = Math.min(wide, high);
    for (let i = 0; i < region.columns * region.rows; i += 1) {
      const x = region.left + (i % region.columns) * wide;
      const y = region.top + Math.floor(i / region.columns) * high;
      const token = region.first + Math.floor(i / region.columns) * region.stride + (i % region.columns);
      const veil = this.veil[token];
      if (veil > 0) {
        context.globalAlpha = veil;
        context.fillStyle = kVeil;
        context.fillRect(x, y, wide + pixel / 2, high + pixel / 2);
      }
      if (step.isWhole || veil === 1) continue;
      context.globalAlpha = 1 - veil;
      this.drawMark(context, step.reasons[token], x + wide / 2, y + high / 2, size, pixel);
    }
    context.globalAlpha = 1;
  }

  drawMark(context, reason, x, y, size, pixel) {
    context.beginPath();
    if (reason === kPivot) {
      context.arc(x, y, size * 0.27, 0, 2 * Math.PI);
      context.fillStyle = kPivotColour;
      context.fill();
      context.lineWidth = Math.max(pixel, size * 0.07);
      context.strokeStyle = kEdgeColour;
      context.stroke();
    } else if (reason === kCoverage) {
      const side = size * 0.42;
      context.rect(x - side / 2, y - side / 2, side, side);
      context.lineWidth = Math.max(2.4 * pixel, size * 0.19);
      context.strokeStyle = kEdgeColour;
      context.stroke();
      context.lineWidth = Math.max(1.6 * pixel, size * 0.13);
      context.strokeStyle = kCoverageColour;
      context.stroke();
    }
  }

  drawCursor(context, { region, row, column }, pixel) {
    const wide = region.width / region.columns;
    const high = region.height / region.rows;
    for (const [colour, width] of [['#000', 5], ['#fff', 2.5]]) {
      context.lineWidth = width * pixel;
      context.strokeStyle = colour;
      context.strokeRect(region.left + column * wide, region.top + row * high, wide, high);
    }
  }

  setCursor(cell) {
    if (cell?.token === this.cursor?.token) return;
    this.cursor = cell;
    this.onCell(cell);
    this.draw();
  }

  point(event) {
    const scale = this.width / this.node.clientWidth;
    this.setCursor(tokenAt(this.image, this.view, event.offsetX * scale + this.left, event.offsetY * scale + this.top));
  }

  key(event) {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const { region, row, column } = this.cursor ?? { region: this.image.regions.find((one) => one.view === this.view), row: 0, column: 0 };
    const to = this.cursor ? [column + move[0], row + move[1]] : [column, row];
    const x = region.left + ((to[0] + 0.5) * region.width) / region.columns;
    const y = region.top + ((to[1] + 0.5) * region.height) / region.rows;
    const cell = tokenAt(this.image, this.view, x, y);
    if (cell) this.setCursor(cell);
  }
}

export async function loadPicture(url) {
  const picture = new Image();
  picture.src = url;
  await picture.decode();
  return picture;
}
