"""One head, step by step: everything between a layer's vectors and what the head adds to the residual stream.

    softmax(mask(softcap(scale * Q Kᵀ) + bias)) V W_o

Each step is recomputed here from what the pass left behind, and laid beside what the model itself gave out.

Shapes: q queries, k keys, d width of a query, dv width of a value, h heads.
Sources: Vaswani et al. 2017, section 3.2; soft cap: Gemma Team 2024; sinks: OpenAI 2025 (gpt-oss).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tfmviz.errors import ConfigError, NoAttention
from tfmviz.trace.positions import Selection, positions

if TYPE_CHECKING:
    from tfmviz.trace import LayerInside, Trace
    from tfmviz.trace.source import QueriesAndKeys


@dataclass(frozen=True, kw_only=True, slots=True)
class Turns:
    """What is done to the formula, to see what a part of it is good for.

    Attributes:
        scaled: False leaves out the division by the root of d.
        temperature: what the scores are divided by besides.
        rotated: False takes queries and keys as they were before the rotary embedding.

    Raises:
        ConfigError: if the temperature is not above 0.
    """

    scaled: bool = True
    temperature: float = 1.0
    rotated: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise ConfigError(f"temperature={self.temperature} does not divide scores. Use a number above 0.")

    @property
    def is_the_models(self) -> bool:
        """Whether this is the model's own formula."""
        return self == Turns()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Stages:
    """One head. float32 on the CPU; rows are those asked for, columns all keys.

    Attributes:
        query: [q, d].
        key: [k, d].
        value: [k, dv].
        scores: [q, k], query · key.
        scaled: [q, k], scores times the scale; bent by the soft cap where there is one.
        biased: [q, k], scaled plus the position bias; the same as ``scaled`` without one.
        masked: [q, k], biased, and -inf where the query may not look.
        weights: [q, k], softmax of each row; a row that sees nothing is zeros.
        sink: [q], share of each row that goes to a sink and to no key; zeros without one.
        output: [q, dv], weights @ value.
        visible: [q, k], True where the query may look.
        scale: what the scores were multiplied by.
        softcap: c of c * tanh(score / c); None without one.
        has_bias: whether positions act as a bias.
        rows: which queries.
    """

    query: Float[Tensor, "q d"]
    key: Float[Tensor, "k d"]
    value: Float[Tensor, "k dv"]
    scores: Float[Tensor, "q k"]
    scaled: Float[Tensor, "q k"]
    biased: Float[Tensor, "q k"]
    masked: Float[Tensor, "q k"]
    weights: Float[Tensor, "q k"]
    sink: Float[Tensor, " q"]
    output: Float[Tensor, "q dv"]
    visible: Bool[Tensor, "q k"]
    scale: float
    softcap: float | None
    has_bias: bool
    rows: tuple[int, ...]


def stages(
    trace: Trace, layer: int, head: int, *, stack: str | None = None, rows: Selection = None, turns: Turns | None = None
) -> Stages:
    """The named stages of one head of a trace; the model reads the text once more.

    Args:
        trace: of :meth:`tfmviz.models.Model.trace`.
        layer, head: from 0.
        stack: None for the first: "self", or "encoder" in an encoder-decoder.
        rows: queries; None for all.
        turns: what to change of the formula; None for the model's own.

    Raises:
        OutOfRange: if there is no such stack, layer, head or row.
        NoAttention: if the layer is not known from queries, keys and values.
        ConfigError: if there is no rotary embedding to leave out.
    """
    return head_stages(trace.inside(layer, stack), head, rows=rows, turns=turns)


def head_stages(inside: LayerInside, head: int, *, rows: Selection = None, turns: Turns | None = None) -> Stages:
    """The named stages of one head of a layer that was looked into; see :func:`stages`."""
    turns, source = turns or Turns(), inside.source
    one = inside.attention.one(head)
    if source.value is None:
        raise NoAttention("The values of this layer were not kept.")
    chosen = positions(rows, source.n_queries, what="row")
    query, key = _queries_and_keys(inside, head, turns)
    query = query[chosen]
    scale = (source.scale if turns.scaled else 1.0) / turns.temperature
    scores = query @ key.T
    scaled = scores * scale
    if source.softcap is not None:
        scaled = source.softcap * torch.tanh(scaled / source.softcap)
    biased = scaled
    if source.bias is not None:
        biased = scaled + source.bias.block(one, chosen, 0, source.n_keys).float().cpu()[0]
    visible = inside.attention.visible(head, chosen)
    masked = biased.masked_fill(~visible, -torch.inf)
    weights, sink = _softmax(masked, None if source.sink is None else source.sink[head].float().cpu())
    value = source.value[_shared(source, head)].float().cpu()
    return Stages(
        query=query,
        key=key,
        value=value,
        scores=scores,
        scaled=scaled,
        biased=biased,
        masked=masked,
        weights=weights,
        sink=sink,
        output=weights @ value,
        visible=visible,
        scale=scale,
        softcap=source.softcap,
        has_bias=source.bias is not None,
        rows=tuple(chosen.tolist()),
    )


def output_weight(inside: LayerInside, head: int) -> Float[Tensor, "dv d_model"]:
    """The rows of the output projection that belong to one head.

    Raises:
        NoAttention: if the projection was not found.
    """
    if inside.projection is None:
        raise NoAttention(" ".join(inside.missing) or "The output projection of this layer was not found.")
    width = inside.heads.shape[-1]
    return inside.projection.weight[head * width : (head + 1) * width]


