// The pixels of a long text's map: blocks everywhere, then exact cells over them where there are some.

import { cellsUnder, fillPixels, inksOf } from "./token_map_cells.js";

/** Fill a canvas with the part of the map that shows. */
export function paintLongCells(context, view) {
  const { width, height } = context.canvas;
  const { model, viewport } = view;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const inks = inksOf(view);
  const [spanX, spanY] = [model.cols / viewport.zoom, model.rows / viewport.zoom];
  fillPixels(pixels, width, inks, {
    ...model.blocks,
    across: cellsUnder(width, viewport.x / model.block, spanX / model.block, model.blocks.cols),
    down: cellsUnder(height, viewport.y / model.block, spanY / model.block, model.blocks.rows),
    right: width,
    bottom: height,
  });
  // A cell of less than a pixel would hide its neighbours: then the blocks, which are maxima, say more.
  if (isExact(view)) {
    const across = cellsUnder(width, viewport.x, spanX, model.cols);
    const down = cellsUnder(height, viewport.y, spanY, model.rows);
    for (const tile of model.tiles.values()) {
      const [left, right] = between(across.from, tile.firstCol, tile.firstCol + tile.cols);
      const [top, bottom] = between(down.from, tile.firstRow, tile.firstRow + tile.rows);
      fillPixels(pixels, width, inks, { ...tile, across, down, left, right, top, bottom });
    }
  }
  context.putImageData(image, 0, 0);
}

/** Whether each cell has a pixel of its own, and there are few enough of them to fetch. */
export function isExact({ model, viewport, ratio }) {
  const { top, left, bottom, right } = viewport.shown;
  const large = Math.min(viewport.cellWidth, viewport.cellHeight) * ratio >= 1;
  return large && (bottom - top) * (right - left) <= model.most.cells;
}

/** The whole map on a small canvas. */
export function paintMinimap(context, view) {
  const { width, height } = context.canvas;
  const { blocks } = view.model;
  const image = context.createImageData(width, height);
  fillPixels(new Uint32Array(image.data.buffer), width, inksOf(view), {
    ...blocks,
    across: cellsUnder(width, 0, blocks.cols, blocks.cols),
    down: cellsUnder(height, 0, blocks.rows, blocks.rows),
    right: width,
    bottom: height,
  });
  context.putImageData(image, 0, 0);
}

/** First and one past the last pixel whose cell lies from `first` to before `past`; `cells` ascend. */
function between(cells, first, past) {
  const before = (limit) => {
    let [low, high] = [0, cells.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cells[middle] < limit) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [before(first), before(past)];
}
