// Two heads on the units of one text: A, B and B − A as maps, and the text. See tfmviz/components/head_pair.py.

import { element } from "./element.js";
import { mount } from "./mount.js";
import { readArrays, readHeader } from "./payload.js";
import { dress, readTheme } from "./theme.js";
import { buttonRow, enableZoom, zoomButtons } from "./token_map_buttons.js";
import { PairMap } from "./head_pair_map.js";
import { PairText } from "./head_pair_text.js";
import { IDLE, toldOf } from "./head_pair_words.js";

const OPEN_LIST = '[aria-expanded="true"], [role="listbox"], [role="menu"], [role="dialog"]';
const FREE = { hovered: null, locked: null, focused: null };

/** What is pointed at in one of the pictures is lit in all of them, and they zoom and move together. */
class HeadPair {
  constructor(parentElement) {
    this.host = parentElement.host ?? parentElement;
    this.root = element("div", { className: "tfmviz pair", parent: parentElement });
    this.stop = new AbortController();
    const place = (name) => element("div", { className: name, parent: this.root });
    const [a, b] = [place("pair-map"), place("pair-map")];
    const foot = place("pair-foot");
    this.maps = [a, b, place("pair-map")].map((parent, which) => new PairMap(parent, this, which));
    this.text = new PairText(place("pair-side"), this, this.stop.signal);
    this.line = element("p", { className: "told", parent: foot });
    const bar = element("div", { className: "buttons", parent: foot });
    this.buttons = buttonRow(bar, zoomButtons(this.maps[0]), this.stop.signal);
    // In the capturing phase a list that Escape closes is still open.
    const frees = ({ key, target }) => key === "Escape" && this.locked && !target.closest?.(OPEN_LIST);
    document.addEventListener("keydown", (event) => frees(event) && this.light(null, FREE), {
      signal: this.stop.signal,
      capture: true,
    });
  }

  get locked() {
    return this.maps[0].locked;
  }

  update({ data }) {
    const start = performance.now();
    const header = readHeader(data);
    const news = header.version !== this.version;
    const theme = readTheme(this.host, header.colours);
    dress(this.root, theme);
    if (news) this.arrays = readArrays(data, header);
    this.header = header;
    this.version = header.version;
    for (const map of this.maps) map.show(header, () => this.arrays);
    this.text.show(header, this.arrays.distance, theme);
    this.told();
    this.host.dataset.version = header.version;
    if (news) performance.measure("tfmviz:head_pair", { start });
  }

  /** Change what is lit in every picture; `by` is the map that was used, which shows the card. */
  light(by, change) {
    const start = performance.now();
    let painting = start;
    requestAnimationFrame(() => (painting = performance.now()));
    this.used = by;
    if (by?.layout) this.follow(by);
    for (const map of this.maps) map.lightAlone(change);
    this.told();
    const worked = performance.now() - start;
    requestAnimationFrame(() => {
      performance.clearMeasures("tfmviz:pair_hover");
      performance.measure("tfmviz:pair_hover", { start, duration: worked + performance.now() - painting });
    });
  }

  /** Show in every map the part that one of them shows. */
  follow({ viewport }) {
    for (const map of this.maps) if (map.viewport !== viewport && map.layout) map.showPart(viewport);
  }

  told() {
    const { lit, viewport, model } = this.maps[0];
    if (viewport.layout) enableZoom(this.buttons, viewport);
    this.text.light(lit?.row ?? null);
    const words = lit ? toldOf(model, this.arrays, lit) : IDLE;
    if (this.line.textContent !== words) this.line.textContent = words;
  }

  destroy() {
    this.stop.abort();
    for (const map of this.maps) map.destroy();
    this.root.remove();
  }
}

export default function headPair(component) {
  return mount(HeadPair, component);
}
