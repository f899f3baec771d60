// Where the parts of a map sit, and which of its cells show. CSS pixels; cells are numbers that may have fractions.

export const STRIP = 92; // title, legend and scale above the map
const AXIS_TITLE = 24;
const LABEL_GAP = 6;
const RIGHT = 12;
const LARGEST_CELL = 48;
const THINNEST = 160; // a map of few rows and many columns would be a hair line: below this its cells stop being square

export const TICK_ROOM = 14;

/**
 * Sizes for a width; `widest` are the widest labels of queries and keys, `noteRoom` what a long note takes more. Cells
 * are square, or as large as the picture allows where it is to be filled.
 */
export function mapLayout({ rows, cols, width, maxHeight, widest, noteRoom, ratio, fills = false }) {
  const snap = (size) => Math.floor(size * ratio) / ratio;
  const left = snap(AXIS_TITLE + widest.query + LABEL_GAP);
  const top = STRIP + noteRoom;
  const mostWide = Math.max(40, width - left - RIGHT);
  const mostHigh = (bottom) => Math.max(120, maxHeight - top - bottom);
  const bottomOf = (upright) => LABEL_GAP + (upright ? widest.key : 12) + AXIS_TITLE;
  const cellFor = (upright) => Math.min(mostWide / cols, mostHigh(bottomOf(upright)) / rows);
  const upright = !fills && widest.key > cellFor(true) - 8;
  const cell = fills ? Infinity : cellFor(upright);
  const size = (most, count) => snap(Math.min(most, Math.max(cell * count, Math.min(THINNEST, count * 18))));
  const plot = { left, top, width: size(mostWide, cols), height: size(mostHigh(bottomOf(upright)), rows) };
  return { width, height: Math.ceil(top + plot.height + bottomOf(upright)), plot, upright, rows, cols };
}

/** The part of a map that shows: `x` and `y` its first column and row, `zoom` 1 for everything. */
export class Viewport {
  constructor() {
    this.pinned = {}; // by axis: cells whose names are always written
    this.reset();
  }

  reset() {
    this.zoom = 1;
    this.x = 0;
    this.y = 0;
  }

  /** Use a layout, keeping what shows. */
  fit(layout) {
    this.layout = layout;
    this.set(this.zoom, this.x, this.y);
  }

  get cellWidth() {
    return (this.layout.plot.width / this.layout.cols) * this.zoom;
  }

  get cellHeight() {
    return (this.layout.plot.height / this.layout.rows) * this.zoom;
  }

  get most() {
    const { plot, cols, rows } = this.layout;
    return Math.max(1, LARGEST_CELL / Math.min(plot.width / cols, plot.height / rows));
  }

  set(zoom, x, y) {
    const { cols, rows } = this.layout;
    this.zoom = Math.min(this.most, Math.max(1, zoom));
    const inside = (at, count) => Math.max(0, Math.min(at, count - count / this.zoom));
    [this.x, this.y] = [inside(x, cols), inside(y, rows)];
  }

  /** Zoom by a factor; the point of the map (pixels in the plot) stays under the pointer. */
  zoomAt(factor, px, py) {
    const [column, row] = [this.x + px / this.cellWidth, this.y + py / this.cellHeight];
    this.set(this.zoom * factor, this.x, this.y);
    this.set(this.zoom, column - px / this.cellWidth, row - py / this.cellHeight);
  }

  /** Show a rectangle of the plot as large as it goes. */
  zoomTo({ x, y, width, height }) {
    const { plot } = this.layout;
    const [column, row] = [this.x + (x + width / 2) / this.cellWidth, this.y + (y + height / 2) / this.cellHeight];
    this.set(this.zoom * Math.min(plot.width / width, plot.height / height), 0, 0);
    this.set(this.zoom, column - plot.width / 2 / this.cellWidth, row - plot.height / 2 / this.cellHeight);
  }

  pan(dx, dy) {
    this.set(this.zoom, this.x - dx / this.cellWidth, this.y - dy / this.cellHeight);
  }

