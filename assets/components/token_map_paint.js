// Draws a map: cells, hatching, axes, legend and scale, and the cross through the lit cell.

import { characters } from "./fit_text.js";
import { HATCH_PERIOD } from "./token_map_cells.js";
import { TICK_ROOM } from "./token_map_layout.js";

export class MapPainter {
  /** `paintCells` fills a canvas with the cells that show. */
  constructor(fitter, paintCells) {
    this.fitter = fitter;
    this.paintCells = paintCells;
    this.cells = document.createElement("canvas");
    this.reset();
  }

  /** Forget what was rendered from older numbers or colours. */
  reset() {
    this.cellsOf = "";
  }

  /** Everything, in CSS pixels from the corner of the picture. */
  paint(context, view) {
    const { theme, layout, lit } = view;
    context.fillStyle = theme.background;
    context.fillRect(0, 0, layout.width, layout.height);
    this.strip(context, view);
    this.plot(context, view);
    view.marks?.(context, view);
    if (lit) this.cross(context, view);
    this.axis(context, view, "query");
    this.axis(context, view, "key");
  }

  plot(context, view) {
    const { layout, viewport, ratio, theme } = view;
    const { left, top, width, height } = layout.plot;
    const wanted = [width, height, ratio, viewport.zoom, viewport.x, viewport.y, theme.id].join("|");
    if (this.cellsOf !== wanted) {
      this.cells.width = Math.max(1, Math.round(width * ratio));
      this.cells.height = Math.max(1, Math.round(height * ratio));
      this.paintCells(this.cells.getContext("2d", { alpha: false }), view);
      this.cellsOf = wanted;
    }
    context.drawImage(this.cells, left, top, width, height);
    context.strokeStyle = theme.faint;
    context.lineWidth = 1 / ratio;
    context.strokeRect(left - 0.5 / ratio, top - 0.5 / ratio, width + 1 / ratio, height + 1 / ratio);
  }

  /** Thin lines beside the row and the column of the lit cell, and a frame around it; of a row alone, its lines. */
  cross(context, { axes, layout, viewport, theme, lit }) {
    const { left, top, width, height } = layout.plot;
    const box = viewport.box(lit);
    context.save();
    context.beginPath();
    context.rect(left - 1, top - 1, width + 2, height + 2);
    context.clip();
    context.lineWidth = 1;
    // A cell of less than three pixels gets one line through it in place of two beside it.
    const sides = (at, size) => (size < 3 ? [Math.floor(at + size / 2) + 0.5] : [at - 0.5, at + size + 0.5]);
    context.globalAlpha = 0.75;
    context.strokeStyle = theme[axes.query.line];
    if (lit.row !== null) for (const y of sides(box.y, box.height)) line(context, left, y, left + width, y);
    context.strokeStyle = theme[axes.key.line];
    if (lit.col !== null) for (const x of sides(box.x, box.width)) line(context, x, top, x, top + height);
    context.globalAlpha = 1;
    if (lit.row !== null && lit.col !== null) frame(context, box, theme);
    context.restore();
  }

  axis(context, { model, axes, layout, viewport, theme, lit, most }, side) {
    const { left, top, width, height } = layout.plot;
    const down = side === "query";
    const labels = model.labels[side];
    const { title, ink } = axes[side];
    context.fillStyle = theme[ink];
    context.textBaseline = "middle";
    const flat = !down && !layout.upright;
    const room = flat ? layout.plot.width / layout.cols : TICK_ROOM;
    for (const { index, at, lit: bold, step, name } of viewport.ticks(side, room, (down ? lit?.row : lit?.col) ?? -1)) {
      context.font = labelFont(theme, false);
      // Of a long text every hundredth token says little, and its number where one is.
      const text = name ?? (model.numbered && step > 1 && !bold ? String(index) : labels[index]);
      const { shown, width: wide } = this.fitter.fit(context, text, most[side]);
      context.font = labelFont(theme, bold);
      if (down) write(context, shown, left - 6, top + at, 0, "right");
      else if (flat) write(context, shown, Math.min(left + at, layout.width - wide / 2 - 1), top + height + 12, 0, "center");
      else write(context, shown, left + at, top + height + 6, Math.PI / 2, "left");
    }
    context.font = `400 13px ${theme.font}`;
    if (down) write(context, title, 9, top + height / 2, -Math.PI / 2, "center");
    else write(context, title, left + width / 2, layout.height - 9, 0, "center");
  }

