// Twelve colours for heads, in an order that keeps neighbours apart for colour-blind readers; letters go with them.

const LIGHT = [
  "#3B3A9E", "#B5530A", "#0F766E", "#A21A5B", "#5F7A12", "#1D74C4",
  "#8A5A00", "#7B3FB8", "#B3261E", "#2F6B3A", "#5A6472", "#C0399B",
];
const DARK = [
  "#A9AEFF", "#FFB066", "#63D6C6", "#FF8FBF", "#C3DD66", "#7CC4FF",
  "#E8C45A", "#CFA5FF", "#FF8F85", "#86D694", "#BAC4D1", "#F59BE0",
];

export function headColour(index, dark) {
  return (dark ? DARK : LIGHT)[index % LIGHT.length];
}

export function headLetter(index) {
  return String.fromCharCode(65 + index);
}
