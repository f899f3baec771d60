// Asks for another run when the page turns light or dark: the server draws the charts' colours, and hears of the theme
// only with a run.

import { element } from "./element.js";
import { mount } from "./mount.js";
import { readTheme } from "./theme.js";

class ThemeWatch {
  constructor(host) {
    this.root = element("div", { parent: host });
  }

  /** Called at the start, and again with every other theme. */
  update({ setTriggerValue }) {
    const { dark } = readTheme(this.root, {});
    if (this.dark !== undefined && this.dark !== dark) setTriggerValue("turned", dark ? "dark" : "light");
    this.dark = dark;
  }

  destroy() {
    this.root.remove();
  }
}

export default function themeWatch(component) {
  return mount(ThemeWatch, component);
}
