// What a long text's map says: of one cell or one block, and of what is exact and what is not yet.

import { element, fourDigits, isolated } from "./element.js";
import { fillCell } from "./token_map_words.js";

/** Thin spaces between thousands, where there are more than four digits or the number stands in a sentence. */
export function thousands(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

/** One sentence on what the map's colours are made of just now. */
export function stateSentence(model, { exact, missing, failed }) {
  const blocks = `maxima of ${model.block} × ${model.block} blocks`;
  if (!exact) return `Maxima of ${model.block} × ${model.block} blocks. Zoom in for exact weights.`;
  if (failed) return `Exact weights could not be had; the rest shows ${blocks}. Move the map to ask again.`;
  if (missing) return `Exact weights on their way; until then ${blocks}.`;
  return "Exact weights.";
}

/** One sentence for screen readers. */
export function longSentence(model, lit) {
  const found = model.at(lit);
  const query = rangeWords(model.labels.query, found.row, found.rows);
  const key = rangeWords(model.labels.key, found.col, found.cols);
  return `query ${query}, key ${key}: ${found.exact ? "" : "maximum "}${weightOf(found)}`;
}

/** Fill the card: the two tokens and the weight, or the two ranges of a block and its maximum. */
export function fillLong(card, model, lit) {
  const found = model.at(lit);
  if (found.exact) {
    const { labels, cols } = model;
    const at = found.row * cols + found.col;
    fillCell(card, { labels, cols, weights: { [at]: found.weight }, open: { [at]: found.masked ? 0 : 1 } }, found);
    return;
  }
  card.replaceChildren();
  for (const [side, first, count] of [["query", found.row, found.rows], ["key", found.col, found.cols]]) {
    const line = element("div", { className: "cell-line range", parent: card });
    element("span", { text: side, parent: line });
    element("bdi", { className: `chip ${side}`, text: model.labels[side][first], parent: line });
    if (count > 1) {
      element("span", { text: "to", parent: line });
      element("bdi", { className: `chip ${side}`, text: model.labels[side][first + count - 1], parent: line });
    }
    element("span", { className: "number", text: numbers(first, count), parent: line });
  }
  const line = element("div", { className: "cell-line", parent: card });
  if (found.masked) element("span", { className: "cell-note", text: "masked: may not look there", parent: line });
  else {
    element("span", { text: "max", parent: line });
    element("strong", { className: "number", text: fourDigits(found.weight), parent: line });
    element("span", { className: "cell-note", text: "largest weight of the block", parent: line });
  }
}

function weightOf({ masked, weight }) {
  return masked ? "masked: may not look there" : fourDigits(weight);
}

function rangeWords(labels, first, count) {
  const ends = count > 1 ? `${isolated(labels[first])} to ${isolated(labels[first + count - 1])}` : isolated(labels[first]);
  return `${ends} (${numbers(first, count)})`;
}

function numbers(first, count) {
  return count > 1 ? `${first}–${first + count - 1}` : String(first);
}
