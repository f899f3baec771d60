// Reads what tfmviz/components/payload.py packs: uint32 header length, JSON header, raw arrays on multiples of eight.

const ARRAY_TYPES = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
};

/** The header of a message; the arrays stay unread, so that an unchanged version costs next to nothing. */
export function readHeader(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(0, true);
  return JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
}

/** The arrays a header describes, as typed arrays. */
export function readArrays(bytes, header) {
  // The message sits anywhere in a larger buffer; typed arrays want aligned memory, so it is copied once.
  const own = bytes.slice();
  const base = 4 + new DataView(own.buffer).getUint32(0, true);
  const arrays = {};
  for (const [name, { dtype, shape, offset }] of Object.entries(header.arrays)) {
    const count = shape.reduce((product, size) => product * size, 1);
    arrays[name] = new ARRAY_TYPES[dtype](own.buffer, base + offset, count);
  }
  return arrays;
}
