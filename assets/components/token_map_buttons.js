// The buttons over a map.

import { element } from "./element.js";
import { saveMap } from "./token_map_save.js";

export const ZOOM_STEP = 1.5;

/** What they are called, what they do in words, and what they do. */
export function zoomButtons(view) {
  return [
    ["−", "Zoom out", () => view.zoomStep(1 / ZOOM_STEP)],
    ["+", "Zoom in", () => view.zoomStep(ZOOM_STEP)],
    ["Reset", "Show the whole map", () => view.zoomReset()],
  ];
}

export function saveButton(view) {
  return ["PNG", "Save the map as a PNG file", () => saveMap(view)];
}

/** Buttons in a row, by what they are called. */
export function buttonRow(parent, described, signal) {
  const buttons = {};
  for (const [text, label, act] of described) {
    const button = element("button", { text, parent, attributes: { type: "button", title: label } });
    if (text.length < 2) button.setAttribute("aria-label", label);
    button.addEventListener("click", act, { signal });
    buttons[text] = button;
  }
  return buttons;
}

/** Whole maps go no smaller, cells of full size no larger. */
export function enableZoom(buttons, { zoom, most }) {
  buttons["−"].disabled = buttons.Reset.disabled = zoom === 1;
  buttons["+"].disabled = zoom >= most;
}
