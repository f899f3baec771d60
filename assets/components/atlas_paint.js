// Draws the atlas: thumbnails, hatching, labels, brackets of shared keys and values, rings.

import { mix, withAlpha } from "./theme.js";
import { paintHatch, paintSheet } from "./atlas_sheet.js";

export class AtlasPainter {
  constructor() {
    this.sheet = null;
    this.sheetOf = "";
    this.hatches = new Map();
  }

  /** Forget what was rendered from older numbers. */
  reset() {
    this.sheetOf = "";
    this.hatches.clear();
  }

  tiles(model, theme, scale, cellPixels) {
    const width = Math.min(cellPixels, model.cols);
    const height = Math.min(cellPixels, model.rows);
    const wanted = `${width}x${height}|${theme.id}`;
    if (this.sheetOf !== wanted) {
      this.sheet = paintSheet({ ...model, tileWidth: width, tileHeight: height, pixels: scale.pixels });
      this.sheetOf = wanted;
    }
    return { width, height };
  }

  hatch(model, theme, mask, size, ratio) {
    const wanted = `${mask}|${size}|${theme.id}`;
    if (!this.hatches.has(wanted)) {
      if (this.hatches.size > 64) this.hatches.clear();
      const area = model.maskRows * model.maskCols;
      const visible = mask < 0 ? null : model.visible.subarray(mask * area, (mask + 1) * area);
      // Hundreds of small hatched triangles would drown the weights beside them: small ones are quieter.
      const line = size < 96 * ratio ? mix(theme.masked, theme.hatch, 0.6) : theme.hatch;
      const look = { size, ground: theme.masked, line, ratio };
      this.hatches.set(wanted, paintHatch({ visible, rows: model.maskRows, cols: model.maskCols, ...look }));
    }
    return this.hatches.get(wanted);
  }

  /** One head of the sheet into its cell. */
  head(context, { model, theme, scale, layout, stage, layer, head, x, y }) {
    const { ratio } = stage;
    const pixels = Math.round(layout.cell * ratio);
    if (!model.reasons[layer]) {
      const { width, height } = this.tiles(model, theme, scale, pixels);
      context.imageSmoothingEnabled = false;
      context.drawImage(this.sheet, head * width, layer * height, width, height, x, y, layout.cell, layout.cell);
    }
    this.cover(context, { model, theme, layer, x, y, size: layout.cell, ratio });
  }

  /** What lies over a head's weights: hatching where masked or where there is no attention, and a hairline frame. */
  cover(context, { model, theme, layer, x, y, size, ratio }) {
    const mask = model.reasons[layer] ? -1 : model.maskOf[layer];
    if (mask >= 0 || model.reasons[layer]) {
      context.drawImage(this.hatch(model, theme, mask, Math.round(size * ratio), ratio), x, y, size, size);
    }
    context.strokeStyle = theme.faint;
    context.lineWidth = 1 / ratio;
    context.strokeRect(x - 0.5 / ratio, y - 0.5 / ratio, size + 1 / ratio, size + 1 / ratio);
  }

  /** One head by itself, filling a square of `size` CSS pixels from the corner. */
  magnified(context, { model, theme, scale, layer, head, size, ratio }) {
    const area = model.rows * model.cols;
    const start = (layer * model.heads + head) * area;
    const overview = model.overview.subarray(start, start + area);
    const one = { overview, layers: 1, heads: 1, rows: model.rows, cols: model.cols, pixels: scale.pixels };
    context.imageSmoothingEnabled = false;
    const sheet = paintSheet({ ...one, tileWidth: model.cols, tileHeight: model.rows });
    context.drawImage(sheet, 0, 0, size, size);
    this.cover(context, { model, theme, layer, x: 0, y: 0, size, ratio });
  }

  /** Everything but the rings, for the part of the picture that shows. */
  base(context, view) {
    const { model, layout, theme, stage } = view;
    const { left, top, width, height } = stage;
    context.fillStyle = theme.background;
    context.fillRect(0, 0, width, height);
    for (let layer = 0; layer < model.layers; layer += 1) {
      for (let head = 0; head < model.heads; head += 1) {
        const box = layout.box(layer, head);
        const [x, y] = [box.x - left, box.y - top];
        if (x > width || y > height || x + box.size < 0 || y + box.size < layout.top) continue;
        this.head(context, { model, theme, layout, stage, scale: view.scale, layer, head, x, y });
      }
    }
    this.labels(context, view);
  }

