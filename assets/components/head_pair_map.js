// One of the maps of two heads: a name beside it can be pointed at as well, and all of them follow each other.

import { readScale } from "./theme.js";
import { buttonRow, saveButton } from "./token_map_buttons.js";
import { TokenMap, sameCell } from "./token_map_view.js";
import { fillPair, toldOf } from "./head_pair_words.js";

const WEIGHTS = ["a", "b", "signed"];
const SIGNED = 2;
const LAST_STEP = 254; // of the signed scale: an even number has a middle, which is exactly 0

export class PairMap extends TokenMap {
  constructor(parent, pair, which) {
    super(parent);
    this.pair = pair;
    this.which = which;
  }

  buttonsIn(bar) {
    return buttonRow(bar, [saveButton(this)], this.stop.signal);
  }

  get isSigned() {
    return this.which === SIGNED;
  }

  readModel(header, arrays) {
    const { rows, cols, query, keys, titles, first } = header;
    const weights = arrays[WEIGHTS[this.which]];
    this.reach = this.isSigned ? header.reach : 1;
    const open = this.openOf(arrays);
    const steps = Uint8ClampedArray.from(weights, (weight, at) => (open && !open[at] ? 0 : this.stepOf(weight)));
    this.arrays = arrays;
    this.viewport.pinned = { key: Array.from({ length: cols - rows }, (_, at) => rows + at) };
    return { rows, cols, labels: { query, key: keys }, first, title: titles[this.which], note: "", weights, open, steps };
  }

  /** 1 where the head may look; of the difference, where one of them may. Null if that is everywhere. */
  openOf({ open_a: a, open_b: b }) {
    const open = [a, b, a.map((may, at) => may || b[at])][this.which];
    return open.every(Boolean) ? null : open;
  }

  stepOf(weight) {
    return this.isSigned ? (LAST_STEP / 2) * (1 + weight / this.reach) : weight * 255;
  }

  scaleOf(theme) {
    return this.isSigned ? readScale(theme.difference, LAST_STEP) : readScale(theme.weights);
  }

  get legend() {
    if (!this.isSigned) return { stops: this.theme.weights, name: "weight", ticks: [[0, "0"], [0.5, "0.5"], [1, "1"]] };
    const reach = String(Number(this.reach.toPrecision(2)));
    return { stops: this.theme.difference, name: "B − A", ticks: [[0, `−${reach}`], [0.5, "0"], [1, reach]] };
  }

  /** A cell, or the row or column whose name is pointed at. */
  pointed({ x, y }) {
    const { plot, height } = this.layout;
    const inside = this.viewport.cellAt(x, y);
    if (inside) return inside;
    const row = this.viewport.cellAt(plot.left, y)?.row ?? null;
    if (row !== null && x > 0 && x < plot.left) return { row, col: null };
    const col = this.viewport.cellAt(x, plot.top)?.col ?? null;
    return col !== null && y > plot.top && y < height ? { row: null, col } : null;
  }

  moveFocus(key, times) {
    const { lit } = this;
    if (lit && !this.litCell) this.focused = { row: lit.row ?? 0, col: lit.col ?? 0 };
    super.moveFocus(key, times);
  }

  light(change) {
    const isHover = Object.keys(change).every((name) => name === "hovered");
    const isSame = this.locked || this.focused || (this.pair.used === this && sameCell(change.hovered, this.hovered));
    if (!isHover || !isSame) this.pair.light(this, change);
  }

  /** Be lit without telling the others. */
  lightAlone(change) {
    Object.assign(this, change);
    if (!this.layout) return;
    this.stage.schedule();
    this.told();
  }

  moved() {
    this.pair.light(this, { hovered: null });
  }

  showPart({ zoom, x, y }) {
    this.viewport.set(zoom, x, y);
  }

  get isScrolledPast() {
    return true;
  }

  /** The pair's buttons say it. */
  tellZoom() {}

  get hasCard() {
    return this.pair?.used === this;
  }

  /** Said once, by the map that was used. */
  sentence(lit) {
    return this.hasCard ? toldOf(this.model, this.arrays, lit) : "";
  }

  fill(card, cell) {
    fillPair(card, this.model, this.arrays, cell);
  }
}
