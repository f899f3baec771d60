// Tells Streamlit which cell of a Plotly heatmap was clicked, which it does not hear of by itself.

import { mount } from "./mount.js";
import { cellAt, keyOf, onPress, plotOf } from "./plot_cells.js";

class MapClick {
  constructor() {
    this.stop = new AbortController();
    onPress(this.stop.signal, (event) => this.press(event));
  }

  update(component) {
    this.component = component;
  }

  press(event) {
    const { data, setTriggerValue } = this.component;
    if (!keyOf(event, [data.map])) return;
    const cell = cellAt(plotOf(data.map), event);
    if (cell && cell.row !== null && cell.col !== null) setTriggerValue("opened", [cell.row, cell.col]);
  }

  destroy() {
    this.stop.abort();
  }
}

export default function mapClick(component) {
  return mount(MapClick, component);
}
