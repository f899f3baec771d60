"""The strongest links of a long text, found some rows at a time: no map of the whole is ever held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfmviz.analysis.links import Links, LinkSieve, visible_spans
from tfmviz.analysis.long_head import LongHead
from tfmviz.text.token import Token


@dataclass(frozen=True, kw_only=True, slots=True)
class LongLinks:
    """What the lines of a long text are drawn from.

    Attributes:
        links: of all heads together; see :class:`tfmviz.analysis.links.Links`.
        spans: int32 [m, 3], what each query of the first head may look at, as ``visible_spans`` gives it; None where
            every query sees every key.
        hidden_share: share of the shown rows' attention that goes to keys that get no line.
    """

    links: Links
    spans: np.ndarray | None
    hidden_share: float


def long_links(
    heads: Sequence[LongHead], threshold: float, budget: int, *, hide_special: bool = False, per_token: int = 5
) -> LongLinks:
    """Go through all weights of some heads once, and keep the pairs worth a line.

    Args:
        heads: pictures with the same rows and columns, special tokens among them.
        threshold: smallest weight that gets a line.
        budget: most lines, all heads together.
        hide_special: special tokens get no line; padding never does.
        per_token: see :class:`tfmviz.analysis.links.LinkSieve`.

    Raises:
        NoAttention: if a layer has none.
    """
    first = heads[0]
    out_rows, out_keys = (left_out(tokens, hide_special) for tokens in (first.query_tokens, first.key_tokens))
    sieve = LinkSieve((len(heads), len(first.rows), len(first.cols)), threshold, budget, per_token)
    total = hidden = 0.0
    for number, whole in enumerate(heads):
        for rows in whole.bands():
            weights = whole.weights(rows)
            weights[out_rows[rows]] = 0.0
            total += float(weights.sum(dtype=np.float64))
            if out_keys.any():
                hidden += float(weights[:, out_keys].sum(dtype=np.float64))
                weights[:, out_keys] = 0.0
            sieve.take(number, rows.start, weights)
    return LongLinks(links=sieve.links(), spans=_spans(first), hidden_share=hidden / total if total > 0 else 0.0)


def left_out(tokens: Sequence[Token], hide_special: bool) -> np.ndarray:
    """Tokens that get no line: padding always, special tokens on request. Bool, one a token."""
    return np.array([token.is_padding or (hide_special and token.is_special) for token in tokens], dtype=bool)


def _spans(whole: LongHead) -> np.ndarray | None:
    found = []
    for rows in whole.bands():
        seen = whole.visible(rows)
        if seen is None:
            return None
        found.append(visible_spans(seen, rows.start))
    return np.concatenate(found)
