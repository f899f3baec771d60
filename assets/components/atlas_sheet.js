// Heads as pixels: all thumbnails of the atlas in one off-screen canvas, and the hatching of what is masked.

/** First and one-past-last source index of each target index; every source index falls in some block. */
function blocks(source, target) {
  const from = new Uint16Array(target);
  const to = new Uint16Array(target);
  for (let i = 0; i < target; i += 1) {
    from[i] = Math.floor((i * source) / target);
    to[i] = Math.max(from[i] + 1, Math.ceil(((i + 1) * source) / target));
  }
  return { from, to };
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
  const across = blocks(cols, tileWidth);
  const down = blocks(rows, tileHeight);
  const whole = tileWidth === cols && tileHeight === rows;
  for (let layer = 0; layer < layers; layer += 1) {
    for (let head = 0; head < heads; head += 1) {
      const start = (layer * heads + head) * rows * cols;
      for (let y = 0; y < tileHeight; y += 1) {
        let put = (layer * tileHeight + y) * sheet.width + head * tileWidth;
        if (whole) {
          const line = start + y * cols;
          for (let x = 0; x < tileWidth; x += 1) target[put++] = pixels[overview[line + x]];
          continue;
        }
        const [y0, y1] = [down.from[y], down.to[y]];
        for (let x = 0; x < tileWidth; x += 1) {
          let largest = 0;
          for (let sy = y0; sy < y1; sy += 1) {
            const line = start + sy * cols;
            for (let sx = across.from[x]; sx < across.to[x]; sx += 1) {
              if (overview[line + sx] > largest) largest = overview[line + sx];
            }
          }
          target[put++] = pixels[largest];
        }
      }
    }
  }
  context.putImageData(image, 0, 0);
  return sheet;
}

/** A square of `size` pixels, hatched where `visible` (rows x cols, 1 = may be looked at) is 0; all of it without one. */
export function paintHatch({ visible, rows, cols, size, colour, ratio }) {
  const tile = document.createElement("canvas");
  tile.width = size;
  tile.height = size;
  const context = tile.getContext("2d");
  const period = Math.max(3, Math.round(5 * ratio));
  context.strokeStyle = colour;
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
