// What two heads' maps say of a cell or of a unit.

import { element, fourDigits, isolated } from "./element.js";

export const IDLE = "Point at a cell or at a name: the same pair lights up in every map. A click keeps it, Escape lets it go.";
const NAMES = { a: "A", b: "B", signed: "B − A" };

/** One sentence, for the line under the maps and for screen readers. */
export function toldOf({ query, keys }, arrays, { row, col }) {
  if (row === null) return `Key ${isolated(keys[col])}.`;
  if (col === null) return `Query ${isolated(query[row])}: its rows are ${fourDigits(arrays.distance[row])} apart.`;
  const numbers = numbersOf(arrays, row * keys.length + col).map(([name, number]) => `${name} ${number}`);
  return `Query ${isolated(query[row])}, key ${isolated(keys[col])}: ${numbers.join(", ")}.`;
}

/** Fill the card with both units and the three numbers. */
export function fillPair(card, labels, arrays, { row, col }) {
  card.replaceChildren();
  const line = (name) => {
    const made = element("div", { className: "cell-line", parent: card });
    element("span", { text: name, parent: made });
    return made;
  };
  for (const [side, index] of [["query", row], ["key", col]]) {
    element("bdi", { className: `chip ${side}`, text: labels[side][index], parent: line(side) });
  }
  for (const [name, number] of numbersOf(arrays, row * labels.key.length + col)) {
    element("strong", { className: "number", text: number, parent: line(name) });
  }
}

function numbersOf(arrays, at) {
  return Object.entries(NAMES).map(([name, said]) => [said, signedDigits(arrays[name][at])]);
}

/** Four digits with a true minus, and no minus before 0. */
function signedDigits(weight) {
  return fourDigits(Math.abs(weight) < 5e-5 ? 0 : weight).replace("-", "−");
}
