// The numbers of one map as the browser keeps them: weights, colours as steps of a byte, and who may look where.

/** Weights of shape (rows, cols), row by row. `open` is 1 where the query may look; null if it may everywhere. */
export function readMap(header, arrays) {
  const { rows, cols, query, keys, title, note, scaled } = header;
  const labels = { query, key: keys ?? query };
  const { weights, steps } = arrays;
  const open = readOpen(arrays, rows, cols);
  return { rows, cols, labels, title, note, scaled, weights, open, steps: stepsOf(weights, steps, open) };
}

/** 1 where the query may look, row by row; null where it may everywhere. */
export function readOpen({ spans, bits }, rows, cols) {
  return spans ? openFromSpans(spans, rows, cols) : bits ? openFromBits(bits, rows * cols) : null;
}

/** 0 to 255 for the scale, 0 where masked. Rows that were scaled come with 1 for none and 255 for their largest. */
function stepsOf(weights, scaled, open) {
  const steps = new Uint8ClampedArray(weights.length); // rounds by itself
  for (let i = 0; i < steps.length; i += 1) {
    if (open === null || open[i]) steps[i] = scaled ? ((scaled[i] - 1) * 255) / 254 : weights[i] * 255;
  }
  return steps;
}

function openFromSpans(spans, rows, cols) {
  const open = new Uint8Array(rows * cols);
  for (let at = 0; at < spans.length; at += 3) {
    open.fill(1, spans[at] * cols + spans[at + 1], spans[at] * cols + spans[at + 2]);
  }
  return open;
}

function openFromBits(bits, count) {
  return Uint8Array.from({ length: count }, (_, i) => (bits[i >> 3] >> (7 - (i & 7))) & 1);
}
