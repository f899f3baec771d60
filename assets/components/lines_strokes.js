// The lines themselves, from a query's row to a key's row.

import { headLetter } from "./element.js";

const MOST_LEAVING = 80; // lines drawn that lead out of sight
const BADGES = 3; // lines of each head that carry its letter while nothing is touched

export class Strokes {
  constructor(columns, rowHeight) {
    this.columns = columns;
    this.row = rowHeight;
    this.gradient = null;
  }

  reset() {
    this.gradient = null;
  }

  /**
   * Draw links, given strongest first, where they cross a window of the picture.
   *
   * A line that leads out of the window stops at its edge. Thousands may do so at one token that everybody looks at;
   * the strongest stand for all, as more would only blacken the same place. Returns the whole lines, and how many
   * that lead out were not drawn.
   */
  lines(context, links, top, height, alphaOf) {
    const { model } = this.columns.view;
    const within = (y) => y > top - this.row && y < top + height + this.row;
    const seen = [];
    let leaving = 0;
    for (const link of links) {
      const from = this.columns.rowY(model.rowOf.query[model.query[link]]);
      const to = this.columns.rowY(model.rowOf.key[model.key[link]]);
      const whole = within(from) && within(to);
      if (!whole && (!(within(from) || within(to)) || ++leaving > MOST_LEAVING)) continue;
      seen.push({ link, from, to, whole });
    }
    for (const line of seen.toReversed()) {
      this.line(context, line, top, top + height, alphaOf(model.weight[line.link]));
    }
    return { whole: seen.filter((line) => line.whole), undrawn: Math.max(0, leaving - MOST_LEAVING) };
  }

  line(context, { link, from, to, whole }, top, bottom, alpha) {
    const { model } = this.columns.view;
    const [x0, x1] = [this.columns.edge.query + 4, this.columns.edge.key - 4];
    const bend = (x1 - x0) * 0.42;
    context.globalAlpha = alpha;
    context.strokeStyle = this.ink(context, model.head[link]);
    context.lineWidth = 0.7 + 3.3 * model.weight[link];
    context.beginPath();
    if (whole) {
      context.moveTo(x0, from);
      context.bezierCurveTo(x0 + bend, from, x1 - bend, to, x1, to);
    } else {
      // Up to the edge, bent as the whole line would begin.
      const start = from > top - this.row && from < bottom + this.row;
      const [x, y, far, turn] = start ? [x0, from, to, bend] : [x1, to, from, -bend];
      const edge = far > y ? bottom + this.row : top - this.row;
      const reach = Math.min(1, Math.sqrt((edge - y) / (far - y)));
      context.moveTo(x, y);
      context.quadraticCurveTo(x + turn * reach * 0.6, y, x + turn * (0.3 + 0.9 * reach), edge);
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  /** One head: from the queries' blue to the keys' orange. Several: the head's own colour. */
  ink(context, head) {
    const { model, theme } = this.columns.view;
    if (model.heads.length > 1) return theme.heads[head];
    if (!this.gradient) {
      this.gradient = context.createLinearGradient(this.columns.edge.query, 0, this.columns.edge.key, 0);
      this.gradient.addColorStop(0.12, theme.query);
      this.gradient.addColorStop(0.88, theme.key);
    }
    return this.gradient;
  }

  /** Letters for the strongest lines of each head. */
  badges(context, lines) {
    const { model } = this.columns.view;
    const count = new Map();
    for (const line of lines) {
      const head = model.head[line.link];
      count.set(head, (count.get(head) ?? 0) + 1);
      if (count.get(head) <= BADGES) this.badge(context, head, line);
    }
  }

  /** A head's letter on a line; each head has its own place along the lines, so that letters seldom meet. */
  badge(context, head, { from, to }) {
    const { model, theme } = this.columns.view;
    const t = 0.24 + (0.52 * (head + 0.5)) / model.heads.length;
    const [x0, x1] = [this.columns.edge.query + 4, this.columns.edge.key - 4];
    const bend = (x1 - x0) * 0.42;
    const [a, b, c, d] = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3];
    const x = a * x0 + b * (x0 + bend) + c * (x1 - bend) + d * x1;
    const y = (a + b) * from + (c + d) * to;
    context.beginPath();
    context.arc(x, y, 7.5, 0, 2 * Math.PI);
    context.fillStyle = theme.background;
    context.fill();
    context.strokeStyle = theme.heads[head];
    context.lineWidth = 1;
    context.stroke();
    context.font = `600 10px ${theme.mono}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = theme.heads[head];
    context.fillText(headLetter(head), x, y + 0.5);
  }
}
