// Text cut to a width between characters as readers see them.

export const PLAIN = /^[\x20-\x7e]*$/;
const graphemes = typeof Intl.Segmenter === "function" ? new Intl.Segmenter() : null;

/** The characters of a text, a letter with its marks or a whole emoji counting as one. */
export function characters(text) {
  return graphemes ? [...graphemes.segment(text)].map((part) => part.segment) : [...text];
}

/** Measures and cuts texts in one monospaced font; remembers each. */
export class TextFitter {
  constructor() {
    this.reset();
  }

  /** Measure again, after the font changed. */
  reset() {
    this.fitted = new Map();
    this.advance = 0;
  }

  /** What fits of a text into `most` pixels, and its width; the context has the font. */
  fit(context, text, most) {
    const wanted = `${most}|${text}`;
    let label = this.fitted.get(wanted);
    if (!label) {
      label = this.cut(context, text, most);
      this.fitted.set(wanted, label);
    }
    return label;
  }

  cut(context, text, most) {
    let [shown, width] = [text, this.widthOf(context, text)];
    const parts = width > most ? characters(text) : [];
    while (parts.length > 1 && width > most) {
      parts.pop();
      shown = `${parts.join("")}…`;
      width = this.widthOf(context, shown);
    }
    return { shown, width };
  }

  /** Plain letters all have the font's one width, which saves measuring a thousand tokens. */
  widthOf(context, text) {
    if (!PLAIN.test(text)) return context.measureText(text).width;
    this.advance ||= context.measureText("0".repeat(32)).width / 32;
    return this.advance * text.length;
  }
}
