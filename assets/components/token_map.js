// One head's weights as a map. See tfmviz/components/token_map.py for what is sent.

import { mount } from "./mount.js";
import { TokenMap } from "./token_map_view.js";

export default function tokenMap(component) {
  return mount(TokenMap, component);
}
