// A map that people look at closely: zoom, pan, keys, a card for the lit cell, a picture to save.

import { counted, element } from "./element.js";
import { readArrays, readHeader } from "./payload.js";
import { dress, readScale, readTheme, whenFontsCome } from "./theme.js";
import { Stage } from "./stage.js";
import { Tooltip } from "./tooltip.js";
import { TextFitter } from "./fit_text.js";
import { Viewport, mapLayout } from "./token_map_layout.js";
import { readMap } from "./token_map_model.js";
import { paintCells } from "./token_map_cells.js";
import { MapPainter, labelFont, wrapped } from "./token_map_paint.js";
import { Gestures } from "./token_map_gestures.js";
import { ZOOM_STEP, buttonRow, enableZoom, saveButton, zoomButtons } from "./token_map_buttons.js";
import { cellSentence, fillCell } from "./token_map_words.js";

const LONGEST_LABEL = 112; // pixels: sixteen letters
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0] };
const QUARTERS = [0, 0.25, 0.5, 0.75, 1];
const HALVES = [0, 0.5, 1];
/** What an axis is called, and the theme's colours of its names and of its lit line. */
const AXES = {
  query: { title: "Query: looking", ink: "query_ink", line: "query" },
  key: { title: "Key: looked at", ink: "key_ink", line: "key" },
};

/**
 * One head's weights, all of them at hand. What is another map says where it differs: one that has only some of its
 * cells (long_map_view.js), one of several that belong together (head_pair_map.js), one of heads (head_matrix.js).
 */
export class TokenMap {
  constructor(parentElement) {
    this.host = parentElement.host ?? parentElement;
    this.root = element("div", { className: "tfmviz map" });
    parentElement.append(this.root);
    this.fitter = new TextFitter();
    this.painter = new MapPainter(this.fitter, this.paintCells);
    this.viewport = this.viewportFor();
    this.hovered = null;
    this.locked = null;
    this.focused = null;
    this.stop = new AbortController();
    this.build();
  }

  build() {
    this.bar = element("div", { className: "bar", parent: this.root });
    this.buttons = this.buttonsIn(this.bar);
    this.field = element("div", {
      className: "field",
      parent: this.root,
      attributes: { role: "application", tabindex: "0", "aria-roledescription": "map" },
    });
    this.stage = new Stage(this.field, { onResize: (width) => this.layOut(width), onPaint: (c) => this.paint(c) });
    this.box = element("div", { className: "box", parent: this.field, attributes: { "aria-hidden": "true" } });
    this.box.hidden = true;
    this.live = element("div", { className: "unseen", parent: this.root, attributes: { "aria-live": "polite" } });
    this.tooltip = new Tooltip(this.root);
    this.gestures = new Gestures(this.field, this, this.stop.signal);
    const on = (name, listener) => this.field.addEventListener(name, listener, { signal: this.stop.signal });
    on("keydown", (event) => this.press(event));
    on("blur", () => this.light({ focused: null }));
    // A click on the atlas brings the head's map ahead of the page.
    const isMine = ({ key, kind }) => key === this.key && kind === this.kind;
    document.addEventListener("tfmviz:head", ({ detail }) => isMine(detail) && this.update(detail), {
      signal: this.stop.signal,
    });
    window.addEventListener("scroll", () => this.tooltip.hide(), { signal: this.stop.signal, capture: true, passive: true });
  }

  viewportFor() {
    return new Viewport();
  }

  buttonsIn(bar) {
    return buttonRow(bar, [...zoomButtons(this), saveButton(this)], this.stop.signal);
  }

  /** Whether the picture is filled by cells that are not square. */
  get fills() {
    return false;
  }

  /** What the header of a message for this view says of itself. */
  get kind() {
    return "cells";
  }

  get paintCells() {
    return paintCells;
  }

