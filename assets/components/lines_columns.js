// The picture with lines: queries left, keys right, as many rows as fit, whatever the length of the text.

import { withAlpha } from "./theme.js";
import { CHIP_HEIGHT, TINT } from "./lines_chips.js";
import { Strokes } from "./lines_strokes.js";
import { SPECIAL, otherSide } from "./lines_model.js";
import { fourDigits, headLetter } from "./element.js";

const ROW = 26;
const TOP = 28;
const MARGIN = 66; // room for a weight beside a chip
const WIDEST = 800;

export class Columns {
  constructor(view) {
    this.view = view;
    this.strokes = new Strokes(this, ROW);
    this.base = document.createElement("canvas");
    this.baseTop = 0;
    this.reset();
  }

  reset() {
    this.baseOf = "";
    this.strokes.reset();
  }

  /** Sizes for a width; returns what the stage needs. */
  layOut(width) {
    const { model, chips, theme, stage } = this.view;
    this.width = Math.min(width, WIDEST);
    const most = Math.round(Math.min(170, Math.max(64, this.width * 0.22)));
    const widest = (side) => {
      const { text, flags } = model.tokens[side];
      const widths = model.shown[side].map(
        (index) => chips.fit(stage.context, theme, text[index], flags[index] & SPECIAL, most).width,
      );
      return widths.reduce((largest, next) => Math.max(largest, next), 40);
    };
    this.most = most;
    this.edge = { query: MARGIN + widest("query"), key: this.width - MARGIN - widest("key") };
    const rows = Math.max(model.shown.query.length, model.shown.key.length);
    this.reset();
    this.contentHeight = TOP + rows * ROW + 6;
    return { contentWidth: this.width, contentHeight: this.contentHeight };
  }

  rowY(row) {
    return TOP + row * ROW + ROW / 2;
  }

  /** The token under a point of the picture, if any. The gap between the columns belongs to none. */
  at(x, y) {
    const { model } = this.view;
    const side = x < this.edge.query + 8 ? "query" : x > this.edge.key - 8 ? "key" : null;
    const index = side && y > TOP ? model.shown[side][Math.floor((y - TOP) / ROW)] : undefined;
    return index === undefined ? null : { side, index };
  }

  /** Bring a token into sight. */
  reveal({ side, index }) {
    const y = this.rowY(this.view.model.rowOf[side][index]) - ROW / 2;
    this.view.stage.reveal({ x: 0, y, width: 1, height: ROW, marginTop: TOP });
  }

  /** Rows that show, as a first and a last number. */
  rows(side) {
    const { model, stage } = this.view;
    const first = Math.max(0, Math.floor((stage.top - TOP) / ROW));
    const last = Math.min(model.shown[side].length - 1, Math.floor((stage.top + stage.height - TOP) / ROW));
    return [first, last];
  }

  paint(context) {
    const { stage, theme, lit } = this.view;
    this.paintBase();
    context.fillStyle = theme.background;
    context.fillRect(0, 0, stage.width, stage.height);
    context.globalAlpha = lit ? 0.1 : 1;
    const from = Math.round((stage.top - this.baseTop) * stage.ratio);
    const { width, height } = stage.canvas;
    context.drawImage(this.base, 0, from, width, height, 0, 0, stage.width, stage.height);
    context.globalAlpha = 1;
    const { ends, undrawn } = lit ? this.paintLit(context, lit) : { ends: new Map(), undrawn: this.undrawn };
    for (const side of ["query", "key"]) this.paintColumn(context, side, ends);
    this.paintHeadings(context);
    if (undrawn) this.paintUndrawn(context, undrawn);
  }

  /** All lines of a strip three screens high, kept until the picture leaves it: neither hovering nor scrolling redraws. */
  paintBase() {
    const { model, stage, muted, theme } = this.view;
    const strip = Math.min(3 * stage.height, this.contentHeight);
    const wanted = `${[...muted].join()}|${strip}|${stage.width}|${stage.ratio}|${theme.id}`;
    const inside = stage.top >= this.baseTop && stage.top + stage.height <= this.baseTop + strip;
    if (this.baseOf === wanted && inside) return;
    this.baseOf = wanted;
    this.baseTop = Math.max(0, Math.min(stage.top - stage.height, this.contentHeight - strip));
    this.base.width = Math.round(stage.width * stage.ratio);
    this.base.height = Math.round(strip * stage.ratio);
    const context = this.base.getContext("2d");
    context.setTransform(stage.ratio, 0, 0, stage.ratio, 0, -this.baseTop * stage.ratio);
    const links = [];
    for (let link = 0; link < model.drawn; link += 1) {
      if (!muted.has(model.head[link]) && this.bothShown(link)) links.push(link);
    }
    const rest = model.heads.length > 1 ? 0.04 : 0.1;
    const alphaOf = (weight) => rest + (0.9 - rest) * weight;
    const { whole, undrawn } = this.strokes.lines(context, links, this.baseTop, strip, alphaOf);
    this.undrawn = undrawn;
    if (model.heads.length > 1) this.strokes.badges(context, whole);
  }

  bothShown(link) {
    const { model } = this.view;
    return model.rowOf.query[model.query[link]] >= 0 && model.rowOf.key[model.key[link]] >= 0;
  }

