// Tokens as chips on a canvas: visible blanks come with the text, special tokens in small caps, padding greyed.

import { mix, withAlpha } from "./theme.js";
import { PLAIN, characters } from "./fit_text.js";
import { PADDING, SPECIAL } from "./lines_model.js";

export const CHIP_HEIGHT = 21;
export const TINT = 0.09;
const PAD = 6;

export class Chips {
  constructor() {
    this.measured = new Map();
    this.advance = 0;
  }

  /** Measure again, after fonts or theme changed. */
  reset() {
    this.measured.clear();
    this.advance = 0;
  }

  /** Width of a text; plain letters all have the mono font's one width, which saves measuring thousands of tokens. */
  widthOf(context, text, special) {
    if (special || !PLAIN.test(text)) return context.measureText(text).width;
    this.advance ||= context.measureText("0".repeat(32)).width / 32;
    return this.advance * text.length;
  }

  font(theme, special) {
    return `${special ? 600 : 400} ${special ? 14 : 12}px ${theme.mono}`;
  }

  /** What fits of a token's text into `most` pixels, and the chip's width. */
  fit(context, theme, text, special, most) {
    const wanted = `${special ? "s" : "t"}${most}${text}`;
    let chip = this.measured.get(wanted);
    if (!chip) {
      this.style(context, theme, special);
      let shown = special ? text.toLowerCase() : text;
      let width = this.widthOf(context, shown, special);
      if (width > most - 2 * PAD) {
        const parts = characters(shown);
        while (parts.length > 1 && width > most - 2 * PAD) {
          parts.pop();
          shown = `${parts.join("")}…`;
          width = this.widthOf(context, shown, special);
        }
      }
      chip = { shown, width: Math.ceil(Math.max(width, 8) + 2 * PAD) };
      this.measured.set(wanted, chip);
      context.fontVariantCaps = "normal";
    }
    return chip;
  }

  style(context, theme, special) {
    context.font = this.font(theme, special);
    context.fontVariantCaps = special ? "all-small-caps" : "normal";
  }

  /**
   * Draw one chip with its left edge and middle line at (x, y).
   *
   * `state` is "rest", "lit" (the touched token), "linked" (at the other end of a lit line), "masked" or "dim";
   * `heat` from 0 to 1 tints a linked chip; `corners` are radii where pieces of one word join.
   */
  draw(context, { theme, chip, flags, role, x, y, state = "rest", heat = 0, corners = 4 }) {
    const special = Boolean(flags & SPECIAL);
    const padding = Boolean(flags & PADDING);
    const colour = padding ? theme.muted : theme[role];
    const ink = padding ? theme.muted : theme[`${role}_ink`];
    const top = y - CHIP_HEIGHT / 2;
    context.beginPath();
    context.roundRect(x + 0.5, top + 0.5, chip.width - 1, CHIP_HEIGHT - 1, corners);
    context.fillStyle = theme.background;
    context.fill();
    if (state === "lit") context.fillStyle = colour;
    else if (state === "linked") context.fillStyle = withAlpha(colour, 0.1 + 0.45 * heat);
    else if (state === "masked") context.fillStyle = theme.masked;
    else if (padding || state === "dim") context.fillStyle = "transparent";
    else context.fillStyle = withAlpha(colour, special ? 0.03 : TINT);
    context.fill();
    if (state === "lit" || state === "linked" || special || padding) {
      context.strokeStyle = state === "lit" || state === "linked" ? colour : theme.faint;
      context.setLineDash(padding ? [2, 2] : []);
      context.lineWidth = 1;
      context.stroke();
      context.setLineDash([]);
    }
    if (state === "masked") this.hatch(context, theme, x, top, chip.width);
    this.style(context, theme, special);
    context.textAlign = "left";
    context.textBaseline = "middle";
    const quiet = state === "masked" || state === "dim" || padding;
    const strong = state === "linked" ? mix(ink, theme.text, 0.35) : special ? theme.muted : ink;
    context.fillStyle = state === "lit" ? theme.background : quiet ? theme.muted : strong;
    context.fillText(chip.shown, x + PAD, y + 1);
    context.fontVariantCaps = "normal";
  }

  hatch(context, theme, x, top, width) {
    context.save();
    context.clip();
    context.strokeStyle = theme.hatch;
    context.lineWidth = 1;
    context.beginPath();
    for (let at = x - CHIP_HEIGHT; at < x + width; at += 5) {
      context.moveTo(at, top + CHIP_HEIGHT);
      context.lineTo(at + CHIP_HEIGHT, top);
    }
    context.stroke();
    context.restore();
  }
}
