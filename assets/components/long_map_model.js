// A long text's map as the browser keeps it: maxima of blocks for the whole, exact cells of the tiles that came lately.

import { readMap, readOpen } from "./token_map_model.js";

export class LongModel {
  constructor(header, arrays) {
    const { rows, cols, query, keys, title, note, scaled, block, cells, tile } = header;
    Object.assign(this, { rows, cols, title, note, scaled, block, cells, tile });
    this.numbered = true;
    this.labels = { query, key: keys ?? query };
    this.selfAttention = keys === null;
    this.texts = header.texts; // what "go to token" reads; those of the keys are null where they are the same
    this.most = { tiles: header.most_tiles, cells: header.most_cells };
    this.blocks = blocksOf(this, arrays);
    this.open = this.blocks.open; // whether anything is masked: the legend asks
    this.tiles = new Map(); // by place, least lately seen first
  }

  /** The tile of a cell, or undefined where it is not there. */
  tileAt({ row, col }) {
    return this.tiles.get(placeOf(Math.floor(row / this.tile), Math.floor(col / this.tile)));
  }

  /** Keep a tile's cells; the tile seen least lately goes when there are too many. */
  keep(down, across, cells) {
    this.tiles.set(placeOf(down, across), { ...cells, firstRow: down * this.tile, firstCol: across * this.tile });
    while (this.tiles.size > this.most.tiles) this.tiles.delete(this.tiles.keys().next().value);
  }

  /** Whether a tile is there; it counts as seen. */
  has(down, across) {
    const place = placeOf(down, across);
    const cells = this.tiles.get(place);
    if (!cells) return false;
    this.tiles.delete(place);
    this.tiles.set(place, cells);
    return true;
  }

  /** What is known of a cell: itself where its tile is there, else its block. */
  at({ row, col }) {
    const tile = this.tileAt({ row, col });
    if (tile) {
      const place = (row - tile.firstRow) * tile.cols + col - tile.firstCol;
      const masked = tile.open !== null && !tile.open[place];
      return { exact: true, row, col, rows: 1, cols: 1, weight: tile.weights[place], masked };
    }
    const { block, blocks } = this;
    const [down, across] = [Math.floor(row / block), Math.floor(col / block)];
    const place = down * blocks.cols + across;
    const [top, left] = [down * block, across * block];
    return {
      exact: false,
      row: top,
      col: left,
      rows: Math.min(block, this.rows - top),
      cols: Math.min(block, this.cols - left),
      weight: blocks.maxima[place],
      masked: blocks.open !== null && !blocks.open[place],
    };
  }
}

/** The tiles under a rectangle of cells, in order. */
export function tilesUnder({ top, left, bottom, right }, size) {
  const tiles = [];
  for (let down = Math.floor(top / size); down * size < bottom; down += 1) {
    for (let across = Math.floor(left / size); across * size < right; across += 1) tiles.push([down, across]);
  }
  return tiles;
}

/** One tile out of a rectangle of cells that came from the server. */
export function cut(map, top, left, rows, cols) {
  const part = (from) => {
    const out = new from.constructor(rows * cols);
    for (let row = 0; row < rows; row += 1) {
      const start = (top + row) * map.cols + left;
      out.set(from.subarray(start, start + cols), row * cols);
    }
    return out;
  };
  return { rows, cols, weights: part(map.weights), steps: part(map.steps), open: map.open && part(map.open) };
}

/** The cells of an answer of the server. */
export function readCells(header, arrays) {
  return readMap({ ...header, query: [], keys: null }, arrays);
}

function blocksOf({ rows, cols, block }, arrays) {
  const shape = { rows: Math.ceil(rows / block), cols: Math.ceil(cols / block) };
  const { maxima } = arrays;
  const steps = arrays.steps ?? Uint8ClampedArray.from(maxima, (weight) => weight * 255);
  return { ...shape, maxima, steps, open: readOpen(arrays, shape.rows, shape.cols) };
}

function placeOf(down, across) {
  return `${down},${across}`;
}
