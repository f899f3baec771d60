// What the atlas says: about one head, in the card beside the pointer and in the line below; and the legend.

import { element, fourDigits, headName, isolated } from "./element.js";

/** The head in one sentence, for the status line and for screen readers; an invitation where there is none. */
export function headSentence(model, place) {
  if (!place) return "Hover names a head, a click chooses it";
  const { layer, head } = place;
  if (layer < 0 || head < 0) {
    if (layer < 0 && head < 0) return "All layers, all heads";
    return layer < 0 ? `All layers, H${head}` : `L${layer}, all heads`;
  }
  const reason = model.reasons[layer];
  if (reason) return `${headName(layer, head)}: no attention in this layer (${reason})`;
  const parts = [headName(layer, head)];
  const role = model.roles[layer]?.[head];
  if (role) parts.push(role);
  const pair = model.strongest[layer]?.[head];
  if (pair) parts.push(`strongest: ${isolated(pair[0])} → ${isolated(pair[1])} ${fourDigits(pair[2])}`);
  return parts.join(" · ");
}

/** Fill the card: name, role, a larger picture where the thumbnail is small, the strongest pair. */
export function fillCard(card, { model, layer, head, paintLarge }) {
  card.replaceChildren();
  const title = element("div", { className: "card-title", parent: card });
  element("strong", { text: headName(layer, head), parent: title });
  const reason = model.reasons[layer];
  if (reason) {
    element("div", { className: "card-note", text: `No attention in this layer: ${reason}`, parent: card });
    return;
  }
  const role = model.roles[layer]?.[head];
  if (role) element("span", { className: "card-role", text: role, parent: title });
  if (paintLarge) {
    const canvas = element("canvas", { className: "card-picture", parent: card });
    paintLarge(canvas);
  }
  const pair = model.strongest[layer]?.[head];
  if (pair) {
    const line = element("div", { className: "card-pair", parent: card });
    element("bdi", { className: "chip query", text: pair[0], parent: line });
    element("span", { className: "arrow", text: "→", parent: line });
    element("bdi", { className: "chip key", text: pair[1], parent: line });
    element("span", { className: "number", text: fourDigits(pair[2]), parent: line });
  }
  if (model.dense[layer]) {
    element("div", { className: "card-note", text: "Weights taken from the model itself", parent: card });
  }
}

/** The scale, the sign for masked, and two buttons, which are returned: smaller, larger. */
export function fillLegend(legend, { gradient, masked }) {
  legend.replaceChildren();
  const scale = element("span", { className: "legend-item", parent: legend });
  element("span", { text: "weight 0", parent: scale });
  element("span", { className: "ramp", parent: scale }).style.backgroundImage = gradient;
  element("span", { text: "1", parent: scale });
  if (masked) {
    const item = element("span", { className: "legend-item", parent: legend });
    element("span", { className: "hatched", parent: item });
    element("span", { text: "masked", parent: item });
  }
  const zoom = element("span", { className: "buttons", parent: legend });
  return [["−", "Smaller heads"], ["+", "Larger heads"]].map(([text, label]) =>
    element("button", { text, parent: zoom, attributes: { type: "button", "aria-label": label } }),
  );
}
