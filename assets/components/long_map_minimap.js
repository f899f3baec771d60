// The whole map, small, with a frame around the part that shows. The frame is dragged.

import { element } from "./element.js";
import { paintMinimap } from "./long_map_cells.js";

const LONGEST_SIDE = 88; // CSS pixels
const SMALLEST_FRAME = 6;

export class Minimap {
  constructor(parent, view, signal) {
    this.view = view;
    this.box = element("div", { className: "minimap", parent, attributes: { "aria-hidden": "true" } });
    this.canvas = element("canvas", { parent: this.box });
    this.frame = element("div", { className: "minimap-frame", parent: this.box });
    this.grip = null;
    const on = (name, listener) => this.box.addEventListener(name, listener, { signal });
    on("pointerdown", (event) => this.grab(event));
    on("pointermove", (event) => this.grip && this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) on(end, () => (this.grip = null));
  }

  /** Draw the whole again: other numbers, other colours, or another size. */
  draw() {
    const { model, theme, scale } = this.view;
    const longest = Math.max(model.rows, model.cols);
    this.width = Math.max(8, Math.round((LONGEST_SIDE * model.cols) / longest));
    this.height = Math.max(8, Math.round((LONGEST_SIDE * model.rows) / longest));
    const ratio = window.devicePixelRatio || 1;
    Object.assign(this.box.style, { width: `${this.width}px`, height: `${this.height}px` });
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    paintMinimap(this.canvas.getContext("2d", { alpha: false }), { model, theme, scale, ratio });
    this.place();
  }

  /** Put the frame where the visible part is. */
  place() {
    const { x, y, width, height } = this.area();
    Object.assign(this.frame.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
    this.box.classList.toggle("whole", this.view.viewport.zoom === 1);
  }

  /** The visible part in pixels of the minimap; never too small to be seen. */
  area() {
    const { model, viewport } = this.view;
    const [width, height] = [this.width / viewport.zoom, this.height / viewport.zoom].map((size) =>
      Math.max(SMALLEST_FRAME, size),
    );
    const middleX = ((viewport.x + model.cols / viewport.zoom / 2) / model.cols) * this.width;
    const middleY = ((viewport.y + model.rows / viewport.zoom / 2) / model.rows) * this.height;
    const inside = (at, size, room) => Math.max(0, Math.min(at - size / 2, room - size));
    return { x: inside(middleX, width, this.width), y: inside(middleY, height, this.height), width, height };
  }

  /** Within the frame it keeps to the finger; beside it the frame comes there. */
  grab(event) {
    if (event.button > 0) return;
    event.preventDefault();
    this.box.setPointerCapture?.(event.pointerId);
    const at = this.at(event);
    const { x, y, width, height } = this.area();
    const within = at.x >= x && at.x <= x + width && at.y >= y && at.y <= y + height;
    this.grip = within ? { x: at.x - (x + width / 2), y: at.y - (y + height / 2) } : { x: 0, y: 0 };
    this.drag(event);
  }

  drag(event) {
    const at = this.at(event);
    const { model } = this.view;
    this.view.centre(((at.y - this.grip.y) / this.height) * model.rows, ((at.x - this.grip.x) / this.width) * model.cols);
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }
}
