// Tells the atlas what each head does. Measured after the picture is on screen, so it travels by itself.

export default function atlasNotes({ data }) {
  if (data) document.dispatchEvent(new CustomEvent("tfmviz:noted", { detail: data }));
}
