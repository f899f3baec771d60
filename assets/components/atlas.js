// The atlas: every layer and head of one trace in one canvas. See tfmviz/components/atlas.py for what is sent.

import { element } from "./element.js";
import { mount } from "./mount.js";
import { readArrays, readHeader } from "./payload.js";
import { dress, readScale, readTheme, whenFontsCome } from "./theme.js";
import { Stage } from "./stage.js";
import { Tooltip } from "./tooltip.js";
import { atlasLayout } from "./atlas_layout.js";
import { readModel } from "./atlas_model.js";
import { AtlasPainter } from "./atlas_paint.js";
import { bringHead } from "./head_feed.js";
import { fillCard, fillLegend, headSentence } from "./atlas_words.js";

const ZOOMS = [1, 1.5, 2, 3, 4];
const MAGNIFIED = 168;
const ANSWER_MS = 1500;

class Atlas {
  constructor(parentElement) {
    this.host = parentElement.host ?? parentElement;
    this.root = element("div", { className: "tfmviz atlas" });
    parentElement.append(this.root);
    this.painter = new AtlasPainter();
    this.base = document.createElement("canvas");
    this.zoom = 1;
    this.hovered = null;
    this.focused = null;
    this.chosen = { layer: 0, head: 0 };
    this.awaited = null;
    this.stop = new AbortController();
    this.build();
  }

  build() {
    this.field = element("div", {
      className: "field",
      parent: this.root,
      attributes: { role: "application", tabindex: "0", "aria-roledescription": "map of attention heads" },
    });
    this.stage = new Stage(this.field, { onResize: (width) => this.layOut(width), onPaint: (c) => this.paint(c) });
    const foot = element("div", { className: "foot", parent: this.root });
    this.status = element("div", { className: "status", parent: foot, attributes: { "aria-live": "polite" } });
    this.legend = element("div", { className: "legend", parent: foot });
    this.tooltip = new Tooltip(this.root);
    const on = (name, listener, options = {}) =>
      this.field.addEventListener(name, listener, { signal: this.stop.signal, ...options });
    on("pointermove", (event) => event.pointerType !== "touch" && this.hover(this.headUnder(event)));
    on("pointerleave", () => this.hover(null));
    on("click", (event) => this.choose(this.headUnder(event)));
    on("keydown", (event) => this.press(event));
    on("focus", () => this.field.matches(":focus-visible") && this.focus(this.anchor));
    on("blur", () => this.focus(null));
    on("wheel", (event) => this.wheel(event), { passive: false });
    document.addEventListener("tfmviz:chosen", (event) => this.told(event.detail), { signal: this.stop.signal });
    document.addEventListener("tfmviz:noted", (event) => this.noted(event.detail), { signal: this.stop.signal });
  }

  /** Take what Python sent. The same version changes nothing; another theme repaints. */
  update({ data, setStateValue }) {
    const start = performance.now();
    this.send = setStateValue;
    const header = readHeader(data);
    const theme = readTheme(this.host, header.colours);
    const news = header.version !== this.version;
    if (!news && theme.id === this.theme?.id) return;
    const dressed = theme.id !== this.theme?.id;
    this.theme = theme;
    dress(this.root, theme);
    this.scale = readScale(theme.weights);
    if (news) this.read(header, readArrays(data, header));
    this.painter.reset();
    this.say();
    this.showLegend();
    this.layOut(this.stage.available);
    if (dressed) whenFontsCome(theme, () => this.layOut(this.stage.available));
    if (news) performance.measure("tfmviz:atlas", { start });
  }

  read(header, arrays) {
    this.version = header.version;
    this.key = header.key;
    this.maxHeight = header.max_height;
    const { layers, heads } = header;
    this.model = readModel(header, arrays);
    const inside = ({ layer, head }) => layer < layers && head < heads;
    const python = chosenByPython().get(this.key);
    const told = python && placeOf(python.selected);
    this.feed = python?.feed;
    const before = this.chosen && inside(this.chosen) ? this.chosen : { layer: 0, head: 0 };
    this.chosen = told === null || (told && inside(told)) ? told : before; // null: another atlas has the head
    this.focused = null;
    this.hovered = null;
    this.tooltip.hide();
    this.field.setAttribute(
      "aria-label",
      `All heads: ${layers} layers, ${heads} heads each. Arrow keys move, Enter selects, plus and minus zoom.`,
    );
  }