  /** Move just far enough that a cell shows. */
  reveal({ row, col }) {
    const [across, down] = [this.layout.cols / this.zoom, this.layout.rows / this.zoom];
    const x = Math.min(col, Math.max(this.x, col + 1 - across));
    const y = Math.min(row, Math.max(this.y, row + 1 - down));
    this.set(this.zoom, x, y);
  }

  /** The cell at a point of the picture, or null beside the plot. */
  cellAt(px, py) {
    const { plot, cols, rows } = this.layout;
    const [x, y] = [px - plot.left, py - plot.top];
    if (x < 0 || y < 0 || x >= plot.width || y >= plot.height) return null;
    return {
      row: Math.min(rows - 1, Math.floor(this.y + y / this.cellHeight)),
      col: Math.min(cols - 1, Math.floor(this.x + x / this.cellWidth)),
    };
  }

  /** Where a cell is in the picture, or a rectangle of them. */
  box({ row, col, rows = 1, cols = 1 }) {
    const { plot } = this.layout;
    const [width, height] = [this.cellWidth, this.cellHeight];
    const [x, y] = [plot.left + (col - this.x) * width, plot.top + (row - this.y) * height];
    return { x, y, width: cols * width, height: rows * height };
  }

  /** First and one past the last of the rows and columns that show, whole or in part. */
  get shown() {
    const { cols, rows } = this.layout;
    const past = (from, count) => Math.min(count, Math.ceil(from + count / this.zoom - 1e-9));
    const [top, left] = [Math.floor(this.y), Math.floor(this.x)];
    return { top, left, bottom: past(this.y, rows), right: past(this.x, cols) };
  }

  /** Bring a cell to the middle, at least `size` pixels large. */
  goTo({ row, col }, size) {
    const { cols, rows } = this.layout;
    this.set(Math.max(this.zoom, (this.zoom * size) / Math.min(this.cellWidth, this.cellHeight)), 0, 0);
    this.set(this.zoom, col + 0.5 - cols / this.zoom / 2, row + 0.5 - rows / this.zoom / 2);
  }

  /** One axis: the first cell that shows, a cell's size, how many there are, and where the middle of one is. */
  axis(side) {
    const { plot, rows, cols } = this.layout;
    const [from, cell, length, count] =
      side === "query" ? [this.y, this.cellHeight, plot.height, rows] : [this.x, this.cellWidth, plot.width, cols];
    const middle = (index) => (index + 0.5 - from) * cell;
    const shown = (index) => middle(index) >= 0 && middle(index) <= length;
    return { from, cell, count, middle, shown };
  }

  /**
   * Which labels an axis writes: round steps, far enough apart, and none that the lit one would touch.
   * Returns indices with the pixel of their middle, counted from the start of the plot.
   */
  ticks(side, room, lit = -1) {
    const { from, cell, count, middle, shown } = this.axis(side);
    const step = roundStep(room / cell);
    const near = (index, other) => index !== other && Math.abs(index - other) * cell < room;
    const free = (index) => index !== lit && !(lit >= 0 && shown(lit) && near(index, lit));
    const pinned = (this.pinned[side] ?? []).filter((index) => shown(index) && free(index));
    const ticks = pinned.map((index) => ({ index, at: middle(index), lit: false, step }));
    for (let index = Math.ceil(Math.max(0, from - 1) / step) * step; index < count; index += step) {
      if (!shown(index) || !free(index) || pinned.some((other) => index === other || near(index, other))) continue;
      ticks.push({ index, at: middle(index), lit: false, step });
    }
    if (lit >= 0 && shown(lit)) ticks.push({ index: lit, at: middle(lit), lit: true, step });
    return ticks;
  }
}

function roundStep(least) {
  for (let power = 1; ; power *= 10) {
    for (const step of [power, 2 * power, 5 * power]) if (step >= least - 1e-6) return step;
  }
}