  /** Lines of the touched token; returns the strongest link at each token of the other side. */
  paintLit(context, { side, index }) {
    const { model, muted, stage } = this.view;
    const links = model.linksOf(side, index, muted).filter((link) => model.weight[link] >= model.threshold);
    context.save();
    context.translate(0, -stage.top);
    const { undrawn } = this.strokes.lines(context, links, stage.top, stage.height, (weight) => 0.45 + 0.55 * weight);
    context.restore();
    return { undrawn, ends: new Map(links.toReversed().map((link) => [model.endOf(link, side), link])) };
  }

  paintColumn(context, side, ends) {
    const { model, lit, chips, theme, stage } = this.view;
    const { text, flags } = model.tokens[side];
    const [first, last] = this.rows(side);
    const shown = model.shown[side];
    const fitted = (index) => chips.fit(context, theme, text[index], flags[index] & SPECIAL, this.most);
    for (let row = first; row <= last; row += 1) {
      const index = shown[row];
      const y = this.rowY(row) - stage.top;
      const chip = fitted(index);
      const x = side === "query" ? this.edge.query - chip.width : this.edge.key;
      const link = lit && side !== lit.side ? ends.get(index) : undefined;
      const heat = link === undefined ? 0 : model.weight[link];
      const state = this.stateOf(side, index, link);
      const above = row > 0 && model.joined(side, shown[row - 1], index);
      const below = row < shown.length - 1 && model.joined(side, index, shown[row + 1]);
      if (below) this.paintNeck(context, { side, chip, next: fitted(shown[row + 1]), y, state });
      const corners = joinedCorners(side, above, below);
      chips.draw(context, { theme, chip, flags: flags[index], role: side, x, y, state, heat, corners });
      const beside = side === "query" ? x - 8 : x + chip.width + 8;
      this.paintBeside(context, { side, index, link, x: beside, y, state });
    }
  }

  /** What joins two pieces of one word. */
  paintNeck(context, { side, chip, next, y, state }) {
    const { theme } = this.view;
    const width = Math.min(chip.width, next.width) - 1;
    context.fillStyle = withAlpha(theme[side], state === "dim" ? TINT / 2 : TINT);
    const left = side === "query" ? this.edge.query - width - 0.5 : this.edge.key + 0.5;
    context.fillRect(left, y + CHIP_HEIGHT / 2 - 0.5, width, ROW - CHIP_HEIGHT + 1);
  }

  stateOf(side, index, link) {
    const { model, lit } = this.view;
    if (!lit) return "rest";
    if (side === lit.side) return index === lit.index ? "lit" : "dim";
    if (link !== undefined) return "linked";
    return model.maskedFrom(lit, index) ? "masked" : "dim";
  }

  /** The weight beside a linked chip, the position beside every other. */
  paintBeside(context, { side, index, link, x, y, state }) {
    const { model, theme } = this.view;
    context.textAlign = side === "query" ? "right" : "left";
    context.textBaseline = "middle";
    const many = model.heads.length > 1;
    if (link !== undefined) {
      context.font = `600 11px ${theme.mono}`;
      context.fillStyle = many ? theme.heads[model.head[link]] : theme.text;
      const letter = many ? `${headLetter(model.head[link])} ` : "";
      context.fillText(letter + fourDigits(model.weight[link]), x, y + 1);
      return;
    }
    context.font = `400 10px ${theme.mono}`;
    context.fillStyle = withAlpha(theme.text, state === "lit" ? 1 : 0.5);
    context.fillText(state === "masked" ? "masked" : `${index}`, x, y + 1);
  }

  paintHeadings(context) {
    const { stage, theme } = this.view;
    context.fillStyle = withAlpha(theme.background, 0.94);
    context.fillRect(0, 0, stage.width, TOP - 4);
    context.font = `600 12px ${theme.font}`;
    context.textBaseline = "middle";
    for (const side of ["query", "key"]) {
      context.textAlign = side === "query" ? "right" : "left";
      context.fillStyle = theme[side];
      context.fillText(side === "query" ? "queries" : "keys", this.edge[side], 11);
    }
    context.textAlign = "center";
    context.font = `400 12px ${theme.font}`;
    context.fillStyle = theme.muted;
    context.fillText("look at →", (this.edge.query + this.edge.key) / 2, 11);
  }

  /** Says on the picture that lines out of sight are only the strongest. */
  paintUndrawn(context, count) {
    const { stage, theme } = this.view;
    const text = `${count} weaker lines out of sight`;
    context.font = `400 12px ${theme.font}`;
    context.textAlign = "center";
    const [x, y, width] = [(this.edge.query + this.edge.key) / 2, stage.height - 12, context.measureText(text).width + 14];
    context.fillStyle = withAlpha(theme.background, 0.9);
    context.fillRect(x - width / 2, y - 10, width, 20);
    context.fillStyle = theme.muted;
    context.fillText(text, x, y + 1);
  }

  /** Where an arrow key leads from a token. */
  step({ side, index }, key) {
    const { model } = this.view;
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const to = key === "ArrowLeft" ? "query" : "key";
      if (to === side) return { side, index };
      const row = Math.min(model.rowOf[side][index], model.shown[to].length - 1);
      return { side: otherSide(side), index: model.shown[to][row] };
    }
    const by = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[key];
    const shown = model.shown[side];
    return { side, index: shown[Math.min(shown.length - 1, Math.max(0, model.rowOf[side][index] + by))] };
  }
}

/** Radii of a chip in a column: square at the aligned edge where it meets a piece of the same word. */
function joinedCorners(side, above, below) {
  const [top, bottom] = [above ? 0 : 4, below ? 0 : 4];
  return side === "query" ? [4, top, bottom, 4] : [top, 4, 4, bottom];
}