  /** The cell that is read out: where keys stand, else the kept one, else the one under the pointer. */
  get lit() {
    const cell = this.focused ?? this.locked ?? this.hovered;
    return cell && this.extent(cell);
  }

  /** The lit cell; null where all that is lit is a row or a column. */
  get litCell() {
    const { lit } = this;
    return lit && lit.row !== null && lit.col !== null ? lit : null;
  }

  /** What is lit where a cell is pointed at: that cell. */
  extent(cell) {
    return { ...cell, rows: 1, cols: 1 };
  }

  /** Take what Python sent. The same version changes nothing; another theme repaints. */
  update({ data }) {
    const header = readHeader(data);
    this.show(header, () => readArrays(data, header));
  }

  /** Draw a message; `arrays` reads its numbers, which a version that is on the screen does not need. */
  show(header, arrays) {
    const start = performance.now();
    const theme = readTheme(this.host, header.colours);
    const news = header.version !== this.version;
    if (!news && theme.id === this.theme?.id) return;
    const dressed = theme.id !== this.theme?.id;
    this.theme = theme;
    dress(this.root, theme);
    if (news) this.read(header, arrays());
    this.scale = this.scaleOf(theme);
    if (dressed) this.fitter.reset();
    this.painter.reset();
    this.layOut(this.stage.available);
    if (news) performance.measure("tfmviz:token_map", { start });
    if (dressed) whenFontsCome(theme, () => this.remeasure());
  }

  read(header, arrays) {
    const before = this.model;
    this.version = header.version;
    this.key = header.key;
    this.maxHeight = header.max_height;
    this.model = this.readModel(header, arrays);
    // Another head of the same text is compared where one is looking; another text starts as a whole.
    if (!before || !sameLabels(before.labels, this.model.labels)) {
      this.viewport.reset();
      this.hovered = this.locked = this.focused = null;
    }
    this.name = `1x1x${this.model.cols}`;
    this.field.setAttribute("aria-label", `${this.description} Arrow keys move, plus and minus zoom, 0 shows everything.`);
    this.buttons.PNG.setAttribute("aria-label", `PNG of ${this.model.title}`);
  }

  /** What the picture is, and what keys do on its cells. */
  get description() {
    const { title, rows, cols } = this.model;
    return `Attention of ${title}: ${counted(rows, "query", "queries")} down, ${counted(cols, "key", "keys")} across. Enter keeps a cell, Escape frees it.`;
  }

  get axes() {
    return AXES;
  }

  readModel(header, arrays) {
    return readMap(header, arrays);
  }

  scaleOf(theme) {
    return readScale(theme.weights);
  }

  /** What the scale above the map says: its colours, its name, and where (0 to 1) it has which numbers. */
  get legend() {
    const { scaled } = this.model;
    const ticks = (scaled ? HALVES : QUARTERS).map((tick) => [tick, String(tick)]);
    return { stops: this.theme.weights, name: scaled ? "weight / row's largest" : "weight", ticks };
  }

  /** Pixels above the map, beside title, legend and scale, for lines of a note. */
  noteRoom(context, width) {
    context.font = `400 13px ${this.theme.font}`;
    this.noteLines = wrapped(context, this.model.note, width - 8);
    this.noteTop = Math.max(35, this.bar.offsetHeight + 8);
    return this.noteLines.length && this.noteTop - 35 + (this.noteLines.length - 1) * 17;
  }

  remeasure() {
    this.fitter.reset();
    if (this.stage.observed) this.layOut(this.stage.observed);
  }

