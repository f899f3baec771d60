// Pointing at a unit in one picture of two heads lights it in all of them. See tfmviz/components/unit_hover.py.

import { element, fourDigits } from "./element.js";
import { mount } from "./mount.js";
import { dress, readTheme } from "./theme.js";
import { cellAt, keyOf, onPress, placeAt, plotOf } from "./plot_cells.js";

const IDLE = "Point at a cell or at a name: the same pair lights up in every map. A click keeps it, Escape lets it go.";
const LIES_ON_THE_MAP = "position:absolute;pointer-events:none;box-sizing:border-box;";

class UnitHover {
  constructor(parentElement) {
    this.host = parentElement.host ?? parentElement;
    this.line = element("p", { className: "told", parent: parentElement, attributes: { "aria-live": "polite" } });
    this.marks = new Map(); // by widget key: the layer over a picture, and what lies on it
    this.lit = null;
    this.locked = null;
    this.next = null;
    this.stop = new AbortController();
    const on = (name, listener) => document.addEventListener(name, listener, { signal: this.stop.signal });
    on("pointermove", (event) => this.soon(event));
    on("keydown", (event) => event.key === "Escape" && this.locked && this.lock(null));
    onPress(this.stop.signal, (event) => this.press(event));
  }

  update({ data }) {
    this.data = data;
    this.theme = readTheme(this.host, data.colours);
    dress(this.line, this.theme);
    const fits = ({ row, col }) => row < data.queries.length && col < data.keys.length;
    if (this.locked && !fits(this.locked)) this.locked = null;
    this.show(this.locked);
  }

  /** The pointer moves more often than the screen is drawn. */
  soon(event) {
    if (!this.next) requestAnimationFrame(() => this.follow());
    this.next = event;
  }

  follow() {
    const event = this.next;
    this.next = null;
    if (this.stop.signal.aborted) return;
    if (this.locked) return this.isDrawn() ? undefined : this.show(this.locked);
    const unit = this.unitAt(event);
    if (unit?.row === this.lit?.row && unit?.col === this.lit?.col) return;
    const start = performance.now();
    this.show(unit);
    performance.clearMeasures("tfmviz:unit_hover");
    performance.measure("tfmviz:unit_hover", { start });
  }

  press(event) {
    const unit = this.unitAt(event);
    if (!unit) return;
    const again = this.locked && unit.row === this.locked.row && unit.col === this.locked.col;
    this.lock(again ? null : unit);
  }

  lock(unit) {
    this.locked = unit;
    this.show(unit);
  }

  unitAt(event) {
    const { maps, text } = this.data;
    const key = keyOf(event, [...maps, text]);
    if (!key) return null;
    return key === text ? wordAt(plotOf(key), event) : cellAt(plotOf(key), event);
  }

  show(unit) {
    this.lit = unit;
    for (const key of this.data.maps) this.markMap(key, unit);
    this.markText(unit);
    this.line.textContent = unit ? this.told(unit) : IDLE;
  }

  /** Whether the marks are still on the maps, which Streamlit draws anew for another head. */
  isDrawn() {
    return this.data.maps.every((key) => this.marks.get(key)?.cell.isConnected);
  }

  /** A band for the query, one for the key, and a frame where they cross. */
  markMap(key, unit) {
    const plot = plotOf(key);
    const axes = plot?._fullLayout;
    if (!axes?.xaxis?._length) return;
    const marks = this.marksOn(key, plot, ["row", "col", "cell"]);
    const across = unit && unit.col !== null ? span(axes.xaxis, unit.col) : null;
    const down = unit && unit.row !== null ? span(axes.yaxis, unit.row) : null;
    place(marks.row, down && { left: axes.xaxis._offset, width: axes.xaxis._length, top: down.at, height: down.size });
    place(marks.col, across && { left: across.at, width: across.size, top: axes.yaxis._offset, height: axes.yaxis._length });
    place(marks.cell, across && down && { left: across.at, width: across.size, top: down.at, height: down.size });
  }