  strip(context, view) {
    const { model, layout, theme, legend, noteLines, noteTop, titleRoom } = view;
    const { left, top, width } = layout.plot;
    context.textBaseline = "middle";
    context.fillStyle = theme.text;
    context.font = `400 16px ${theme.font}`;
    write(context, fitted(context, model.title, titleRoom), 4, 14, 0, "left");
    context.fillStyle = theme.muted;
    context.font = `400 13px ${theme.font}`;
    noteLines.forEach((text, at) => write(context, text, 4, noteTop + at * 17, 0, "left"));
    const barWidth = Math.min(260, Math.max(120, width * 0.4));
    const barLeft = left + width - barWidth;
    const y = top - 28;
    const ramp = context.createLinearGradient(barLeft, 0, barLeft + barWidth, 0);
    legend.stops.forEach((stop, at) => ramp.addColorStop(at / (legend.stops.length - 1), stop));
    context.fillStyle = ramp;
    context.fillRect(barLeft, y, barWidth, 10);
    context.strokeStyle = theme.faint;
    context.lineWidth = 1;
    context.strokeRect(barLeft - 0.5, y - 0.5, barWidth + 1, 11);
    context.fillStyle = theme.muted;
    context.font = `400 12px ${theme.font}`;
    write(context, legend.name, barLeft + barWidth / 2, y - 9, 0, "center");
    context.font = labelFont(theme, false);
    for (const [at, text] of legend.ticks) {
      write(context, text, barLeft + at * barWidth, y + 19, 0, at === 1 ? "right" : at ? "center" : "left");
    }
    if (model.open) this.maskedSign(context, view, y, barLeft);
  }

  maskedSign(context, { layout, theme, ratio }, y, barLeft) {
    const from = layout.plot.left + 210 < barLeft ? layout.plot.left : 4;
    context.font = `400 12px ${theme.font}`;
    const whole = "masked: may not look there";
    const words = from + 30 + context.measureText(whole).width + 10 < barLeft ? whole : "masked";
    context.save();
    context.translate(from, y - 2);
    context.scale(1 / ratio, 1 / ratio);
    context.fillStyle = hatchPattern(context, theme, ratio);
    context.fillRect(0, 0, 24 * ratio, 14 * ratio);
    context.restore();
    context.strokeRect(from - 0.5, y - 2.5, 25, 15);
    context.fillStyle = theme.muted;
    write(context, words, from + 30, y + 6, 0, "left");
  }
}

/** The font of the labels on both axes. */
export function labelFont(theme, bold) {
  return `${bold ? 600 : 400} 11px ${theme.mono}`;
}

/** Text in lines of at most `most` pixels, broken between words. */
export function wrapped(context, text, most) {
  const lines = [];
  for (const word of text ? text.split(" ") : []) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && context.measureText(longer).width <= most) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function fitted(context, text, most) {
  let shown = text;
  const parts = characters(text);
  while (parts.length > 1 && context.measureText(shown).width > most) {
    parts.pop();
    shown = `${parts.join("")}…`;
  }
  return shown;
}

function write(context, text, x, y, angle, align) {
  context.textAlign = align;
  if (!angle) {
    context.fillText(text, x, y);
    return;
  }
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  context.fillText(text, 0, 0);
  context.restore();
}

/** Around a cell, grown where it is too small to be seen. */
function frame(context, box, theme) {
  const grow = Math.max(1, (7 - box.width) / 2);
  for (const [colour, width] of [[theme.background, 3], [theme.text, 1.5]]) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.strokeRect(box.x - grow, box.y - grow, box.width + 2 * grow, box.height + 2 * grow);
  }
}

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/** Slanting lines, equally far apart on the screen whatever the zoom; in device pixels. */
function hatchPattern(context, theme, ratio) {
  const tile = document.createElement("canvas");
  const size = Math.max(4, Math.round(HATCH_PERIOD * ratio));
  tile.width = tile.height = size;
  const pen = tile.getContext("2d");
  pen.fillStyle = theme.masked;
  pen.fillRect(0, 0, size, size);
  pen.strokeStyle = theme.hatch;
  pen.lineWidth = Math.max(1, ratio);
  for (const at of [-size, 0, size]) line(pen, at - 1, size + 1, at + size + 1, -1);
  return context.createPattern(tile, "repeat");
}
