// The map of a text of thousands of tokens: seen whole in blocks, exact where one zooms in.

import { element } from "./element.js";
import { TokenMap, sameLabels } from "./token_map_view.js";
import { STRIP } from "./token_map_layout.js";
import { wrapped } from "./token_map_paint.js";
import { LongModel } from "./long_map_model.js";
import { isExact, paintLongCells } from "./long_map_cells.js";
import { Tiles } from "./long_map_tiles.js";
import { Minimap } from "./long_map_minimap.js";
import { GoTo } from "./long_map_goto.js";
import { fillLong, longSentence, stateSentence } from "./long_map_words.js";

const FOUND_CELL = 18; // pixels of a cell that was gone to: its neighbours' names have room

export class LongMap extends TokenMap {
  get kind() {
    return "blocks";
  }

  get paintCells() {
    return paintLongCells;
  }

  build() {
    super.build();
    this.tools = element("div", { className: "tools", parent: this.root });
    const words = element("div", { className: "tools-words", parent: this.tools });
    this.state = element("div", { className: "map-state", parent: words });
    this.hidden = element("div", { className: "map-note", parent: words });
    this.goto = new GoTo(words, (place) => this.goTo(place), this.stop.signal);
    this.minimap = new Minimap(this.tools, this, this.stop.signal);
    this.tiles = new Tiles(() => this.cellsCame());
  }

  readModel(header, arrays) {
    const model = new LongModel(header, arrays);
    // Another head of one text has the same tokens: what was looked for among them stays.
    if (this.model && sameLabels(this.model.labels, model.labels)) model.labels = this.model.labels;
    this.tiles.use(model);
    this.goto.use(model);
    this.hidden.textContent = model.note;
    return model;
  }

  noteRoom(context, width) {
    this.noteLines = [];
    this.noteTop = 35;
    this.minimap.draw();
    this.tools.style.top = `${this.bar.offsetHeight + 6}px`;
    this.tools.style.width = `${width}px`;
    return Math.max(0, this.bar.offsetHeight + 6 + this.tools.offsetHeight + 44 - STRIP);
  }

  savedStrip(context) {
    context.font = `400 13px ${this.theme.font}`;
    const words = [this.state.textContent, this.model.note].join(" ").trim();
    return { titleRoom: this.layout.width, noteLines: wrapped(context, words, this.layout.width - 8), noteTop: 35 };
  }

  extent(cell) {
    const { row, col, rows, cols } = this.model.at(cell);
    return { row, col, rows, cols };
  }

  /** Whatever moved the map has moved it by now: fetch what lacks, and say what shows. */
  told() {
    super.told();
    this.minimap.place();
    const exact = isExact(this.picture(this.stage.ratio, null));
    this.tiles.want(exact ? this.viewport.shown : null);
    const words = stateSentence(this.model, { exact, missing: this.tiles.missing, failed: this.tiles.failed });
    if (this.state.textContent !== words) this.state.textContent = words;
    this.root.dataset.exact = String(exact && !this.tiles.missing);
  }

  cellsCame() {
    this.painter.reset();
    this.stage.schedule();
    this.told();
  }

  /** Bring a place of the map, in rows and columns, to the middle. */
  centre(row, col) {
    const { zoom } = this.viewport;
    this.viewport.set(zoom, col - this.model.cols / zoom / 2, row - this.model.rows / zoom / 2);
    this.moved();
  }

  /** Show a token where it looks and where it is looked at; of two texts, the row or the column of the one. */
  goTo({ side, index }) {
    const from = this.lit ?? { row: Math.floor(this.viewport.y), col: Math.floor(this.viewport.x) };
    const cell = { row: side === "key" ? from.row : index, col: side === "query" ? from.col : index };
    this.viewport.goTo(cell, FOUND_CELL);
    this.moved();
    this.light({ locked: cell, focused: null });
  }

  sentence(cell) {
    return longSentence(this.model, cell);
  }

  fill(card, cell) {
    fillLong(card, this.model, cell);
  }

  destroy() {
    this.tiles.destroy();
    super.destroy();
  }
}
