// The cells of a map as pixels. One pass over the screen's pixels: canvases laid over canvases took ten times as long.

import { parseColour } from "./theme.js";

/** Pixels between two lines of the hatching, on a screen of ratio 1. */
export const HATCH_PERIOD = 7;

/**
 * Fill a canvas with the part of a map that shows.
 *
 * Where the screen has fewer pixels than there are cells, a pixel has the largest weight under it, so that a diagonal
 * one token wide stays whole. Hatching has its period on the screen, whatever the zoom.
 */
export function paintCells(context, view) {
  const { width, height } = context.canvas;
  const { model, viewport } = view;
  const across = cellsUnder(width, viewport.x, model.cols / viewport.zoom, model.cols);
  const down = cellsUnder(height, viewport.y, model.rows / viewport.zoom, model.rows);
  const image = context.createImageData(width, height);
  fillPixels(new Uint32Array(image.data.buffer), width, inksOf(view), { ...model, across, down, right: width, bottom: height });
  context.putImageData(image, 0, 0);
}

/**
 * Fill a rectangle of a screen's pixels with cells.
 *
 * @param pixels of the whole screen, `width` in a row.
 * @param part the cells and where they go: `steps` and `open` of shape (any, cols), the first of them row `firstRow`
 *   and column `firstCol` of what `across` and `down` count; the pixels from `left` and `top` to before `right` and
 *   `bottom`.
 */
export function fillPixels(pixels, width, inks, part) {
  const { steps, open, cols, across, down, firstRow = 0, firstCol = 0, left = 0, top = 0, right, bottom } = part;
  const { colours, ground, line, period, thick } = inks;
  const { from, to } = across;
  for (let y = top; y < bottom; y += 1) {
    const height = down.to[y] - down.from[y];
    const start = (down.from[y] - firstRow) * cols - firstCol;
    let write = y * width + left;
    for (let x = left; x < right; x += 1) {
      const first = start + from[x];
      const wide = to[x] - from[x];
      let largest = steps[first];
      if (wide > 1 || height > 1) {
        for (let row = 0, begin = first; row < height; row += 1, begin += cols) {
          for (let at = begin; at < begin + wide; at += 1) if (steps[at] > largest) largest = steps[at];
        }
      }
      const masked = largest === 0 && open !== null && open[first] === 0;
      pixels[write] = masked ? ((x + y) % period < thick ? line : ground) : colours[largest];
      write += 1;
    }
  }
}

/** Colours of cells and of hatching as pixels, and how the hatching is spaced on this screen. */
export function inksOf({ theme, scale, ratio }) {
  const period = Math.max(4, Math.round(HATCH_PERIOD * ratio));
  const thick = Math.max(1, Math.round(ratio));
  return { colours: scale.pixels, ground: packed(theme.masked), line: packed(theme.hatch), period, thick };
}

/** First and one past the last cell under each of `length` pixels that show `span` cells from `start`. */
export function cellsUnder(length, start, span, count) {
  const from = new Uint32Array(length);
  const to = new Uint32Array(length);
  for (let i = 0; i < length; i += 1) {
    from[i] = Math.min(count - 1, Math.floor(start + (i * span) / length));
    to[i] = Math.min(count, Math.max(from[i] + 1, Math.floor(start + ((i + 1) * span) / length)));
  }
  return { from, to };
}

function packed(colour) {
  const [r, g, b] = parseColour(colour);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
