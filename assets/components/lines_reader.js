// The picture for narrow screens: the text as a flow of chips, shaded by what the touched token looks at.

import { SPECIAL, otherSide } from "./lines_model.js";

const LINE = 29;
const GAP = 4;
const HEADING = 24;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

export class Reader {
  constructor(view) {
    this.view = view;
  }

  reset() {}

  /** Place every chip; self-attention has one flow in which each token is both query and key. */
  layOut(width) {
    const { model } = this.view;
    this.width = width;
    this.places = [];
    this.headings = [];
    let y = 4;
    for (const side of model.selfAttention ? ["query"] : ["query", "key"]) {
      if (!model.selfAttention) {
        this.headings.push({ side, y: y + HEADING / 2 });
        y += HEADING;
      }
      y = this.flow(side, y) + GAP;
    }
    return { contentWidth: width, contentHeight: y + 4 };
  }

  flow(side, top) {
    const { model, chips, theme, stage } = this.view;
    const { text, flags } = model.tokens[side];
    const shown = model.shown[side];
    const mirrored = shown.filter((index) => RIGHT_TO_LEFT.test(text[index])).length * 2 > shown.length;
    let [x, y, before] = [0, top, false];
    shown.forEach((index, at) => {
      const chip = chips.fit(stage.context, theme, text[index], flags[index] & SPECIAL, Math.min(160, this.width));
      if (x > 0 && x + chip.width > this.width) {
        x = 0;
        y += LINE;
      }
      const joined = at < shown.length - 1 && model.joined(side, index, shown[at + 1]);
      const left = mirrored ? this.width - x - chip.width : x;
      this.places.push({ side, index, chip, x: left, y: y + LINE / 2, ...joins(before, joined, mirrored) });
      before = joined;
      x += chip.width + (joined ? 1 : GAP);
    });
    return y + LINE;
  }

  /** In self-attention the touched side follows the from/to switch, since one chip stands for both. */
  at(x, y) {
    const { model, side } = this.view;
    const place = this.places.find(
      (next) => Math.abs(y - next.y) <= LINE / 2 && x >= next.x - 2 && x <= next.x + next.chip.width + 2,
    );
    return place ? { side: model.selfAttention ? side : place.side, index: place.index } : null;
  }

  reveal({ side, index }) {
    const place = this.placeOf(side, index);
    if (place) this.view.stage.reveal({ x: 0, y: place.y - LINE / 2, width: 1, height: LINE });
  }

  placeOf(side, index) {
    const { selfAttention } = this.view.model;
    return this.places.find((place) => place.index === index && (selfAttention || place.side === side));
  }

  paint(context) {
    const { model, stage, theme, chips, lit, muted } = this.view;
    context.fillStyle = theme.background;
    context.fillRect(0, 0, stage.width, stage.height);
    const heat = new Map();
    if (lit) {
      for (const link of model.linksOf(lit.side, lit.index, muted).reverse()) {
        heat.set(model.endOf(link, lit.side), model.weight[link]);
      }
    }
    for (const place of this.places) {
      const y = place.y - stage.top;
      if (y < -LINE || y > stage.height + LINE) continue;
      const { state, role } = this.stateOf(place, heat);
      const [left, right] = [place.before ? 0 : 4, place.after ? 0 : 4];
      chips.draw(context, {
        theme, chip: place.chip, flags: model.tokens[place.side].flags[place.index], role, x: place.x, y, state,
        heat: heat.get(place.index) ?? 0, corners: [left, right, right, left],
      });
    }
    context.font = `600 12px ${theme.font}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (const { side, y } of this.headings) {
      context.fillStyle = theme[side];
      context.fillText(side === "query" ? "queries" : "keys", 0, y - stage.top);
    }
  }

  stateOf({ side, index }, heat) {
    const { model, lit } = this.view;
    if (!lit) return { state: "rest", role: side };
    const far = model.selfAttention ? otherSide(lit.side) : side;
    if (index === lit.index && (model.selfAttention || side === lit.side)) return { state: "lit", role: lit.side };
    if (far === lit.side) return { state: "dim", role: side };
    if (heat.has(index)) return { state: "linked", role: far };
    return { state: model.maskedFrom(lit, index) ? "masked" : "dim", role: far };
  }

  step({ side, index }, key) {
    const { model } = this.view;
    const by = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[key];
    const shown = model.shown[side];
    const row = model.rowOf[side][index] + (by ?? (key === "Home" ? -Infinity : Infinity));
    return { side, index: shown[Math.min(shown.length - 1, Math.max(0, row))] };
  }
}

/** Which sides of a chip touch a piece of the same word; they trade places where the text runs right to left. */
function joins(previous, next, mirrored) {
  return mirrored ? { before: next, after: previous } : { before: previous, after: next };
}
