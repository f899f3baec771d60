// The words of the token lines: the touched token's five strongest partners, and what the picture leaves out.

import { element, fourDigits, headLetter, isolated } from "./element.js";
import { otherSide } from "./lines_model.js";

const FIVE = 5;

function thinSpaced(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

/** What is drawn and what is not, in a sentence or two. */
export function picturedSentence(model) {
  let drawn = 0;
  for (let link = 0; link < model.drawn; link += 1) {
    if (model.rowOf.query[model.query[link]] >= 0 && model.rowOf.key[model.key[link]] >= 0) drawn += 1;
  }
  const rest = model.above - model.drawn;
  const links = (count) => `${thinSpaced(count)} link${count === 1 ? "" : "s"}`;
  const parts = [];
  if (!drawn && !rest) parts.push(`No link reaches weight ${model.threshold}.`);
  else if (!rest) parts.push(`${links(drawn)} of weight ${model.threshold} or more drawn.`);
  else parts.push(`The ${links(drawn)} of largest weight drawn; ${thinSpaced(rest)} more reach ${model.threshold} and are not drawn.`);
  if (model.hideSpecial) {
    const share = model.hiddenShare === null ? "" : `: they hold ${percent(model.hiddenShare)} of the attention`;
    parts.push(`Special tokens hidden${share}.`);
  }
  return parts.join(" ");
}

function percent(share) {
  const value = 100 * share;
  return `${value >= 10 || value === 0 ? Math.round(value) : value.toPrecision(2)} %`;
}

/** One sentence for screen readers. */
export function litSentence(model, lit, muted) {
  if (!lit) return "";
  const links = model.linksOf(lit.side, lit.index, muted).slice(0, FIVE);
  const { text } = model.tokens[otherSide(lit.side)];
  const many = model.heads.length > 1;
  const list = links.map((link) => {
    const head = many ? `${model.heads[model.head[link]]} ` : "";
    return `${head}${isolated(text[model.endOf(link, lit.side)])} ${fourDigits(model.weight[link])}`;
  });
  const name = isolated(model.tokens[lit.side].text[lit.index]);
  const verb = lit.side === "query" ? "looks at" : "is looked at by";
  return `${name} ${verb} ${list.length ? list.join(", ") : "nothing"}`;
}

/** Fill the panel for the touched token, or with the strongest links of all. */
export function fillPanel(panel, { model, lit, locked, muted, theme }) {
  panel.replaceChildren();
  const head = element("div", { className: "panel-head", parent: panel });
  if (!lit) {
    element("span", { text: "Strongest links", parent: head });
    const all = [];
    for (let link = 0; link < model.drawn && all.length < FIVE; link += 1) {
      const shown = model.rowOf.query[model.query[link]] >= 0 && model.rowOf.key[model.key[link]] >= 0;
      if (shown && !muted.has(model.head[link])) all.push(link);
    }
    for (const link of all) row(panel, { model, link, theme, sides: ["query", "key"] });
    const hint = matchMedia("(hover: none)").matches ? "Touch a token." : "Point at a token; a click keeps it.";
    element("div", { className: "panel-note", text: hint, parent: panel });
    return;
  }
  const far = otherSide(lit.side);
  element("bdi", { className: `chip ${lit.side}`, text: model.tokens[lit.side].text[lit.index], parent: head });
  element("span", { text: lit.side === "query" ? "looks at" : "is looked at by", parent: head });
  const links = model.linksOf(lit.side, lit.index, muted).slice(0, FIVE);
  for (const link of links) row(panel, { model, link, theme, sides: [far] });
  if (!links.length) element("div", { className: "panel-note", text: "nothing that is shown", parent: panel });
  const sum = links.reduce((total, link) => total + model.weight[link], 0);
  const notes = [];
  if (links.length && lit.side === "query" && model.heads.length - muted.size === 1) {
    notes.push(`Together ${sum.toFixed(2)} of its attention.`);
  }
  if (locked) notes.push("Kept; Escape frees it.");
  element("div", { className: "panel-note", text: notes.join(" "), parent: panel });
}

function row(panel, { model, link, theme, sides }) {
  const line = element("div", { className: "panel-row", parent: panel });
  const bar = element("span", { className: "bar", parent: line });
  const fill = element("span", { parent: bar });
  fill.style.width = `${100 * model.weight[link]}%`;
  const many = model.heads.length > 1;
  if (many) fill.style.background = theme.heads[model.head[link]];
  element("span", { className: "number", text: fourDigits(model.weight[link]), parent: line });
  if (many) letterOf(line, model.head[link], theme);
  const ends = { query: model.query[link], key: model.key[link] };
  sides.forEach((side, at) => {
    if (at) element("span", { className: "arrow", text: "→", parent: line });
    element("bdi", { className: `chip ${side}`, text: model.tokens[side].text[ends[side]], parent: line });
  });
  if (sides.length === 1) element("span", { className: "place", text: String(ends[sides[0]]), parent: line });
}

export function letterOf(parent, head, theme) {
  const letter = element("span", { className: "letter", text: headLetter(head), parent });
  letter.style.color = theme.heads[head];
  return letter;
}
