// A map as a file.

import { element } from "./element.js";
import { MapPainter } from "./token_map_paint.js";

const SAVED_RATIO = 2;

/** Save what a map shows as a PNG, at twice the screen's size, without the cross. */
export function saveMap(view) {
  const { width, height } = view.layout;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.round(width * SAVED_RATIO), Math.round(height * SAVED_RATIO)];
  const context = canvas.getContext("2d", { alpha: false });
  context.scale(SAVED_RATIO, SAVED_RATIO);
  const painter = new MapPainter(view.fitter, view.paintCells);
  painter.paint(context, { ...view.picture(SAVED_RATIO, null), ...view.savedStrip(context) });
  canvas.toBlob((blob) => {
    const link = element("a", { attributes: { href: URL.createObjectURL(blob) } });
    link.download = `tfmviz ${view.model.title}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }, "image/png");
}
