// Tells the atlas which head is selected. It travels by itself, so that another head does not resend the overview.

export default function atlasChoice({ data }) {
  if (!data) return;
  const chosen = (window[Symbol.for("tfmviz.chosen")] ??= new Map());
  chosen.set(data.key, data);
  document.dispatchEvent(new CustomEvent("tfmviz:chosen", { detail: data }));
}
