// The small card beside what is hovered. Kept on the screen, out of the pointer's way, and out of layout.

import { element } from "./element.js";

export class Tooltip {
  constructor(parent) {
    this.card = element("div", { className: "tooltip", parent, attributes: { "aria-hidden": "true" } });
    this.card.hidden = true;
  }

  /** Show beside a rectangle given in window coordinates: right of it, else left, else below. */
  show({ left, top, right, bottom }) {
    this.card.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.card;
    const [windowWidth, windowHeight] = [window.innerWidth, window.innerHeight];
    let x = right + 10;
    let y = top - 6;
    if (x + width > windowWidth - 8) x = left - width - 10;
    if (x < 8) {
      x = Math.min(Math.max(8, left), windowWidth - width - 8);
      y = bottom + 10;
    }
    this.card.style.left = `${Math.max(8, x)}px`;
    this.card.style.top = `${Math.max(8, Math.min(y, windowHeight - height - 8))}px`;
  }

  hide() {
    this.card.hidden = true;
  }
}
