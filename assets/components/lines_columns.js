// The picture with lines: queries left, keys right, as many rows as fit, whatever the length of the text.

import { withAlpha } from "./theme.js";
import { CHIP_HEIGHT, TINT } from "./lines_chips.js";
import { SPECIAL, otherSide } from "./lines_model.js";
import { fourDigits, headLetter } from "./element.js";

const ROW = 26;
const TOP = 28;
const MARGIN = 66; // room for a weight beside a chip
const WIDEST = 800;
const BADGES = 3; // lines of each head that carry its letter while nothing is touched

export class Columns {
  constructor(view) {
    this.view = view;
    this.base = document.createElement("canvas");
    this.baseOf = "";
  }

  reset() {
    this.baseOf = "";
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
    return { contentWidth: this.width, contentHeight: TOP + rows * ROW + 6 };
  }

  rowY(row) {
    return TOP + row * ROW + ROW / 2;
  }

  yOf(side, index) {
    return this.rowY(this.view.model.rowOf[side][index]) - this.view.stage.top;
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
    context.drawImage(this.base, 0, 0, stage.width, stage.height);
    context.globalAlpha = 1;
    const ends = lit ? this.paintLit(context, lit) : new Map();
    for (const side of ["query", "key"]) this.paintColumn(context, side, ends);
    this.paintHeadings(context);
  }

  /** All lines, kept until the picture scrolls or changes, so that hovering repaints none of them. */
  paintBase() {
    const { model, stage, muted, theme } = this.view;
    const wanted = `${stage.top}|${[...muted].join()}|${stage.canvas.width}x${stage.canvas.height}|${theme.id}`;
    if (this.baseOf === wanted) return;
    this.baseOf = wanted;
    this.base.width = stage.canvas.width;
    this.base.height = stage.canvas.height;
    const context = this.base.getContext("2d");
    context.setTransform(stage.ratio, 0, 0, stage.ratio, 0, 0);
    const inside = (y) => y > TOP - ROW && y < stage.height + ROW / 2;
    const badges = new Map();
    const rest = model.heads.length > 1 ? 0.04 : 0.1;
    for (let link = model.drawn - 1; link >= 0; link -= 1) {
      if (muted.has(model.head[link])) continue;
      if (model.rowOf.query[model.query[link]] < 0 || model.rowOf.key[model.key[link]] < 0) continue;
      const [from, to] = [this.yOf("query", model.query[link]), this.yOf("key", model.key[link])];
      if (!inside(from) && !inside(to)) continue;
      this.line(context, link, rest + (0.9 - rest) * model.weight[link]);
      if (model.heads.length > 1) {
        const list = badges.get(model.head[link]) ?? [];
        badges.set(model.head[link], [...list.slice(-BADGES + 1), { from, to }]);
      }
    }
    for (const [head, ends] of badges) ends.forEach((end) => this.badge(context, head, end));
  }

  line(context, link, alpha) {
    const { model } = this.view;
    const [x0, x1] = [this.edge.query + 4, this.edge.key - 4];
    const [y0, y1] = [this.yOf("query", model.query[link]), this.yOf("key", model.key[link])];
    const bend = (x1 - x0) * 0.42;
    context.globalAlpha = alpha;
    context.strokeStyle = this.ink(context, model.head[link]);
    context.lineWidth = 0.7 + 3.3 * model.weight[link];
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    context.stroke();
    context.globalAlpha = 1;
  }

  /** One head: from the queries' blue to the keys' orange. Several: the head's own colour. */
  ink(context, head) {
    const { model, theme } = this.view;
    if (model.heads.length > 1) return theme.heads[head];
    const ink = context.createLinearGradient(this.edge.query, 0, this.edge.key, 0);
    ink.addColorStop(0.12, theme.query);
    ink.addColorStop(0.88, theme.key);
    return ink;
  }

  /** A head's letter on a line; each head has its own place along the lines, so that letters seldom meet. */
  badge(context, head, { from, to }) {
    const { model, theme } = this.view;
    const t = 0.24 + (0.52 * (head + 0.5)) / model.heads.length;
    const [x0, x1] = [this.edge.query + 4, this.edge.key - 4];
    const bend = (x1 - x0) * 0.42;
    const [a, b, c, d] = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3];
    const x = a * x0 + b * (x0 + bend) + c * (x1 - bend) + d * x1;
    const y = (a + b) * from + (c + d) * to;
    context.beginPath();
    context.arc(x, y, 7.5, 0, 2 * Math.PI);
    context.fillStyle = theme.background;
    context.fill();
    context.strokeStyle = theme.heads[head];
    context.lineWidth = 1;
    context.stroke();
    context.font = `600 10px ${theme.mono}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = theme.heads[head];
    context.fillText(headLetter(head), x, y + 0.5);
  }

  /** Lines of the touched token; returns the strongest link at each token of the other side. */
  paintLit(context, { side, index }) {
    const { model, muted } = this.view;
    const ends = new Map();
    for (const link of model.linksOf(side, index, muted).reverse()) {
      if (model.weight[link] < model.threshold) continue;
      this.line(context, link, 0.45 + 0.55 * model.weight[link]);
      ends.set(model.endOf(link, side), link);
    }
    return ends;
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
