// "Go to token": a field that takes a number or some letters of the text.

import { element } from "./element.js";
import { thousands } from "./long_map_words.js";

/** Finds tokens by their number or by text, which may run over several of them. Blanks are compared as blanks. */
export class TokenFinder {
  constructor(labels) {
    this.labels = labels;
    this.starts = new Uint32Array(labels.length);
    let length = 0;
    const texts = labels.map((label, index) => {
      const text = plain(label);
      this.starts[index] = length;
      length += text.length;
      return text;
    });
    this.text = texts.join("");
  }

  /** Every token at which the text is found, in order. */
  all(wanted) {
    const found = [];
    const text = plain(wanted);
    for (let at = text ? this.text.indexOf(text) : -1; at >= 0; at = this.text.indexOf(text, at + 1)) {
      const index = this.tokenAt(at + (text.length - text.trimStart().length));
      if (found.at(-1) !== index) found.push(index);
    }
    return found;
  }

  tokenAt(offset) {
    let [low, high] = [0, this.starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Small letters, and blanks as the keyboard has them. */
function plain(text) {
  return text.replaceAll("␣", " ").replaceAll("↵", " ").replaceAll("→|", " ").toLowerCase();
}

export class GoTo {
  /** `go({ side, index })` shows a token of the queries or of the keys; `side` is null where both are the same. */
  constructor(parent, go, signal) {
    this.go = go;
    this.form = element("form", { className: "goto", parent });
    const label = element("label", { text: "Go to token ", parent: this.form });
    this.input = element("input", {
      parent: label,
      attributes: { type: "text", size: "9", placeholder: "number or text", autocomplete: "off", spellcheck: "false" },
    });
    element("button", { text: "Go", parent: this.form, attributes: { type: "submit" } });
    this.told = element("span", { className: "goto-told", parent: this.form, attributes: { role: "status" } });
    this.form.addEventListener("submit", (event) => this.submit(event), { signal });
    // Streamlit listens to single letters.
    for (const name of ["keydown", "keypress", "keyup"]) {
      this.form.addEventListener(name, (event) => event.stopPropagation(), { signal });
    }
  }

  /** Look in the tokens of this map from now on. */
  use({ labels, selfAttention }) {
    if (this.labels === labels) return;
    this.labels = labels;
    this.finders = { query: new TokenFinder(labels.query) };
    if (!selfAttention) this.finders.key = new TokenFinder(labels.key);
    this.selfAttention = selfAttention;
    this.last = null;
    this.told.textContent = "";
  }

  submit(event) {
    event.preventDefault();
    const wanted = this.input.value.trim();
    if (!wanted) return;
    const quoted = wanted.match(/^["“](.+)["”]$/);
    if (/^\d[\d\s,]*$/.test(wanted)) this.goToNumber(Number(wanted.replace(/[\s,]/g, "")));
    else this.goToText(quoted ? quoted[1] : wanted);
  }

  goToNumber(number) {
    const count = this.labels.query.length;
    const most = this.selfAttention ? count : Math.max(count, this.labels.key.length);
    if (number >= most) {
      this.told.textContent = `There is no token ${thousands(number)}: 0 to ${thousands(most - 1)}.`;
      return;
    }
    const side = this.selfAttention ? null : number < count ? "query" : "key";
    this.told.textContent = "";
    this.go({ side, index: number });
  }

  /** The first place, and with each further Enter the next one. */
  goToText(wanted) {
    const places = [];
    for (const [side, finder] of Object.entries(this.finders)) {
      for (const index of finder.all(wanted)) places.push({ side: this.selfAttention ? null : side, index });
    }
    if (!places.length) {
      this.told.textContent = "Not in this text.";
      this.last = null;
      return;
    }
    const at = this.last?.wanted === wanted ? (this.last.at + 1) % places.length : 0;
    this.last = { wanted, at };
    const next = at + 1 < places.length ? " Enter for the next." : "";
    this.told.textContent = `${at + 1} of ${thousands(places.length)}: token ${thousands(places[at].index)}.${next}`;
    this.go(places[at]);
  }
}