  layOut(width) {
    if (!this.model || !width) return;
    const { model, theme } = this;
    const { context } = this.stage;
    this.most = { query: Math.min(LONGEST_LABEL, Math.round(width * 0.2)), key: LONGEST_LABEL };
    context.font = labelFont(theme, false);
    const widest = (side) => {
      const widths = model.labels[side].map((text) => this.fitter.fit(context, text, this.most[side]).width);
      return Math.ceil(widths.reduce((largest, next) => Math.max(largest, next), 8));
    };
    this.titleRoom = width - this.bar.offsetWidth - 16;
    this.layout = mapLayout({
      rows: model.rows,
      cols: model.cols,
      width,
      maxHeight: this.maxHeight,
      widest: { query: widest("query"), key: widest("key") },
      noteRoom: this.noteRoom(context, width),
      ratio: window.devicePixelRatio || 1,
      fills: this.fills,
    });
    this.viewport.fit(this.layout);
    const { left, top, width: wide, height: high } = this.layout.plot;
    this.field.dataset.plot = [left, top, wide, high].join(" "); // a canvas has no parts that others could point at
    this.painter.cellsOf = "";
    const { height } = this.layout;
    this.stage.resize({ contentWidth: width, contentHeight: height, viewHeight: height });
    this.told();
  }

  paint(context) {
    if (!this.layout) return;
    this.painter.paint(context, this.picture(this.stage.ratio, this.lit));
    if (this.host.dataset.version !== this.version) {
      this.host.dataset.ready = this.name;
      this.host.dataset.version = this.version;
    }
  }

  /** All that a painter needs. */
  picture(ratio, lit) {
    const { model, theme, scale, legend, axes, layout, viewport, most, noteLines, noteTop, titleRoom } = this;
    return { model, theme, scale, legend, axes, layout, viewport, most, noteLines, noteTop, titleRoom, ratio, lit };
  }

  /** What the strip above a saved map has in place of the buttons. */
  savedStrip() {
    return { titleRoom: this.layout.width };
  }

  isPlot({ x, y }) {
    return Boolean(this.layout && this.viewport.cellAt(x, y));
  }

  /** What a place of the picture points at. */
  pointed({ x, y }) {
    return this.viewport.cellAt(x, y);
  }

  hoverAt(place) {
    this.light({ hovered: place && this.layout ? this.pointed(place) : null });
  }

  /** A click keeps a cell; a second one, or one beside the map, frees it. */
  tapAt(place, touch) {
    if (!this.layout) return;
    const cell = this.pointed(place);
    const locked = cell && !sameCell(cell, this.locked) ? cell : null;
    this.light({ locked, focused: null, ...(touch && { hovered: null }) });
  }

  panBy(dx, dy) {
    this.viewport.pan(dx, dy);
    this.moved();
  }

  zoomAround(factor, { x, y }) {
    const { left, top } = this.layout.plot;
    this.viewport.zoomAt(factor, x - left, y - top);
    this.moved();
  }

  zoomBox(box) {
    const { left, top } = this.layout.plot;
    this.viewport.zoomTo({ ...box, x: box.x - left, y: box.y - top });
    this.moved();
  }

  /** Zoom by a key or a button: around the lit cell where there is one. */
  zoomStep(factor) {
    const { plot } = this.layout;
    const cell = this.litCell;
    const box = cell && this.viewport.box(cell);
    const at = box ? { x: box.x + box.width / 2 - plot.left, y: box.y + box.height / 2 - plot.top } : null;
    this.viewport.zoomAt(factor, at?.x ?? plot.width / 2, at?.y ?? plot.height / 2);
    if (cell) this.viewport.reveal(cell);
    this.moved();
  }

  /** Whether the wheel scrolls past a map that nobody clicked on: where maps fill a page's width it must. */
  get isScrolledPast() {
    return false;
  }

  /** Whether this turn of the wheel is for the map: not where it can go no further, but for Ctrl, which zooms the page. */
  zoomsByWheel({ deltaY, ctrlKey }) {
    const { zoom, most } = this.viewport;
    if (ctrlKey) return true;
    if (this.isScrolledPast && !this.field.matches(":focus")) return false;
    return deltaY > 0 ? zoom > 1 : zoom < most;
  }

  doubleTap() {
    this.zoomReset();
  }

