// The few DOM nodes around a canvas. Text enters as text, never as markup.

/** Make a node; `attributes` are set as given, `text` becomes a text node. */
export function element(tag, { className = "", text = "", parent = null, attributes = {} } = {}) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (parent) parent.append(node);
  return node;
}

/** "L3 H5", the name of a head everywhere. */
export function headName(layer, head) {
  return `L${layer} H${head}`;
}

/** "A" for the first of several heads; goes wherever its colour goes. */
export function headLetter(index) {
  return String.fromCharCode(65 + index);
}

/** A weight with the four digits that a hover shows. */
export function fourDigits(weight) {
  return weight.toFixed(4);
}

/** Text that keeps its own direction inside a sentence of another. */
export function isolated(text) {
  return `\u2068${text}\u2069`;
}

/** "1 key", "2 keys". */
export function counted(count, one, many) {
  return `${count} ${count === 1 ? one : many}`;
}
