// Heads as pixels: all thumbnails of the atlas in one off-screen canvas, and the hatching of what is masked.

/** The target index of each source index, when `source` pixels shrink to `target`; each source index goes to one. */
function shrunk(source, target) {
  return Uint16Array.from({ length: source }, (_, i) => Math.floor((i * target) / source));
}

/** Largest weight of each block of one head, into `pooled` (a tile, row by row). */
function poolHead(overview, start, rowTo, colTo, tileWidth, pooled) {
  pooled.fill(0);
  let read = start;
  for (let row = 0; row < rowTo.length; row += 1) {
    const line = rowTo[row] * tileWidth;
    for (let col = 0; col < colTo.length; col += 1) {
      const weight = overview[read++];
      if (weight > pooled[line + colTo[col]]) pooled[line + colTo[col]] = weight;
    }
  }
}

/** A tile of weights as colours, into its place in a picture `stride` pixels wide. */
function colourTile(weights, from, tileWidth, tileHeight, pixels, target, put, stride) {
  for (let y = 0; y < tileHeight; y += 1) {
    const read = from + y * tileWidth;
    const write = put + y * stride;
    for (let x = 0; x < tileWidth; x += 1) target[write + x] = pixels[weights[read + x]];
  }
}

/**
 * All heads side by side (columns) and layers below each other (rows), each `tileWidth` x `tileHeight` pixels.
 *
 * A tile smaller than its head keeps the largest weight of each block, as the overview itself does: averaging
 * would wash out a diagonal one token wide.
 */
export function paintSheet({ overview, layers, heads, rows, cols, tileWidth, tileHeight, pixels }) {
  const sheet = document.createElement("canvas");
  sheet.width = heads * tileWidth;
  sheet.height = layers * tileHeight;
  const context = sheet.getContext("2d");
  const image = context.createImageData(sheet.width, sheet.height);
  const target = new Uint32Array(image.data.buffer);
  const whole = tileWidth === cols && tileHeight === rows;
  const [rowTo, colTo] = [shrunk(rows, tileHeight), shrunk(cols, tileWidth)];
  const pooled = new Uint8Array(tileWidth * tileHeight);
  for (let layer = 0; layer < layers; layer += 1) {
    for (let head = 0; head < heads; head += 1) {
      const start = (layer * heads + head) * rows * cols;
      const put = layer * tileHeight * sheet.width + head * tileWidth;
      if (!whole) poolHead(overview, start, rowTo, colTo, tileWidth, pooled);
      const [weights, from] = whole ? [overview, start] : [pooled, 0];
      colourTile(weights, from, tileWidth, tileHeight, pixels, target, put, sheet.width);
    }
  }
  context.putImageData(image, 0, 0);
  return sheet;
}

/** A square of `size` pixels, hatched where `visible` (rows x cols, 1 = may be looked at) is 0; all of it without one. */
export function paintHatch({ visible, rows, cols, size, ground, line, ratio }) {
  const tile = document.createElement("canvas");
  tile.width = size;
  tile.height = size;
  const context = tile.getContext("2d");
  context.fillStyle = ground;
  context.fillRect(0, 0, size, size);
  const period = Math.max(3, Math.round(5 * ratio));
  context.strokeStyle = line;
  context.lineWidth = Math.max(1, Math.round(ratio * 0.9));
  context.beginPath();
  for (let at = -size; at < size; at += period) {
    context.moveTo(at, size + 1);
    context.lineTo(at + size + 1, 0);
  }
  context.stroke();
  if (!visible) return tile;
  for (let row = 0; row < rows; row += 1) {
    const [y0, y1] = [Math.round((row * size) / rows), Math.round(((row + 1) * size) / rows)];
    let from = 0;
    for (let col = 0; col <= cols; col += 1) {
      if (col < cols && visible[row * cols + col]) continue;
      if (col > from) {
        const [x0, x1] = [Math.round((from * size) / cols), Math.round((col * size) / cols)];
        context.clearRect(x0, y0, x1 - x0, y1 - y0);
      }
      from = col + 1;
    }
  }
  return tile;
}
