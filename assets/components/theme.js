// The page's colours and fonts, read from Streamlit's theme variables, with the palette that goes with them.

/** [r, g, b] of "#rgb", "#rrggbb" or "rgb(...)". */
export function parseColour(text) {
  const hex = text.trim().match(/^#([0-9a-f]{6}|[0-9a-f]{3})/i);
  if (hex) {
    const digits = hex[1].length === 3 ? [...hex[1]].map((digit) => digit + digit).join("") : hex[1];
    return [0, 2, 4].map((at) => parseInt(digits.slice(at, at + 2), 16));
  }
  const numbers = text.match(/[\d.]+/g);
  return numbers && numbers.length >= 3 ? numbers.slice(0, 3).map(Number) : [255, 255, 255];
}

export function withAlpha(colour, alpha) {
  return `rgba(${parseColour(colour).join(",")},${alpha})`;
}

/** A colour between two, t from 0 to 1. */
export function mix(from, to, t) {
  const [a, b] = [parseColour(from), parseColour(to)];
  return `rgb(${a.map((channel, i) => Math.round(channel + (b[i] - channel) * t)).join(",")})`;
}

/** What the page looks like now, the palette for it included; `id` changes exactly when the page's look does. */
export function readTheme(host, palettes) {
  const style = getComputedStyle(host);
  const read = (name, fallback) => {
    const value = style.getPropertyValue(name).trim();
    return value && value !== "unset" ? value : fallback;
  };
  const background = read("--st-background-color", "#ffffff");
  const text = read("--st-text-color", "#1a1a1a");
  const [r, g, b] = parseColour(background);
  const dark = 0.2126 * r + 0.7152 * g + 0.0722 * b < 128;
  const font = read("--st-font", "system-ui, sans-serif");
  const mono = read("--st-code-font", "ui-monospace, monospace");
  return {
    dark,
    background,
    text,
    font,
    mono,
    muted: mix(background, text, dark ? 0.68 : 0.66),
    faint: mix(background, text, 0.16),
    ...palettes[dark ? "dark" : "light"],
    id: [background, text, font, mono].join("|"),
  };
}

/** A scale: stops spread evenly over steps 0 to `last` of a byte, as pixel values and as colours of a style sheet. */
export function readScale(stops, last = 255) {
  const colours = stops.map(parseColour);
  const pixels = new Uint32Array(256);
  const css = new Array(256);
  for (let step = 0; step < 256; step += 1) {
    const place = Math.min(step / last, 1) * (colours.length - 1);
    const below = Math.min(Math.floor(place), colours.length - 2);
    const [r, g, b] = colours[below].map((channel, i) =>
      Math.round(channel + (colours[below + 1][i] - channel) * (place - below)),
    );
    pixels[step] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0; // bytes r, g, b, a in memory on little-endian machines
    css[step] = `rgb(${r},${g},${b})`;
  }
  return { pixels, css, gradient: `linear-gradient(to right, ${stops.join(", ")})` };
}

/** Give a view's DOM the colours that its canvas uses. */
export function dress(root, theme) {
  for (const role of ["query", "key"]) {
    root.style.setProperty(`--${role}`, theme[role]);
    root.style.setProperty(`--${role}-ink`, theme[`${role}_ink`]);
  }
  root.style.setProperty("--masked", theme.masked);
  root.style.setProperty("--hatch", theme.hatch);
  root.style.colorScheme = theme.dark ? "dark" : "light";
}

/** Calls `then` once the page's fonts can be drawn, if they could not yet: a canvas does not load fonts by itself. */
export async function whenFontsCome(theme, then) {
  const faces = [400, 600].flatMap((weight) => [theme.mono, theme.font].map((font) => `${weight} 12px ${font}`));
  if (faces.every((face) => document.fonts.check(face))) return;
  await Promise.allSettled(faces.map((face) => document.fonts.load(face)));
  then();
}
