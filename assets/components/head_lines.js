// Token lines of one or several heads. See tfmviz/components/head_lines.py for what is sent.

import { element } from "./element.js";
import { mount } from "./mount.js";
import { readArrays, readHeader } from "./payload.js";
import { dress, readTheme, whenFontsCome } from "./theme.js";
import { Stage } from "./stage.js";
import { LinesModel } from "./lines_model.js";
import { Chips } from "./lines_chips.js";
import { Columns } from "./lines_columns.js";
import { Reader } from "./lines_reader.js";
import { fillPanel, letterOf, litSentence, picturedSentence } from "./lines_panel.js";

const NARROW = 480;
const MOVES = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End"];
const kept = new Map(); // by widget key: what the visitor had locked and switched, should the view be mounted anew

class HeadLines {
  constructor(parentElement) {
    this.host = parentElement.host ?? parentElement;
    this.root = element("div", { className: "tfmviz lines" });
    parentElement.append(this.root);
    this.chips = new Chips();
    this.layouts = { columns: new Columns(this), reader: new Reader(this) };
    this.layout = this.layouts.columns;
    this.hovered = null;
    this.cursor = null;
    this.locked = null;
    this.side = "query";
    this.muted = new Set();
    this.stop = new AbortController();
    this.build();
  }

  build() {
    this.controls = element("div", { className: "controls", parent: this.root });
    this.note = element("div", { className: "note", parent: this.root });
    this.frame = element("div", { className: "frame", parent: this.root });
    this.field = element("div", {
      className: "field",
      parent: this.frame,
      attributes: { role: "application", tabindex: "0", "aria-roledescription": "attention lines" },
    });
    this.panel = element("div", { className: "panel", parent: this.frame });
    this.live = element("div", { className: "unseen", parent: this.root, attributes: { "aria-live": "polite" } });
    this.stage = new Stage(this.field, { onResize: (width) => this.layOut(width), onPaint: (c) => this.paint(c) });
    this.sizes = new ResizeObserver(() => this.arrange());
    this.sizes.observe(this.root);
    const on = (name, listener) => this.field.addEventListener(name, listener, { signal: this.stop.signal });
    on("pointermove", (event) => event.pointerType !== "touch" && this.hover(this.tokenUnder(event)));
    on("pointerleave", () => this.hover(null));
    on("click", (event) => this.lock(this.tokenUnder(event)));
    on("keydown", (event) => this.press(event));
    on("blur", () => this.moveCursor(null));
  }

  /** The touched token. A locked one stays, whatever the pointer passes. */
  get lit() {
    return this.cursor ?? this.locked ?? this.hovered;
  }

  update({ data }) {
    const start = performance.now();
    const header = readHeader(data);
    const theme = readTheme(this.host, header.colours);
    const news = header.version !== this.version;
    if (!news && theme.id === this.theme?.id) return;
    const dressed = theme.id !== this.theme?.id;
    this.theme = theme;
    dress(this.root, theme);
    if (news) this.read(header, readArrays(data, header));
    if (dressed) this.chips.reset();
    this.showControls();
    this.note.textContent = picturedSentence(this.model);
    this.arrange();
    this.layOut(this.stage.available);
    this.tell();
    if (news) performance.measure("tfmviz:head_lines", { start });
    if (dressed) whenFontsCome(theme, () => this.remeasure());
  }

  read(header, arrays) {
    if (!this.version) Object.assign(this, kept.get(header.key) ?? {});
    this.version = header.version;
    this.key = header.key;
    this.maxHeight = header.max_height;
    this.model = new LinesModel(header, arrays);
    this.hovered = null;
    this.cursor = null;
    this.muted = new Set([...this.muted].filter((head) => head < header.heads.length));
    if (this.muted.size === header.heads.length) this.muted.clear();
    if (this.locked) {
      const { side, index, text } = this.locked;
      const still = this.model.rowOf[side][index] >= 0 && this.model.tokens[side].text[index] === text;
      if (!still) this.locked = null;
    }
    const { query, key } = this.model.tokens;
    this.name = `1x${header.heads.length}x${key.text.length}`;
    this.field.setAttribute(
      "aria-label",
      `Attention lines of ${header.heads.join(", ")}: ${query.text.length} queries, ${key.text.length} keys. ` +
        "Arrow keys move, Enter keeps a token, Escape frees it.",
    );
  }

  /** Lines where there is room, the text with its five strongest keys where there is not. */
  arrange() {
    if (!this.model) return;
    const width = this.root.clientWidth;
    const layout = width < NARROW ? this.layouts.reader : this.layouts.columns;
    this.root.classList.toggle("beside", width >= 700);
    this.root.classList.toggle("narrow", width < NARROW);
    if (layout !== this.layout) {
      this.layout = layout;
      if (this.stage.observed) this.layOut(this.stage.observed);
    }
  }

