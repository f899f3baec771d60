// What a map says of one cell, in the card beside the pointer and to screen readers.

import { element, fourDigits, isolated } from "./element.js";

/** The weight with four digits, or why there is none. */
export function weightWords(model, { row, col }) {
  const at = row * model.cols + col;
  if (model.open && !model.open[at]) return "masked: may not look there";
  const weight = model.weights[at];
  return Number.isNaN(weight) ? "not a number" : fourDigits(weight);
}

/** One sentence for screen readers. */
export function cellSentence(model, cell) {
  const query = isolated(model.labels.query[cell.row]);
  const key = isolated(model.labels.key[cell.col]);
  return `query ${query} (${cell.row}), key ${key} (${cell.col}): ${weightWords(model, cell)}`;
}

/** Fill the card with the two tokens and the weight. */
export function fillCell(card, model, cell) {
  card.replaceChildren();
  for (const [side, index] of [["query", cell.row], ["key", cell.col]]) {
    const line = element("div", { className: "cell-line", parent: card });
    element("span", { text: side, parent: line });
    element("bdi", { className: `chip ${side}`, text: model.labels[side][index], parent: line });
    element("span", { className: "number", text: String(index), parent: line });
  }
  const words = weightWords(model, cell);
  const line = element("div", { className: "cell-line", parent: card });
  if (/^\d/.test(words)) {
    element("span", { text: "weight", parent: line });
    element("strong", { className: "number", text: words, parent: line });
  } else element("span", { className: "cell-note", text: words, parent: line });
}
