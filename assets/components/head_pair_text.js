// The text of two heads, a bar under each unit: how far apart its two rows are. And what all of it shows, in words.

import { element, fourDigits } from "./element.js";
import { readScale } from "./theme.js";
import { isLeftward } from "./head_pair_words.js";

const BAR = 16; // pixels of distance 1
const PALEST = 48; // step of the scale: a bar of next to nothing is still seen

export class PairText {
  constructor(parent, pair, signal) {
    this.heading = element("p", { className: "pair-heading", parent });
    element("strong", { text: "How differently each unit is read", parent: this.heading });
    const legend = element("div", { className: "legend", parent });
    const item = element("span", { className: "legend-item", text: "rows alike 0", parent: legend });
    this.ramp = element("span", { className: "ramp", parent: item });
    item.append("1 nothing in common");
    const label = "The text. Under each unit a bar: how far apart its rows in A and B are.";
    this.words = element("div", { className: "pair-text", parent, attributes: { role: "group", "aria-label": label } });
    this.said = element("div", { className: "pair-said", parent });
    this.units = [];
    const rowOf = ({ target }) => Number(target.closest?.("[data-row]")?.dataset.row ?? NaN);
    const on = (name, then) => this.words.addEventListener(name, then, { signal });
    const unit = (event) => (Number.isNaN(rowOf(event)) ? null : { row: rowOf(event), col: null });
    on("pointerover", (event) => {
      const there = unit(event); // between two units the one before stays lit
      if (there && event.pointerType !== "touch") pair.light(null, { hovered: there });
    });
    on("pointerleave", () => pair.light(null, { hovered: null }));
    on("click", (event) => {
      const there = unit(event);
      const again = there && pair.locked?.row === there.row && pair.locked.col === null;
      pair.light(null, { locked: again ? null : there, focused: null });
    });
  }

  show({ query, said, version }, distance, theme) {
    if (this.version === version && this.themeId === theme.id) return;
    [this.version, this.themeId] = [version, theme.id];
    const { css } = readScale(theme.weights);
    this.ramp.style.background = `linear-gradient(to right, ${css[PALEST]}, ${css[150]}, ${css[255]})`;
    this.words.replaceChildren();
    this.words.dir = isLeftward(query.join("")) ? "rtl" : "ltr";
    this.units = query.map((text, row) => {
      const unit = element("span", { className: "pair-unit", parent: this.words, attributes: { "data-row": row } });
      element("span", { text, parent: unit });
      const bar = element("i", { parent: unit, attributes: { "aria-hidden": "true", "data-distance": fourDigits(distance[row]) } });
      bar.style.height = `${Math.max(1, BAR * distance[row])}px`;
      bar.style.background = css[Math.round(PALEST + (255 - PALEST) * distance[row])];
      return unit;
    });
    this.said.replaceChildren();
    for (const [lead, text] of said) {
      const line = element("p", { parent: this.said });
      element("strong", { text: lead, parent: line });
      line.append(` ${text}`);
    }
  }

  light(row) {
    if (this.lit !== undefined) this.units[this.lit]?.classList.remove("lit");
    this.lit = row ?? undefined;
    this.units[row]?.classList.add("lit");
  }
}
