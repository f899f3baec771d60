// Fetches the exact cells of what shows; see tfmviz/ui/head_feed.py for the answers.

import { readArrays, readHeader } from "./payload.js";
import { cut, readCells, tilesUnder } from "./long_map_model.js";

const REST_MS = 60; // how long the map must lie still before anything is fetched

export class Tiles {
  /** `onNews` is called when cells came, or could not be had. */
  constructor(onNews) {
    this.onNews = onNews;
    this.model = null;
    this.missing = 0;
    this.failed = false;
    this.refused = null; // the cells that could not be had
    this.turn = new AbortController();
    this.asked = new Set(); // tiles on their way
  }

  /** Fetch for this model from now on; answers for another one are dropped. */
  use(model) {
    this.cancel();
    this.model = model;
    this.missing = 0;
    this.failed = false;
  }

  /** Ask for the tiles under a rectangle of cells, or for none. What was asked for before and is not wanted now is dropped. */
  want(shown) {
    clearTimeout(this.timer);
    const { model } = this;
    const lacking = shown ? tilesUnder(shown, model.tile).filter(([down, across]) => !model.has(down, across)) : [];
    this.missing = lacking.length;
    if (!lacking.length) {
      this.cancel();
      this.failed = false;
      return;
    }
    // What could not be had is asked for again once the map has moved: else the answer itself would ask, for ever.
    if (this.failed && sameCells(shown, this.refused)) return;
    if (!lacking.every((tile) => this.asked.has(String(tile)))) {
      this.timer = setTimeout(() => this.fetchAll(lacking, shown), REST_MS);
    }
  }

  cancel() {
    clearTimeout(this.timer);
    this.turn.abort();
    this.asked.clear();
  }

  async fetchAll(tiles, shown) {
    this.cancel();
    const turn = (this.turn = new AbortController());
    this.failed = false;
    this.asked = new Set(tiles.map(String));
    const settled = await Promise.allSettled(runsOf(tiles).map((run) => this.fetchRun(run, turn.signal)));
    if (turn.signal.aborted) return;
    this.asked.clear();
    if (settled.every(({ status }) => status === "fulfilled")) return;
    this.failed = true;
    this.refused = shown;
    this.onNews();
  }

  /** Some tiles beside one another, which share their rows. */
  async fetchRun({ down, from, past }, signal) {
    const { model } = this;
    const { tile, rows, cols } = model;
    const [top, bottom] = [down * tile, Math.min(rows, (down + 1) * tile)];
    const [left, right] = [from * tile, Math.min(cols, past * tile)];
    const response = await fetch(`${model.cells}/${top}-${bottom}/${left}-${right}`, { signal });
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    const data = new Uint8Array(await response.arrayBuffer());
    if (signal.aborted) return;
    const header = readHeader(data);
    const map = readCells(header, readArrays(data, header));
    for (let across = from; across < past; across += 1) {
      const width = Math.min(tile, cols - across * tile);
      model.keep(down, across, cut(map, 0, across * tile - left, bottom - top, width));
      this.missing -= 1;
    }
    this.onNews();
  }

  destroy() {
    this.cancel();
  }
}

function sameCells(a, b) {
  return ["top", "left", "bottom", "right"].every((side) => a[side] === b[side]);
}

/** Tiles that lack, gathered into runs of one row each. */
function runsOf(tiles) {
  const runs = [];
  for (const [down, across] of tiles) {
    const last = runs.at(-1);
    if (last && last.down === down && last.past === across) last.past += 1;
    else runs.push({ down, from: across, past: across + 1 });
  }
  return runs;
}