  zoomReset() {
    this.viewport.reset();
    this.moved();
  }

  moved() {
    this.hovered = null;
    this.stage.schedule();
    this.told();
  }

  showBox(box) {
    this.box.hidden = !box;
    if (!box) return;
    const { left, top, width, height } = this.layout.plot;
    const [x, y] = [Math.max(left, box.x), Math.max(top, box.y)];
    const right = Math.min(left + width, box.x + box.width);
    const bottom = Math.min(top + height, box.y + box.height);
    Object.assign(this.box.style, { left: `${x}px`, top: `${y}px`, width: `${right - x}px`, height: `${bottom - y}px` });
    this.tooltip.hide();
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.layout) return;
    const { key } = event;
    if (MOVES[key] || key === "Home" || key === "End") this.moveFocus(key, event.shiftKey ? 10 : 1);
    else if (key === "+" || key === "=") this.zoomStep(ZOOM_STEP);
    else if (key === "-") this.zoomStep(1 / ZOOM_STEP);
    else if (key === "0") this.zoomReset();
    else if ((key === "Enter" || key === " ") && this.lit) this.light({ locked: this.lit });
    else if (key === "Escape" && (this.focused || this.locked)) this.light({ focused: null, locked: null });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  moveFocus(key, times) {
    const { rows, cols } = this.model;
    const from = this.lit;
    const start = { row: Math.floor(this.viewport.y), col: Math.floor(this.viewport.x) };
    let { row, col } = from ?? start;
    if (key === "Home") col = 0;
    else if (key === "End") col = cols - 1;
    else if (from) {
      row = Math.min(rows - 1, Math.max(0, row + MOVES[key][0] * times * from.rows));
      col = Math.min(cols - 1, Math.max(0, col + MOVES[key][1] * times * from.cols));
    }
    this.viewport.reveal({ row, col });
    this.light({ focused: { row, col } });
  }

  /** Change which cell is hovered, kept or under the keys. */
  light(change) {
    const before = this.lit;
    Object.assign(this, change);
    if ("hovered" in change && !("locked" in change) && sameCell(before, this.lit)) return;
    this.stage.schedule();
    this.told();
  }

  /** Bring the card, the words for screen readers and the buttons up to date. */
  told() {
    const { viewport, layout } = this;
    this.field.classList.toggle("zoomed", viewport.zoom > 1);
    this.tellZoom();
    const kept = this.focused ?? this.locked;
    const words = kept ? this.sentence(this.lit) : "";
    if (this.live.textContent !== words) this.live.textContent = words;
    const lit = this.hasCard ? this.litCell : null;
    if (!lit) {
      this.tooltip.hide();
      return;
    }
    const { x, y, width, height } = viewport.box(lit);
    const { plot } = layout;
    if (x + width < plot.left || y + height < plot.top || x > plot.left + plot.width || y > plot.top + plot.height) {
      this.tooltip.hide();
      return;
    }
    this.fill(this.tooltip.card, lit);
    const corner = this.stage.canvas.getBoundingClientRect();
    const [left, top] = [corner.left + x, corner.top + y];
    this.tooltip.show({ left, top, right: left + width, bottom: top + height });
  }

  tellZoom() {
    enableZoom(this.buttons, this.viewport);
  }

  /** Whether a lit cell has its card beside this map. */
  get hasCard() {
    return true;
  }

  sentence(cell) {
    return cellSentence(this.model, cell);
  }

  fill(card, cell) {
    fillCell(card, this.model, cell);
  }

  destroy() {
    this.stop.abort();
    this.stage.destroy();
    this.root.remove();
  }
}

export function sameLabels(a, b) {
  const same = (some, others) => some === others || (some.length === others.length && some.every((text, i) => text === others[i]));
  return same(a.query, b.query) && same(a.key, b.key);
}

export function sameCell(a, b) {
  return a === b || Boolean(a && b && a.row === b.row && a.col === b.col);
}
