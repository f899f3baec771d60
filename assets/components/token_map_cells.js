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
export function paintCells(context, { model, viewport, theme, scale, ratio }) {
  const { width, height } = context.canvas;
  const { cols, rows, steps, open } = model;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const across = cellsUnder(width, viewport.x, cols / viewport.zoom, cols);
  const down = cellsUnder(height, viewport.y, rows / viewport.zoom, rows);
  const [ground, line] = [packed(theme.masked), packed(theme.hatch)];
  const period = Math.max(4, Math.round(HATCH_PERIOD * ratio));
  const thick = Math.max(1, Math.round(ratio));
  const { pixels: colours } = scale;
  const { from, to } = across;
  let write = 0;
  for (let y = 0; y < height; y += 1) {
    const top = down.from[y];
    const bottom = down.to[y];
    for (let x = 0; x < width; x += 1) {
      const first = top * cols + from[x];
      const wide = to[x] - from[x];
      let largest = steps[first];
      if (wide > 1 || bottom - top > 1) {
        for (let start = first, row = top; row < bottom; row += 1, start += cols) {
          for (let at = start; at < start + wide; at += 1) if (steps[at] > largest) largest = steps[at];
        }
      }
      const masked = largest === 0 && open !== null && open[first] === 0;
      pixels[write] = masked ? ((x + y) % period < thick ? line : ground) : colours[largest];
      write += 1;
    }
  }
  context.putImageData(image, 0, 0);
}

/** First and one past the last cell under each of `length` pixels that show `span` cells from `start`. */
function cellsUnder(length, start, span, count) {
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
