// Which cell of a Plotly heatmap is under the pointer, and where a cell is. Streamlit hears of no click on a heatmap.

const SLIP = 4; // CSS pixels a pointer may move between down and up and still have clicked

/** The Plotly picture of a widget key; none while it is not on the page. */
export function plotOf(key) {
  return document.querySelector(`.st-key-${key} .js-plotly-plot`);
}

/** Which of some widget keys an event belongs to. */
export function keyOf(event, keys) {
  const plot = event.target?.closest?.(".js-plotly-plot");
  return plot ? keys.find((key) => plot.closest(`.st-key-${key}`)) : undefined;
}

/** Place of an event in the axes of a picture, in its data's units; `inX` and `inY` say whether it is between the ends. */
export function placeAt(plot, event) {
  const { xaxis, yaxis } = plot._fullLayout;
  const box = plot.getBoundingClientRect();
  const x = event.clientX - box.left - xaxis._offset;
  const y = event.clientY - box.top - yaxis._offset;
  return {
    x: xaxis.p2d(x),
    y: yaxis.p2d(y),
    inX: x >= 0 && x <= xaxis._length,
    inY: y >= 0 && y <= yaxis._length,
    before: x < 0,
    below: y > yaxis._length,
  };
}

/** Row and column under the pointer; one of them null on the labels of the other. Null beside all of that. */
export function cellAt(plot, event) {
  const z = plot?.calcdata?.[0]?.[0]?.z;
  if (!z?.length) return null;
  const place = placeAt(plot, event);
  const row = place.inY ? within(Math.round(place.y), z.length) : null;
  const col = place.inX ? within(Math.round(place.x), z[0].length) : null;
  if (row !== null && col !== null) return { row, col };
  if (row !== null && place.before) return { row, col: null };
  return col !== null && place.below ? { row: null, col } : null;
}

/** Call `then` with the event that began a click, for as long as `signal` allows. Plotly covers the page meanwhile. */
export function onPress(signal, then) {
  let down = null;
  const options = { signal, capture: true };
  document.addEventListener("pointerdown", (event) => (down = event.button === 0 ? event : null), options);
  document.addEventListener(
    "pointerup",
    (event) => {
      const near = down && Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < SLIP;
      if (near) then(down);
      down = null;
    },
    options,
  );
}

function within(at, length) {
  return at >= 0 && at < length ? at : null;
}
