// A canvas the size of what can be seen, inside a box that scrolls over a picture of any size.

import { element } from "./element.js";

/**
 * The canvas sticks to the corner of the scrolling box and is repainted for each scroll offset, so that a picture of
 * thousands of tokens costs as many pixels as fit on the screen.
 */
export class Stage {
  constructor(parent, { onResize, onPaint }) {
    this.scroller = element("div", { className: "stage", parent });
    this.area = element("div", { className: "stage-area", parent: this.scroller });
    this.canvas = element("canvas", { parent: this.area, attributes: { "aria-hidden": "true" } });
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.onPaint = onPaint;
    this.parent = parent;
    this.stops = [];
    this.frame = 0;
    this.width = 0;
    this.height = 0;
    this.ratio = 1;
    this.stop = new AbortController();
    this.observed = 0;
    this.scroller.addEventListener("scroll", () => this.schedule(), { signal: this.stop.signal, passive: true });
    this.observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width > 0 && (width !== this.observed || this.ratio !== deviceRatio())) {
        this.observed = width;
        onResize(width);
      }
    });
    this.observer.observe(parent);
    // A window dragged to a screen of another density changes the ratio and not the width.
    window.addEventListener("resize", () => this.ratio !== deviceRatio() && onResize(this.observed), {
      signal: this.stop.signal,
    });
  }

  /** Width to lay out for; known before the observer first reports. */
  get available() {
    this.observed ||= Math.floor(this.parent.clientWidth);
    return this.observed;
  }

  /** Set the size of the whole picture and of the part that shows, and where scrolling likes to rest; repaints at once. */
  resize({ contentWidth, contentHeight, viewHeight, rests = [], restMargin = 0 }) {
    this.ratio = deviceRatio();
    this.area.style.width = `${contentWidth}px`;
    this.area.style.height = `${contentHeight}px`;
    this.scroller.style.height = `${viewHeight}px`;
    this.scroller.style.scrollPaddingTop = `${restMargin}px`;
    while (this.stops.length > rests.length) this.stops.pop().remove();
    while (this.stops.length < rests.length) this.stops.push(element("div", { className: "rest", parent: this.area }));
    rests.forEach((y, i) => (this.stops[i].style.top = `${y}px`));
    this.width = Math.min(this.scroller.clientWidth, Math.max(contentWidth, 1));
    this.height = Math.min(this.scroller.clientHeight, contentHeight);
    const [w, h] = [Math.round(this.width * this.ratio), Math.round(this.height * this.ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.canvas.style.width = `${w / this.ratio}px`;
      this.canvas.style.height = `${h / this.ratio}px`;
    }
    this.paintNow();
  }

  get left() {
    return Math.round(this.scroller.scrollLeft * this.ratio) / this.ratio;
  }

  get top() {
    return Math.round(this.scroller.scrollTop * this.ratio) / this.ratio;
  }

  /** Paint before the next frame; many calls, one painting. */
  schedule() {
    if (!this.frame) {
      this.frame = requestAnimationFrame(() => this.paintNow());
    }
  }

  paintNow() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (!this.width || !this.height) return;
    const { scrollTop, clientHeight, scrollHeight } = this.scroller;
    this.scroller.classList.toggle("more", scrollTop + clientHeight < scrollHeight - 2);
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.onPaint(this.context);
  }

  /** Where a pointer event is, in the picture's own coordinates. */
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** Scroll just far enough that a rectangle of the picture shows, past pinned margins. */
  reveal({ x, y, width, height, marginLeft = 0, marginTop = 0 }) {
    const box = this.scroller;
    if (x < box.scrollLeft + marginLeft) box.scrollLeft = x - marginLeft;
    else if (x + width > box.scrollLeft + this.width) box.scrollLeft = x + width - this.width;
    if (y < box.scrollTop + marginTop) box.scrollTop = y - marginTop;
    else if (y + height > box.scrollTop + this.height) box.scrollTop = y + height - this.height;
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    this.stop.abort();
    this.observer.disconnect();
  }
}

function deviceRatio() {
  return window.devicePixelRatio || 1;
}
