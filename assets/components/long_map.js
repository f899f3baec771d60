// A long text's weights of one head as a map. See tfmviz/components/long_map.py for what is sent.

import { mount } from "./mount.js";
import { LongMap } from "./long_map_view.js";

export default function longMap(component) {
  return mount(LongMap, component);
}
