// All heads of A against all heads of B: how far apart they are. See tfmviz/components/head_matrix.py.

import { element, fourDigits, headName } from "./element.js";
import { mount } from "./mount.js";
import { readScale } from "./theme.js";
import { Viewport } from "./token_map_layout.js";
import { TokenMap, sameCell } from "./token_map_view.js";

const LAYER_ROOM = { query: 16, key: 30 }; // pixels between the names of two layers
const NAME_ROOM = { query: 16, key: 52 }; // pixels that the name of the lit head takes
const HEADS = {
  query: { title: "heads of A", ink: "text", line: "text" },
  key: { title: "heads of B", ink: "text", line: "text" },
};
const DOT = 4;
const LEAST_DOT = 2;
const MANY = 100;
const RING = 9;

/** An axis of heads names where its layers begin, and the head that is lit. */
class HeadsViewport extends Viewport {
  ticks(side, _room, lit = -1) {
    const { cell, middle, shown } = this.axis(side);
    const ticks = [];
    let last = -Infinity;
    for (const { index, name } of this.layers?.[side] ?? []) {
      const at = middle(index);
      const near = lit >= 0 && shown(lit) && Math.abs(index - lit) * cell < NAME_ROOM[side];
      if (!shown(index) || near || at - last < LAYER_ROOM[side]) continue;
      ticks.push({ index, at, name, lit: false, step: 1 });
      last = at;
    }
    if (lit >= 0 && shown(lit)) ticks.push({ index: lit, at: middle(lit), lit: true, step: 1 });
    return ticks;
  }
}

class HeadMatrix extends TokenMap {
  build() {
    super.build();
    const legend = element("div", { className: "legend", parent: this.root });
    for (const [mark, words] of [["dot", "matched pair"], ["ring", "the pair above"]]) {
      const item = element("span", { className: "legend-item", parent: legend });
      element("span", { className: `head-${mark}`, parent: item });
      item.append(words);
    }
  }

  viewportFor() {
    return new HeadsViewport();
  }

  get axes() {
    return HEADS;
  }

  get description() {
    const { rows, cols } = this.model;
    return (
      `Distances of heads: ${rows} of A down, ${cols} of B across, a dot on each of ${this.pairs.size} matched pairs. ` +
      "Enter opens a pair."
    );
  }

  get fills() {
    return true;
  }

  update(component) {
    this.component = component;
    super.update(component);
  }

  readModel(header, { distances, pairs, heads_a: headsA, heads_b: headsB }) {
    const { rows, cols, chosen, layered, title } = header;
    const labels = { query: namesOf(headsA), key: namesOf(headsB) };
    this.heads = { query: headsA, key: headsB };
    this.chosen = chosen && { row: chosen[0], col: chosen[1] };
    this.viewport.layers = layered ? { query: layersOf(headsA), key: layersOf(headsB) } : {};
    this.pairs = new Map();
    for (let at = 0; at < pairs.length; at += 2) {
      this.pairs.set(pairs[at] * cols + pairs[at + 1], { row: pairs[at], col: pairs[at + 1] });
    }
    // Alike is dark; where several pairs share a pixel, it shows the two that are most alike.
    const steps = Uint8ClampedArray.from(distances, (distance) => (1 - distance) * 255);
    return { rows, cols, labels, title, note: "", weights: distances, open: null, steps };
  }

  picture(ratio, lit) {
    return { ...super.picture(ratio, lit), marks: (context, view) => this.marks(context, view) };
  }

  get legend() {
    const ticks = [[0, "0 alike"], [0.5, "0.5"], [1, "1"]];
    return { stops: [...this.theme.weights].reverse(), name: "Hellinger distance", ticks };
  }

  /** A dot on each pair that belongs together, a ring around the pair that is looked at. */
  marks(context, { layout, viewport, theme }) {
    const { left, top, width, height } = layout.plot;
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    const cell = Math.min(viewport.cellWidth, viewport.cellHeight);
    // Where cells are small, many dots of neighbours would melt.
    const radius = this.pairs.size > MANY ? Math.min(DOT, Math.max(LEAST_DOT, cell / 2)) : DOT;
    for (const pair of this.pairs.values()) {
      const { x, y } = middleOf(viewport.box(pair));
      circle(context, x, y, radius);
      context.fillStyle = theme.key;
      context.fill();
      context.strokeStyle = theme.background;
      context.lineWidth = 1;
      context.stroke();
    }
    if (this.chosen) {
      const { x, y } = middleOf(viewport.box(this.chosen));
      for (const [colour, thick] of [[theme.background, 6], [theme.key, 3]]) {
        circle(context, x, y, RING);
        context.strokeStyle = colour;
        context.lineWidth = thick;
        context.stroke();
      }
    }
    context.restore();
  }

  /** A click opens the pair, and so does Enter. A finger covers many: its first tap says which one, its second opens. */
  tapAt(place, touch) {
    const cell = this.layout && this.pointed(place);
    if (cell && touch && !sameCell(cell, this.locked)) this.light({ locked: cell, focused: null, hovered: null });
    else this.light({ locked: null, focused: null });
    if (cell && !this.locked) this.open(cell);
  }

  /** A click has opened a pair already. */
  doubleTap() {}

  get isScrolledPast() {
    return true;
  }

  press(event) {
    if ((event.key === "Enter" || event.key === " ") && this.lit) {
      this.open(this.lit);
      event.preventDefault();
      event.stopPropagation();
    } else super.press(event);
  }

  /** By the heads' own numbers: the page may be about to put rows and columns in another order. */
  open({ row, col }) {
    const { query, key } = this.heads;
    this.component.setTriggerValue("opened", [query[2 * row], query[2 * row + 1], key[2 * col], key[2 * col + 1]]);
  }

  sentence(cell) {
    const { query, key } = this.model.labels;
    return `A ${query[cell.row]}, B ${key[cell.col]}: distance ${this.distance(cell)}. Enter opens the pair.`;
  }

  fill(card, cell) {
    card.replaceChildren();
    for (const [side, name, index] of [["query", "A", cell.row], ["key", "B", cell.col]]) {
      const line = element("div", { className: "cell-line", parent: card });
      element("span", { text: name, parent: line });
      element("strong", { className: "number", text: this.model.labels[side][index], parent: line });
    }
    const line = element("div", { className: "cell-line", parent: card });
    element("span", { text: "distance", parent: line });
    element("strong", { className: "number", text: this.distance(cell), parent: line });
    const matched = this.pairs.has(cell.row * this.model.cols + cell.col) ? "matched; " : "";
    const opens = this.locked ? "tap again to open" : "click to open";
    element("div", { className: "cell-line", text: `${matched}${opens}`, parent: card });
  }

  distance({ row, col }) {
    return fourDigits(this.model.weights[row * this.model.cols + col]);
  }
}

/** "L0 H3" for each of some heads, which come as layer, head, layer, head and so on. */
function namesOf(heads) {
  return Array.from({ length: heads.length / 2 }, (_, at) => headName(heads[2 * at], heads[2 * at + 1]));
}

/** Where each layer begins. */
function layersOf(heads) {
  const layers = [];
  for (let at = 0; at < heads.length; at += 2) {
    if (at === 0 || heads[at] !== heads[at - 2]) layers.push({ index: at / 2, name: `L${heads[at]}` });
  }
  return layers;
}

function middleOf({ x, y, width, height }) {
  return { x: x + width / 2, y: y + height / 2 };
}

function circle(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}

export default function headMatrix(component) {
  return mount(HeadMatrix, component);
}