  layOut(width) {
    if (!this.model || !width) return;
    const most = this.layout === this.layouts.reader ? Math.min(this.maxHeight, 320) : this.maxHeight;
    let size = this.layout.layOut(width);
    if (size.contentHeight > most) size = this.layout.layOut(width - 14); // room for the scroll bar
    this.stage.resize({ ...size, viewHeight: Math.min(size.contentHeight, most) });
  }

  remeasure() {
    this.chips.reset();
    if (this.stage.observed) this.layOut(this.stage.observed);
  }

  paint(context) {
    if (!this.model || this.layout.width === undefined) return;
    this.layout.paint(context);
    if (this.host.dataset.version !== this.version) {
      this.host.dataset.ready = this.name;
      this.host.dataset.version = this.version;
    }
  }

  tokenUnder(event) {
    if (!this.model) return null;
    const { x, y } = this.stage.place(event);
    return this.layout.at(x + this.stage.left, y + this.stage.top);
  }

  hover(token) {
    if (sameToken(token, this.hovered)) return;
    this.hovered = token;
    this.field.style.cursor = token ? "pointer" : "";
    if (!this.locked && !this.cursor) this.changed();
  }

  /** A click keeps a token; a second one, or one beside the tokens, frees it. */
  lock(token) {
    const free = !token || sameToken(token, this.locked);
    this.cursor = null;
    this.locked = free ? null : { ...token, text: this.model.tokens[token.side].text[token.index] };
    if (!free) this.side = token.side;
    this.keep();
    this.changed();
  }

  moveCursor(token) {
    if (sameToken(token, this.cursor)) return;
    this.cursor = token;
    if (token) {
      this.side = token.side;
      this.layout.reveal(token);
    }
    this.changed();
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.model) return;
    const { key } = event;
    if (MOVES.includes(key)) {
      const first = this.model.shown[this.side][0];
      const from = this.lit;
      if (first === undefined) return;
      this.moveCursor(from ? this.layout.step(from, key) : { side: this.side, index: first });
    } else if ((key === "Enter" || key === " ") && this.lit) this.lock(this.lit);
    else if (key === "Escape") {
      this.cursor = null;
      this.lock(null);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** From a token or to it; a locked token of self-attention turns with the switch. */
  turn(side) {
    this.side = side;
    const from = this.locked;
    this.cursor = null;
    if (from && from.side !== side) {
      this.locked = null;
      const same = this.model.selfAttention && this.model.rowOf[side][from.index] >= 0;
      if (same) this.locked = { ...from, side };
    }
    this.keep();
    this.changed();
  }

  mute(head) {
    if (this.muted.has(head)) this.muted.delete(head);
    else if (this.muted.size < this.model.heads.length - 1) this.muted.add(head);
    this.keep();
    this.changed();
  }

  keep() {
    kept.set(this.key, { locked: this.locked, side: this.side, muted: this.muted });
  }

  changed() {
    this.stage.schedule();
    this.tell();
  }

  tell() {
    const { model, lit, locked, muted, theme } = this;
    fillPanel(this.panel, { model, lit, locked: Boolean(locked), muted, theme });
    this.live.textContent = this.hovered && !this.locked ? "" : litSentence(model, lit, muted);
    const side = lit?.side ?? this.side;
    for (const [name, button] of Object.entries(this.turns)) button.setAttribute("aria-pressed", name === side);
    this.switches.forEach((button, head) => button.setAttribute("aria-pressed", !muted.has(head)));
  }

  showControls() {
    this.controls.replaceChildren();
    const button = (parent, attributes, listener) => {
      const node = element("button", { parent, attributes: { type: "button", ...attributes } });
      node.addEventListener("click", listener, { signal: this.stop.signal });
      return node;
    };
    const pair = element("div", { className: "pair", parent: this.controls, attributes: { role: "group" } });
    pair.setAttribute("aria-label", "Direction");
    this.turns = { query: button(pair, {}, () => this.turn("query")), key: button(pair, {}, () => this.turn("key")) };
    this.turns.query.textContent = "What it looks at";
    this.turns.key.textContent = "Who looks at it";
    this.switches = [];
    const heads = element("div", { className: "heads", parent: this.controls, attributes: { role: "group" } });
    heads.setAttribute("aria-label", "Heads");
    if (this.model.heads.length === 1) {
      element("span", { className: "head-name", text: this.model.heads[0], parent: heads });
      return;
    }
    this.model.heads.forEach((name, head) => {
      const node = button(heads, { class: "head" }, () => this.mute(head));
      letterOf(node, head, this.theme);
      element("span", { text: name, parent: node });
      this.switches.push(node);
    });
  }

  destroy() {
    this.stop.abort();
    this.sizes.disconnect();
    this.stage.destroy();
    this.root.remove();
  }
}

function sameToken(a, b) {
  return a === b || Boolean(a && b && a.side === b.side && a.index === b.index);
}

export default function headLines(component) {
  return mount(HeadLines, component);
}