def entering(inside: LayerInside, head: int, output: Float[Tensor, "q dv"], rows: tuple[int, ...]) -> Tensor:
    """What of a head enters the output projection: its output, or what the model made of it on the way; [q, dv]."""
    projection, width = inside.projection, inside.heads.shape[-1]
    if projection is None or projection.changed == 0:
        return output
    return projection.heads[list(rows), head * width : (head + 1) * width]


def contribution(inside: LayerInside, head: int, found: Stages) -> Float[Tensor, "q d_model"]:
    """What the head adds to the block's output: through its rows of the output projection.

    Raises:
        NoAttention: if the projection was not found.
    """
    return entering(inside, head, found.output, found.rows) @ output_weight(inside, head)


def value_weighted(inside: LayerInside, head: int, found: Stages) -> Float[Tensor, "q k"]:
    """How much each key really brings: the length of weight · value · W_o. A large weight on a short value is little.

    Where the model changes heads on their way to the projection, that change is not in these lengths.

    Source: Kobayashi et al. 2020, section 2.
    """
    return found.weights * torch.linalg.vector_norm(found.value @ output_weight(inside, head), dim=-1)


def products(found: Stages, row: int, key: int) -> Float[Tensor, " d"]:
    """The d products whose sum is the score of one query and one key; ``row`` counts in ``found.rows``."""
    return found.query[row] * found.key[key]


def cosines(found: Stages) -> Float[Tensor, "q k"]:
    """The cosine of every query and key: the score without the lengths of the two."""
    lengths = torch.linalg.vector_norm(found.query, dim=-1)[:, None] * torch.linalg.vector_norm(found.key, dim=-1)
    return torch.where(lengths > 0, found.scores / lengths.clamp(min=1e-30), 0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """Whether the recomputed steps are the model's. Differences are the largest ones.

    Attributes:
        row_sum: of a row's weights (and its sink) to 1, over rows that see anything.
        masked: largest weight in a masked cell.
        n_masked: masked cells looked at.
        output: of any head's recomputed output to the model's own.
        block: of the sum over heads, with the projection's bias, to the block's output; None without a projection.
        output_size, block_size: the largest number on the model's side, to judge the differences by.
    """

    row_sum: float
    masked: float
    n_masked: int
    output: float
    block: float | None
    output_size: float
    block_size: float | None


def check(inside: LayerInside, head: int, *, rows: Selection = None) -> Check:
    """Lay the recomputed steps beside the model's own numbers, every head of the layer for the rows asked for.

    Of a head that the pass silenced (``ablate``) the recomputed output is what it would have been.

    Args:
        inside: the layer.
        head: whose rows and masked cells are looked at.
        rows: queries; None for all.
    """
    found = head_stages(inside, head, rows=rows)
    live = found.visible.any(-1)
    total = (found.weights.sum(-1) + found.sink - 1).abs()[live]
    chosen = list(found.rows)
    heads = inside.heads[:, chosen]
    ours = torch.stack(
        [
            found.output if h == head else head_stages(inside, h, rows=rows).output
            for h in range(inside.attention.n_heads)
        ]
    )
    block, size = None, None
    if inside.projection is not None:
        mixed = [entering(inside, h, one, found.rows) @ output_weight(inside, h) for h, one in enumerate(ours.unbind())]
        summed = torch.stack(mixed).sum(0)
        if inside.projection.bias is not None:
            summed = summed + inside.projection.bias
        wanted = inside.projection.output[chosen]
        block, size = _largest((summed - wanted)[live]), _largest(wanted[live])
    return Check(
        row_sum=_largest(total),
        masked=_largest(found.weights[~found.visible]),
        n_masked=int((~found.visible).sum()),
        output=_largest((ours - heads)[:, live]),
        block=block,
        output_size=_largest(heads[:, live]),
        block_size=size,
    )


def _queries_and_keys(inside: LayerInside, head: int, turns: Turns) -> tuple[Tensor, Tensor]:
    source = inside.source
    query, key = source.query, source.key
    if not turns.rotated:
        if inside.unrotated is None:
            raise ConfigError("This layer has no rotary embedding that could be left out, or it was not found.")
        query, key = inside.unrotated
    return query[head].float().cpu(), key[_shared(source, head)].float().cpu()


def _shared(source: QueriesAndKeys, head: int) -> int:
    """The key head that a query head reads."""
    return head // (source.n_heads // source.n_kv_heads)


def _softmax(masked: Float[Tensor, "q k"], sink: Tensor | None) -> tuple[Float[Tensor, "q k"], Float[Tensor, " q"]]:
    """Row by row, the sink as one more column that is dropped again; rows of -inf become zeros."""
    n_keys = masked.shape[-1]
    if sink is not None:
        masked = torch.cat([masked, sink.expand(masked.shape[0], 1)], -1)
    weights = torch.softmax(masked, -1).nan_to_num(0.0)
    live = (masked[:, :n_keys] > -torch.inf).any(-1, keepdim=True)
    weights = weights * live
    return weights[:, :n_keys], weights[:, n_keys] if sink is not None else weights.new_zeros(weights.shape[0])


def _largest(tensor: Tensor) -> float:
    return float(tensor.abs().max()) if tensor.numel() else 0.0
