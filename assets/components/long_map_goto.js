// "Go to token": a field that takes a number or some letters of the text.

import { element } from "./element.js";
import { thousands } from "./long_map_words.js";

/** Finds tokens by text, which may run over several of them. All blanks are the same. */
export class TokenFinder {
  /** `texts` has what each token adds to the text; see `searched` in tfmviz/components/long_map.py. */
  constructor(texts) {
    this.starts = new Uint32Array(texts.length);
    let length = 0;
    const parts = texts.map((part, index) => {
      const text = plain(part);
      this.starts[index] = length;
      length += text.length;
      return text;
    });
    this.text = parts.join("");
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
  return text.replace(/\s/g, " ").toLowerCase();
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
  use({ labels, texts, selfAttention }) {
    if (this.labels === labels) return;
    this.labels = labels;
    this.finders = { query: new TokenFinder(texts.query) };
    if (!selfAttention) this.finders.key = new TokenFinder(texts.key);
    this.selfAttention = selfAttention;
    this.last = null;
    this.told.textContent = "";
  }

  submit(event) {
    event.preventDefault();
    const wanted = this.input.value.trim();
    if (!wanted) {
      this.told.textContent = ""; // what was said of another token
      return;
    }
    const quoted = wanted.match(/^["“](.+)["”]$/);
    const text = quoted ? quoted[1] : wanted;
    const number = /^\d[\d\s,]*$/.test(wanted) ? Number(wanted.replace(/[\s,]/g, "")) : null;
    // A year is no token's number: it may be in the text.
    if (number === null || (number >= this.most && this.places(text).length)) this.goToText(text);
    else this.goToNumber(number);
  }

  /** Tokens there are, of the longer text where there are two. */
  get most() {
    return Math.max(this.labels.query.length, this.labels.key.length);
  }

  goToNumber(number) {
    const { most } = this;
    const count = this.labels.query.length;
    if (number >= most) {
      this.told.textContent = `There is no token ${thousands(number)}: 0 to ${thousands(most - 1)}.`;
      return;
    }
    const side = this.selfAttention ? null : number < count ? "query" : "key";
    this.told.textContent = "";
    this.go({ side, index: number });
  }

  /** Every place at which a text is found; `side` as `go` takes it. */
  places(wanted) {
    return Object.entries(this.finders).flatMap(([side, finder]) =>
      finder.all(wanted).map((index) => ({ side: this.selfAttention ? null : side, index })),
    );
  }

  /** The first place, and with each further Enter the next one. */
  goToText(wanted) {
    const places = this.places(wanted);
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