  layOut(width) {
    if (!this.model || !width) return;
    const { layers, heads, kvHeads } = this.model;
    const ratio = window.devicePixelRatio || 1;
    const spec = { layers, heads, kvHeads, width, maxHeight: this.maxHeight, zoom: this.zoom, ratio };
    this.layout = atlasLayout(spec);
    if (this.layout.contentHeight > this.maxHeight) this.layout = atlasLayout({ ...spec, width: width - 14 });
    const { contentWidth, contentHeight, rows, top, gap } = this.layout;
    const scrolls = contentHeight > this.maxHeight;
    const rests = scrolls ? Array.from({ length: rows }, (_, row) => this.layout.rowY(row) - gap) : [];
    const viewHeight = Math.min(contentHeight, this.maxHeight);
    this.baseOf = "";
    this.stage.resize({ contentWidth, contentHeight, viewHeight, rests, restMargin: top });
  }

  paint(context) {
    if (!this.layout) return;
    const { stage, base } = this;
    const wanted = `${stage.left},${stage.top},${this.chosen?.layer},${this.chosen?.head}`;
    if (this.baseOf !== wanted) {
      if (base.width !== stage.canvas.width) base.width = stage.canvas.width;
      if (base.height !== stage.canvas.height) base.height = stage.canvas.height;
      const under = base.getContext("2d", { alpha: false });
      under.setTransform(stage.ratio, 0, 0, stage.ratio, 0, 0);
      this.painter.base(under, this);
      this.baseOf = wanted;
    }
    context.drawImage(base, 0, 0, stage.width, stage.height);
    if (this.hovered) this.painter.ring(context, this, this.hovered, "hover");
    if (this.chosen) this.painter.ring(context, this, this.chosen, "chosen");
    if (this.focused) this.painter.ring(context, this, this.focused, "focus");
    if (this.host.dataset.version !== this.version) {
      this.host.dataset.ready = this.model.name;
      this.host.dataset.version = this.version;
    }
  }

  /** The head that keys start from: the focused one, else the chosen one or the first of the chosen. */
  get anchor() {
    const { layer, head } = this.chosen ?? { layer: 0, head: 0 };
    return this.focused ?? { layer: Math.max(0, layer), head: Math.max(0, head) };
  }

  headUnder(event) {
    if (!this.layout) return null;
    const { x, y } = this.stage.place(event);
    return y < this.layout.top ? null : this.layout.at(x + this.stage.left, y + this.stage.top);
  }

  hover(place) {
    if (same(place, this.hovered)) return;
    this.hovered = place;
    this.stage.schedule();
    this.say();
    this.showCard(place ?? this.focused);
  }

  focus(place) {
    this.focused = place;
    if (place) {
      const box = this.layout.box(place.layer, place.head);
      const margins = { marginLeft: this.layout.labelWidth, marginTop: this.layout.top };
      this.stage.reveal({ x: box.x - 4, y: box.y - 4, width: box.size + 8, height: box.size + 8, ...margins });
    }
    this.stage.schedule();
    this.say();
    this.showCard(place);
  }

  /** The ring moves at once; Python hears of it only when it really moved. */
  choose(place) {
    if (!place || same(place, this.chosen)) return;
    this.chosen = place;
    const click = Date.now() % 1e9;
    this.awaited = { click, until: performance.now() + ANSWER_MS };
    this.stage.schedule();
    this.say();
    const isChosen = () => same(place, this.chosen);
    // Numbered, so that choosing a head again counts when a picker has moved on in between.
    const tell = () => isChosen() && this.send?.("selected", [place.layer, place.head, click]);
    if (this.feed) bringHead(this.feed, place, { dark: this.theme.dark, isChosen }).then(tell);
    else tell();
  }

  /** Python says which head is selected. While a click is on its way, an older answer must not move the ring back. */
  told({ key, selected, heard, feed }) {
    if (!this.model || key !== this.key) return;
    this.feed = feed;
    const place = placeOf(selected);
    if (place && (place.layer >= this.model.layers || place.head >= this.model.heads)) return;
    if (this.awaited && heard !== this.awaited.click && performance.now() < this.awaited.until) return;
    this.awaited = null;
    if (same(place, this.chosen)) return;
    this.chosen = place;
    const box = place && place.layer >= 0 && place.head >= 0 && this.layout?.box(place.layer, place.head);
    if (box) this.stage.reveal({ ...box, width: box.size, height: box.size, marginTop: this.layout.top });
    this.stage.schedule();
    this.say();
  }