  markText(unit) {
    const plot = plotOf(this.data.text);
    const bars = plot?._fullData?.[0];
    if (!bars?.width) return;
    const { xaxis, yaxis } = plot._fullLayout;
    const { row } = this.marksOn(this.data.text, plot, ["row"]);
    if (!unit || unit.row === null || unit.row >= bars.x.length) return place(row, null);
    const [x, width, base] = [bars.x, bars.width, bars.base].map((values) => values[unit.row]);
    const left = xaxis._offset + xaxis.d2p(x - width / 2 - 0.2);
    const top = yaxis._offset + yaxis.d2p(base + 0.48);
    const [right, bottom] = [xaxis._offset + xaxis.d2p(x + width / 2 + 0.2), yaxis._offset + yaxis.d2p(base - 0.46)];
    place(row, { left, width: right - left, top, height: bottom - top });
  }

  /** The marks over a picture, made anew where Streamlit has drawn it anew. */
  marksOn(key, plot, names) {
    const layer = plot.querySelector(".svg-container") ?? plot;
    const old = this.marks.get(key);
    if (old?.layer === layer && old.row.isConnected) return old;
    const { query_ink: query, key_ink: keyInk, text, background } = this.theme;
    const looks = {
      row: `border:1.5px solid ${query};border-radius:2px;`,
      col: `border:1.5px solid ${keyInk};border-radius:2px;`,
      cell: `border:2px solid ${text};box-shadow:0 0 0 1px ${background};`,
    };
    const made = { layer };
    for (const name of names) {
      made[name] = element("div", { parent: layer, attributes: { "data-lit": name, "aria-hidden": "true" } });
      made[name].style.cssText = `${LIES_ON_THE_MAP}display:none;${looks[name]}`;
    }
    for (const name of names) old?.[name]?.remove();
    this.marks.set(key, made);
    return made;
  }

  told({ row, col }) {
    const { queries, keys, maps, names } = this.data;
    if (col === null) return `Query ${queries[row]}.`;
    if (row === null) return `Key ${keys[col]}.`;
    const numbers = maps.map((key, at) => `${names[at]} ${weightAt(key, row, col)}`);
    return `Query ${queries[row]}, key ${keys[col]}: ${numbers.join(", ")}.`;
  }

  destroy() {
    this.stop.abort();
    for (const { layer, ...marks } of this.marks.values()) for (const mark of Object.values(marks)) mark.remove();
    this.line.remove();
  }
}

function weightAt(key, row, col) {
  const weight = plotOf(key)?.calcdata?.[0]?.[0]?.z?.[row]?.[col];
  if (!Number.isFinite(weight)) return "none";
  return fourDigits(Math.abs(weight) < 5e-5 ? 0 : weight).replace("-", "−");
}

/** Where a cell's side begins in the picture, and how long it is; cut off at the axis' ends, for one may have zoomed. */
function span(axis, at) {
  const ends = [at - 0.5, at + 0.5].map((end) => Math.min(Math.max(axis.d2p(end), 0), axis._length));
  const [from, to] = ends[0] < ends[1] ? ends : [ends[1], ends[0]];
  return to > from ? { at: axis._offset + from, size: to - from } : null;
}

function wordAt(plot, event) {
  const bars = plot?._fullData?.[0];
  if (!bars?.width) return null;
  const { x, y } = placeAt(plot, event);
  for (let row = 0; row < bars.x.length; row += 1) {
    const besides = Math.abs(x - bars.x[row]) > bars.width[row] / 2 + 0.5;
    if (!besides && y < bars.base[row] + 0.5 && y > bars.base[row] - 0.5) return { row, col: null };
  }
  return null;
}

function place(mark, box) {
  mark.style.display = box ? "" : "none";
  if (!box) return;
  for (const [side, size] of Object.entries(box)) mark.style[side] = `${size}px`;
}

export default function unitHover(component) {
  return mount(UnitHover, component);
}
