// What two heads' maps say of a cell or of a unit.

import { element, fourDigits, isolated } from "./element.js";

export const IDLE = "Point at a cell or at a name: every map lights up. A click keeps it, Escape lets it go.";
const NAMES = { a: "A", b: "B", signed: "B − A" };

/** What is lit, in a sentence: under the maps, and for screen readers. */
export function toldOf(model, arrays, { row, col }) {
  if (row === null) return `Key ${placed(model, "key", col)}.`;
  const query = `Query ${placed(model, "query", row)}`;
  const apart = `its rows are ${fourDigits(arrays.distance[row])} apart.`;
  if (col === null) return `${query}: ${apart}`;
  const numbers = numbersOf(arrays, row * model.cols + col).map(([name, number]) => `${name} ${number}`);
  return `${query}, key ${placed(model, "key", col)}: ${numbers.join(", ")}; ${apart}`;
}

/** A unit's name with its number, by which equal words are told apart; what is no unit has none. */
function placed({ labels, rows, first }, side, at) {
  const name = isolated(labels[side][at]);
  return at < rows ? `${name} (${first + at})` : name;
}

/** Whether a text is read from right to left: what its first letter says. */
export function isLeftward(text) {
  const letter = text.match(/\p{L}/u)?.[0] ?? "";
  return /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(letter);
}

/** Fill the card with both units and the three numbers. */
export function fillPair(card, { labels, rows, cols, first }, arrays, { row, col }) {
  card.replaceChildren();
  const line = (name) => {
    const made = element("div", { className: "cell-line", parent: card });
    element("span", { text: name, parent: made });
    return made;
  };
  for (const [side, index] of [["query", row], ["key", col]]) {
    const made = line(side);
    element("bdi", { className: `chip ${side}`, text: labels[side][index], parent: made });
    if (index < rows) element("span", { className: "number", text: String(first + index), parent: made });
  }
  for (const [name, number] of numbersOf(arrays, row * cols + col)) {
    element("strong", { className: "number", text: number, parent: line(name) });
  }
}

function numbersOf(arrays, at) {
  const masked = { a: !arrays.open_a[at], b: !arrays.open_b[at], signed: !arrays.open_a[at] && !arrays.open_b[at] };
  return Object.entries(NAMES).map(([name, said]) => [said, masked[name] ? "masked" : signedDigits(arrays[name][at])]);
}

/** Four digits with a true minus, and no minus before 0. */
function signedDigits(weight) {
  return fourDigits(Math.abs(weight) < 5e-5 ? 0 : weight).replace("-", "−");
}
