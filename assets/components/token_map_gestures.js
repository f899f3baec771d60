// Mouse and fingers on a map: drag a box, drag what is zoomed, pinch, wheel, tap.

const STILL = 5; // pixels that a press may wander and still be a tap
const SMALLEST_BOX = 8;

/**
 * Calls `view.hoverAt`, `tapAt`, `panBy`, `zoomAround`, `zoomBox`, `showBox` and `doubleTap`,
 * with pixels of the picture.
 *
 * The mouse drags a box to zoom to, and with shift or on the labels it moves the map. One finger moves what is zoomed
 * and otherwise scrolls the page; two fingers zoom.
 */
export class Gestures {
  constructor(field, view, signal) {
    this.view = view;
    this.field = field;
    this.pointers = new Map();
    this.gap = 0;
    const on = (name, listener, options = {}) => field.addEventListener(name, listener, { signal, ...options });
    on("pointerdown", (event) => this.down(event));
    on("pointermove", (event) => this.move(event));
    on("pointerup", (event) => this.up(event));
    on("pointercancel", (event) => this.cancel(event));
    on("pointerleave", () => !this.pointers.size && view.hoverAt(null));
    on("dblclick", () => view.doubleTap());
    on("wheel", (event) => this.wheel(event), { passive: false });
  }

  down(event) {
    if (event.button > 0 || event.target.closest("button")) return;
    const at = this.view.stage.place(event);
    const moves = event.pointerType === "touch" || event.shiftKey || !this.view.isPlot(at);
    this.pointers.set(event.pointerId, { from: at, at, moves, wandered: false });
    this.gap = this.fingers();
    this.field.setPointerCapture?.(event.pointerId);
  }

  move(event) {
    const at = this.view.stage.place(event);
    const pressed = this.pointers.get(event.pointerId);
    if (!pressed) {
      if (event.pointerType !== "touch") this.view.hoverAt(at);
      return;
    }
    const before = pressed.at;
    pressed.at = at;
    pressed.wandered ||= Math.hypot(at.x - pressed.from.x, at.y - pressed.from.y) > STILL;
    if (this.pointers.size === 2) this.pinch();
    else if (!pressed.wandered) return;
    else if (pressed.moves) this.view.panBy(at.x - before.x, at.y - before.y);
    else this.view.showBox(boxOf(pressed));
  }

  up(event) {
    const pressed = this.pointers.get(event.pointerId);
    this.cancel(event);
    if (!pressed || this.pointers.size) return;
    if (!pressed.wandered) this.view.tapAt(pressed.at, event.pointerType === "touch");
    else if (!pressed.moves) {
      const box = boxOf(pressed);
      if (box.width > SMALLEST_BOX && box.height > SMALLEST_BOX) this.view.zoomBox(box);
    }
  }

  cancel(event) {
    this.pointers.delete(event.pointerId);
    this.gap = this.fingers();
    this.view.showBox(null);
  }

  fingers() {
    const [a, b] = [...this.pointers.values()];
    return a && b ? Math.hypot(a.at.x - b.at.x, a.at.y - b.at.y) : 0;
  }

  pinch() {
    const [a, b] = [...this.pointers.values()];
    const gap = this.fingers();
    a.wandered = b.wandered = true;
    if (this.gap > 0 && gap > 0) {
      this.view.zoomAround(gap / this.gap, { x: (a.at.x + b.at.x) / 2, y: (a.at.y + b.at.y) / 2 });
    }
    this.gap = gap;
  }

  /** A wheel that can zoom no further scrolls the page. */
  wheel(event) {
    const at = this.view.stage.place(event);
    if (!this.view.isPlot(at) || !this.view.zoomsByWheel(event)) return;
    event.preventDefault();
    this.view.zoomAround(Math.exp(-Math.max(-100, Math.min(100, event.deltaY)) / 300), at);
  }
}

function boxOf({ from, at }) {
  return {
    x: Math.min(from.x, at.x),
    y: Math.min(from.y, at.y),
    width: Math.abs(at.x - from.x),
    height: Math.abs(at.y - from.y),
  };
}
