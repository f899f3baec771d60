// Brings a chosen head's map to the screen while Streamlit is still drawing the page again.

import { readArrays, readHeader } from "./payload.js";
import { readMap } from "./token_map_model.js";
import { parseColour, readScale } from "./theme.js";

// Streamlit hears of a click once the map is painted, for the page that it sends then keeps the browser busy for a third
// of a second. If the map has not come by now, it hears of it all the same.
const PATIENCE_MS = 150;

/**
 * Ask the server for one head's map and put it into the map that shows; see tfmviz/ui/head_feed.py.
 *
 * Nothing here is needed: where it fails, the page that Streamlit sends a moment later has the same map.
 *
 * @param isChosen whether the head is still the chosen one when the answer comes.
 * @returns a promise that is kept once the map is painted, or will not be soon.
 */
export function bringHead(feed, place, options) {
  const brought = fetchHead(feed, place, options).then(() => new Promise((done) => afterPaint(done)));
  return Promise.race([brought, new Promise((done) => setTimeout(done, PATIENCE_MS))]);
}

/** The frame that shows what has just been drawn is painted after its callbacks; a task behind it comes after that. */
function afterPaint(done) {
  requestAnimationFrame(() => setTimeout(done));
}

async function fetchHead(feed, { layer, head }, { dark, isChosen }) {
  try {
    const response = await fetch(`${feed}/${layer}/${head}`);
    if (!response.ok) return;
    const data = new Uint8Array(await response.arrayBuffer());
    if (!isChosen()) return;
    const header = readHeader(data);
    document.dispatchEvent(new CustomEvent("tfmviz:head", { detail: { key: header.key, kind: header.kind, data } }));
    intoPlotly(header, readArrays(data, header), dark);
  } catch (error) {
    console.debug("tfmviz: the map comes with the page", error);
  }
}

/** Plotly's picture of a small map has one pixel a cell: exchange it, the weights that hover reads, and the title. */
function intoPlotly(header, arrays, dark) {
  const plot = document.querySelector(`.st-key-${header.key} .js-plotly-plot`);
  const image = plot?.querySelector(".heatmaplayer image");
  const cells = plot?.calcdata?.[0]?.[0];
  const { rows, cols } = header;
  if (!image || cells?.z?.length !== rows || cells.z[0].length !== cols || isZoomed(plot, rows, cols)) return;
  const map = readMap(header, arrays);
  image.setAttribute("href", cellsAsImage(map, header.colours[dark ? "dark" : "light"]));
  const read = map.scaled ? plot._fullData[0].customdata : cells.z;
  for (let row = 0; row < rows; row += 1) {
    for (let col = 0; col < cols; col += 1) {
      const at = row * cols + col;
      read[row][col] = map.scaled || !map.open || map.open[at] ? map.weights[at] : undefined;
    }
  }
  const title = plot.querySelector(".gtitle");
  if (title) title.textContent = header.title;
}

function isZoomed(plot, rows, cols) {
  const { xaxis, yaxis } = plot._fullLayout;
  const shows = ({ range }, count) => Math.min(...range) === -0.5 && Math.max(...range) === count - 0.5;
  return !shows(xaxis, cols) || !shows(yaxis, rows);
}

/** One pixel a cell. Masked cells are open, as Plotly leaves them, or have their own colour where rows are scaled. */
function cellsAsImage({ rows, cols, steps, open, scaled }, colours) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [cols, rows];
  const context = canvas.getContext("2d");
  const image = context.createImageData(cols, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const scale = readScale(colours.weights).pixels;
  const [r, g, b] = parseColour(colours.masked);
  const masked = scaled ? ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0 : 0;
  for (let at = 0; at < pixels.length; at += 1) pixels[at] = open && !open[at] ? masked : scale[steps[at]];
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}
