// Where each head of the atlas sits: layers are rows, heads are columns, and deep models fold into several bands.

const SMALLEST_CELL = 18;
const LARGEST_CELL = 132;
const COMFORTABLE_CELL = 48; // when the picture scrolls anyway, larger cells would only scroll further
const BAND_GAP = 26;
const PHONE = 440;

/**
 * Sizes in CSS pixels, snapped to device pixels so that cells stay crisp.
 *
 * 30 layers of 9 heads as one tall column would leave cells of 17 px; as three bands of ten layers they have 46.
 */
export function atlasLayout({ layers, heads, kvHeads, width, maxHeight, zoom, ratio }) {
  const snap = (size) => Math.floor(size * ratio) / ratio;
  const grouped = kvHeads > 0 && kvHeads < heads;
  const groupSize = grouped ? heads / kvHeads : heads;
  const top = grouped ? 34 : 22;
  const phone = width < PHONE;
  const labelWidth = phone ? 30 : 34;
  const gap = snap(phone ? 2 : 3);
  const groupGap = grouped ? snap(phone ? 6 : 9) : gap;
  const groups = grouped ? kvHeads : 1;
  const gapsWidth = (heads - groups) * gap + (groups - 1) * groupGap;

  const fit = (bands) => {
    const rows = Math.ceil(layers / bands);
    const inner = (width - (bands - 1) * BAND_GAP) / bands - labelWidth;
    const byWidth = (inner - gapsWidth) / heads;
    const byHeight = (maxHeight - top - 2) / rows - gap;
    return { bands, rows, byWidth, cell: Math.min(byWidth, byHeight, LARGEST_CELL) };
  };

  const column = fit(1);
  let best = column;
  for (let bands = 2; !phone && bands <= Math.min(6, layers); bands += 1) {
    const next = fit(bands);
    if (next.cell > best.cell) best = next;
  }
  // On a phone, and for models too large for any fold, the layers run on below the edge.
  if (phone || best.cell < SMALLEST_CELL) {
    best = { ...column, cell: Math.min(column.byWidth, phone ? LARGEST_CELL : COMFORTABLE_CELL) };
  }
  const cell = snap(Math.max(best.cell, SMALLEST_CELL) * zoom);
  const bandWidth = labelWidth + heads * cell + gapsWidth;
  const { bands, rows } = best;

  const columnX = (head) => {
    const group = Math.floor(head / groupSize);
    return snap(labelWidth + head * (cell + gap) + group * (groupGap - gap));
  };
  const bandX = (band) => snap(band * (bandWidth + BAND_GAP));
  const rowY = (row) => snap(top + row * (cell + gap));

  return {
    cell,
    gap,
    top,
    bands,
    rows,
    grouped,
    groupSize,
    labelWidth,
    bandX,
    columnX,
    rowY,
    contentWidth: bands * bandWidth + (bands - 1) * BAND_GAP + 2,
    contentHeight: top + rows * (cell + gap) + 2,
    bandOf: (layer) => Math.floor(layer / rows),

    /** The square of one head. */
    box(layer, head) {
      const band = Math.floor(layer / rows);
      return { x: bandX(band) + columnX(head), y: rowY(layer % rows), size: cell };
    },

    /** Rectangles around what is chosen: one head, a layer (head -1), a head in all layers (layer -1), or everything. */
    outlines({ layer, head }) {
      const first = head < 0 ? 0 : head;
      const last = head < 0 ? heads - 1 : head;
      const width = columnX(last) - columnX(first) + cell;
      const at = (top, bottom) => ({
        x: bandX(Math.floor(top / rows)) + columnX(first),
        y: rowY(top % rows),
        width,
        height: rowY(bottom % rows) - rowY(top % rows) + cell,
      });
      if (layer >= 0) return [at(layer, layer)];
      return Array.from({ length: bands }, (_, band) => at(band * rows, Math.min((band + 1) * rows, layers) - 1));
    },

    /** The head at a point, or null between heads. */
    at(x, y) {
      const band = Math.floor(x / (bandWidth + BAND_GAP));
      const row = Math.floor((y - top) / (cell + gap));
      const layer = band * rows + row;
      if (band < 0 || band >= bands || row < 0 || row >= rows || layer >= layers) return null;
      for (let head = 0; head < heads; head += 1) {
        const from = bandX(band) + columnX(head);
        if (x >= from && x < from + cell + gap) return { layer, head };
      }
      return null;
    },

    /** The head that an arrow key leads to; left and right run on into the neighbouring band. */
    step({ layer, head }, key) {
      if (key === "ArrowUp") return { layer: Math.max(0, layer - 1), head };
      if (key === "ArrowDown") return { layer: Math.min(layers - 1, layer + 1), head };
      if (key === "Home") return { layer, head: 0 };
      if (key === "End") return { layer, head: heads - 1 };
      if (key === "PageUp") return { layer: 0, head };
      if (key === "PageDown") return { layer: layers - 1, head };
      const next = head + (key === "ArrowRight" ? 1 : -1);
      if (next >= 0 && next < heads) return { layer, head: next };
      const other = layer + (next < 0 ? -rows : rows);
      return other >= 0 && other < layers ? { layer: other, head: next < 0 ? heads - 1 : 0 } : { layer, head };
    },
  };
}