  /** Python says what each head does, some time after it sent the picture. Of another picture it says nothing. */
  noted({ key, about, roles, strongest }) {
    if (!this.model || key !== this.key || about !== this.model.name) return;
    Object.assign(this.model, { roles, strongest });
    this.say();
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    this.hovered = null;
    if (key.startsWith("Arrow") || ["Home", "End", "PageUp", "PageDown"].includes(key)) {
      this.focus(this.layout.step(this.anchor, key));
    } else if (key === "Enter" || key === " ") this.choose(this.anchor);
    else if (key === "+" || key === "=") this.magnify(1);
    else if (key === "-") this.magnify(-1);
    else if (key === "Escape") this.focus(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.magnify(event.deltaY < 0 ? 1 : -1, event);
  }

  /** One step of zoom; the head under the pointer, or the chosen one, stays where it is. */
  magnify(direction, event = null) {
    const index = Math.min(ZOOMS.length - 1, Math.max(0, ZOOMS.indexOf(this.zoom) + direction));
    if (ZOOMS[index] === this.zoom) return;
    const place = (event && this.headUnder(event)) || this.anchor;
    const before = this.layout.box(place.layer, place.head);
    const [dx, dy] = [before.x - this.stage.scroller.scrollLeft, before.y - this.stage.scroller.scrollTop];
    this.zoom = ZOOMS[index];
    this.layOut(this.stage.observed);
    const after = this.layout.box(place.layer, place.head);
    this.stage.scroller.scrollTo(after.x - dx, after.y - dy);
    this.tooltip.hide();
    this.stage.paintNow();
    this.limitZoom();
  }

  say() {
    const text = headSentence(this.model, this.hovered ?? this.focused ?? this.chosen);
    if (this.status.textContent !== text) this.status.textContent = text;
  }

  showCard(place) {
    if (!place) {
      this.tooltip.hide();
      return;
    }
    const { layout, stage } = this;
    const small = layout.cell < MAGNIFIED * 0.75;
    const paintLarge = small && ((canvas) => this.paintLarge(canvas, place));
    fillCard(this.tooltip.card, { model: this.model, ...place, paintLarge });
    const box = layout.box(place.layer, place.head);
    const corner = stage.canvas.getBoundingClientRect();
    const [left, top] = [corner.left + box.x - stage.left, corner.top + box.y - stage.top];
    this.tooltip.show({ left, top, right: left + box.size, bottom: top + box.size });
  }

  paintLarge(canvas, place) {
    const { ratio } = this.stage;
    canvas.width = canvas.height = Math.round(MAGNIFIED * ratio);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { model, theme, scale } = this;
    this.painter.magnified(context, { model, theme, scale, ...place, size: MAGNIFIED, ratio });
  }

  showLegend() {
    const masked = this.model.maskOf.some((mask) => mask >= 0) || this.model.reasons.some(Boolean);
    const [zoomOut, zoomIn] = fillLegend(this.legend, { gradient: this.scale.gradient, masked });
    zoomOut.addEventListener("click", () => this.magnify(-1));
    zoomIn.addEventListener("click", () => this.magnify(1));
    this.zooms = { zoomOut, zoomIn };
    this.limitZoom();
  }

  limitZoom() {
    this.zooms.zoomOut.disabled = this.zoom === ZOOMS[0];
    this.zooms.zoomIn.disabled = this.zoom === ZOOMS[ZOOMS.length - 1];
  }

  destroy() {
    this.stop.abort();
    this.stage.destroy();
    this.root.remove();
  }
}

function same(a, b) {
  return a === b || (a && b && a.layer === b.layer && a.head === b.head);
}

/** Layer and head as Python sends them; null where no head is chosen. */
function placeOf(selected) {
  return selected && { layer: selected[0], head: selected[1] };
}

/** What atlas_choice.js last heard from Python, by widget key; it may have come before the atlas. */
function chosenByPython() {
  return (window[Symbol.for("tfmviz.chosen")] ??= new Map());
}

export default function atlas(component) {
  return mount(Atlas, component);
}