  labels(context, { model, layout, theme, stage, chosen }) {
    const { left, top, width, height } = stage;
    const pinned = layout.bands === 1; // with one band the layer names stay in sight while the picture moves sideways
    const font = (bold) => `${bold ? 600 : 400} 11px ${theme.mono}`;
    context.textBaseline = "middle";
    for (let layer = 0; layer < model.layers; layer += 1) {
      const box = layout.box(layer, 0);
      const x = pinned ? 0 : box.x - layout.labelWidth - left;
      const y = box.y - top + box.size / 2;
      if (y < layout.top - 8 || y > height + 8) continue;
      const mine = chosen && (chosen.layer < 0 || chosen.layer === layer);
      if (pinned && left > 0) {
        context.fillStyle = withAlpha(theme.background, 0.92);
        context.fillRect(0, y - box.size / 2, layout.labelWidth - 4, box.size);
      }
      context.font = font(mine);
      context.textAlign = "right";
      context.fillStyle = mine ? theme.text : theme.muted;
      context.fillText(`L${layer}`, x + layout.labelWidth - 7, y);
    }
    context.fillStyle = theme.background;
    context.fillRect(0, 0, width, layout.top - 1);
    for (let band = 0; band < layout.bands; band += 1) {
      for (let head = 0; head < model.heads; head += 1) {
        const x = layout.bandX(band) + layout.columnX(head) - left + layout.cell / 2;
        if (x < -20 || x > width + 20) continue;
        const mine = isChosen(chosen, layout, head, band);
        context.font = font(mine);
        context.textAlign = "center";
        context.fillStyle = mine ? theme.text : theme.muted;
        context.fillText(layout.cell < 24 ? `${head}` : `H${head}`, x, 10);
      }
      if (layout.grouped) this.brackets(context, { model, layout, theme, left, band });
    }
    if (pinned && left > 0) {
      context.fillStyle = theme.background;
      context.fillRect(0, 0, layout.labelWidth - 4, layout.top - 1);
    }
  }

  /** Query heads that read the same keys and values stand under one bracket. */
  brackets(context, { model, layout, theme, left, band }) {
    context.strokeStyle = theme.key;
    context.lineWidth = 1;
    context.textAlign = "center";
    for (let group = 0; group < model.kvHeads; group += 1) {
      const first = group * layout.groupSize;
      const from = layout.bandX(band) + layout.columnX(first) - left + 0.5;
      const to = layout.bandX(band) + layout.columnX(first + layout.groupSize - 1) + layout.cell - left - 0.5;
      const [name, y] = [`KV${group}`, 24.5];
      context.font = `400 10px ${theme.mono}`;
      const half = context.measureText(name).width / 2 + 4;
      const middle = (from + to) / 2;
      const named = to - from > 2 * half + 12;
      context.beginPath();
      context.moveTo(from, y + 5);
      context.lineTo(from, y);
      if (named) {
        context.lineTo(middle - half, y);
        context.moveTo(middle + half, y);
      }
      context.lineTo(to, y);
      context.lineTo(to, y + 5);
      context.stroke();
      if (named) {
        context.fillStyle = theme.key_ink;
        context.fillText(name, middle, y);
      }
    }
  }

  /** A ring runs in the middle of the gap between heads, so that it hides no weight of the neighbours. */
  ring(context, { layout, theme, stage }, place, kind) {
    context.save();
    context.beginPath();
    context.rect(0, layout.top - 4, stage.width, stage.height);
    context.clip();
    context.lineJoin = "round";
    if (kind === "focus") context.setLineDash([4, 3]);
    context.strokeStyle = theme.text;
    context.lineWidth = kind === "chosen" ? 2.5 : 1.5;
    for (const { x, y, width, height } of layout.outlines(place)) {
      context.strokeRect(x - stage.left - 1.5, y - stage.top - 1.5, width + 3, height + 3);
    }
    context.restore();
  }
}

/** Whether a column of a band holds what is chosen. */
function isChosen(chosen, layout, head, band) {
  if (!chosen) return false;
  const column = chosen.head < 0 || chosen.head === head;
  return column && (chosen.layer < 0 || layout.bandOf(chosen.layer) === band);
}
