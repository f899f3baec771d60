"""Where the cross-attention of a model for dates looks while it writes the year."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from tfmviz.nn import AnyTransformer, Recording, attention_stages
from tfmviz.training.pairs import Pair, batch_of
from tfmviz.training.task import two_stacks

YEAR_ROWS = slice(0, 4)
"""Rows that write the four digits of the year: ``<start>`` writes the first, and each digit the next."""


def year_span(pair: Pair) -> tuple[int, int]:
    """First and one past the last character of the year in a written date."""
    year = pair.target[:4]
    found = pair.source.find(year)
    if found >= 0:
        return found, found + 4
    end = len(pair.source.rstrip())  # a year of two digits stands last
    return end - 2, end


@torch.no_grad()
def year_map(model: AnyTransformer, pair: Pair) -> Float[Tensor, "layers heads"]:
    """The share of its weight that each head of the cross-attention has on the written year while it writes it."""
    batch = batch_of([pair]).to(str(next(model.parameters()).device))
    recording = Recording()
    two_stacks(model)(batch.source, batch.tokens, recording=recording)
    begin, end = year_span(pair)
    shares = []
    for record in recording.stack("cross"):
        weights = attention_stages(record.query, record.key, record.value, record.scoring).weights[0]
        shares.append(weights[:, YEAR_ROWS, begin:end].sum(-1).mean(-1))
    return torch.stack(shares).cpu()


def year_weight(model: AnyTransformer, pairs: Sequence[Pair], *, most: int = 200) -> Mapping[str, float]:
    """Mean shares over the first ``most`` pairs: of all heads together, and of the best head."""
    maps = torch.stack([year_map(model, pair) for pair in pairs[:most]]).mean(0)
    return {"year_weight": float(maps.mean()), "year_head_weight": float(maps.max())}
