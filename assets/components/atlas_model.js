// What the atlas knows of a trace, in the names that painting and words use.

/** The message's header and arrays as one object. */
export function readModel(header, arrays) {
  const { layers, heads } = header;
  return {
    layers,
    heads,
    kvHeads: header.kv_heads,
    overview: arrays.overview,
    rows: header.rows,
    cols: header.cols,
    visible: arrays.visible,
    maskRows: header.mask_rows,
    maskCols: header.mask_cols,
    maskOf: header.mask_of,
    roles: header.roles,
    strongest: header.strongest,
    reasons: header.statuses.map((status) => (status.startsWith("none") ? status.replace(/^none:?\s*/, "") || "none" : "")),
    dense: header.statuses.map((status) => status === "dense"),
    name: `${layers}x${heads}x${header.tokens[1]}`,
  };
}
