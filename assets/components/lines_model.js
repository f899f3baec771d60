// The links of a picture, looked up by token. Sides: "query" (left, the tokens that look) and "key" (right, looked at).

export const SPECIAL = 1;
export const PADDING = 2;

export const otherSide = (side) => (side === "query" ? "key" : "query");

/** Link numbers grouped by an index array: those of token i are order[start[i]] to order[start[i + 1] - 1], in order. */
function grouped(indices, size) {
  const start = new Uint32Array(size + 1);
  for (const index of indices) start[index + 1] += 1;
  for (let i = 0; i < size; i += 1) start[i + 1] += start[i];
  const order = new Uint32Array(indices.length);
  const next = start.slice(0, size);
  for (let link = 0; link < indices.length; link += 1) order[next[indices[link]]++] = link;
  return { start, order };
}

export class LinesModel {
  constructor(header, arrays) {
    this.heads = header.heads;
    this.threshold = header.threshold;
    this.drawn = header.n_drawn;
    this.above = header.n_above;
    this.masked = header.masked;
    this.hideSpecial = header.hide_special;
    this.hiddenShare = header.hidden_share;
    this.selfAttention = header.keys === null;
    this.tokens = { query: header.query, key: header.keys ?? header.query };
    this.query = arrays.query;
    this.key = arrays.key;
    this.weight = arrays.weight;
    this.head = arrays.head;
    this.spans = arrays.spans;
    this.by = {
      query: grouped(this.query, this.size("query")),
      key: grouped(this.key, this.size("key")),
    };
    this.spanStart = new Int32Array(this.size("query") + 1);
    for (let at = 0; at < this.spans.length; at += 3) this.spanStart[this.spans[at] + 1] += 1;
    for (let i = 0; i < this.size("query"); i += 1) this.spanStart[i + 1] += this.spanStart[i];
    this.shown = { query: this.shownOf("query"), key: this.shownOf("key") };
    this.rowOf = { query: this.rowsOf("query"), key: this.rowsOf("key") };
  }

  size(side) {
    return this.tokens[side].text.length;
  }

  /** The tokens of a side that the picture shows, in order. */
  shownOf(side) {
    const { flags } = this.tokens[side];
    return [...flags.keys()].filter((index) => !(this.hideSpecial && flags[index] & (SPECIAL | PADDING)));
  }

  /** Row of each token, -1 for those left out. */
  rowsOf(side) {
    const rows = new Int32Array(this.size(side)).fill(-1);
    this.shown[side].forEach((index, row) => (rows[index] = row));
    return rows;
  }

  /** Link numbers of a token, strongest first, without heads that are switched off and tokens that are left out. */
  linksOf(side, index, muted) {
    const { start, order } = this.by[side];
    const links = [];
    for (let at = start[index]; at < start[index + 1]; at += 1) {
      const link = order[at];
      const other = side === "query" ? this.key[link] : this.query[link];
      if (!muted.has(this.head[link]) && this.rowOf[otherSide(side)][other] >= 0) links.push(link);
    }
    return links.sort((a, b) => this.weight[b] - this.weight[a]);
  }

  /** The other end of a link, seen from one side. */
  endOf(link, side) {
    return side === "query" ? this.key[link] : this.query[link];
  }

  /** Whether a query may look at a key. */
  mayLook(query, key) {
    if (!this.masked) return true;
    for (let span = this.spanStart[query]; span < this.spanStart[query + 1]; span += 1) {
      if (key >= this.spans[3 * span + 1] && key < this.spans[3 * span + 2]) return true;
    }
    return false;
  }

  /** Whether the mask lies between a token and one of the other side. */
  maskedFrom({ side, index }, other) {
    return side === "query" ? !this.mayLook(index, other) : !this.mayLook(other, index);
  }

  /** Whether two neighbouring tokens are pieces of one word. */
  joined(side, index, next) {
    const { word, flags } = this.tokens[side];
    return next === index + 1 && word[index] >= 0 && word[index] === word[next] && !((flags[index] | flags[next]) & SPECIAL);
  }
}
