"""What one attention layer did in full: its values, its heads' own outputs, and their way into the residual stream.

A trace keeps queries and keys alone. The rest is wanted for one layer at a time, when somebody looks inside it, and is
then taken from one more pass over the same text.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from tfmviz.errors import NoAttention
from tfmviz.trace.layer import LayerAttention
from tfmviz.trace.source import QueriesAndKeys


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class OutputProjection:
    """The linear map that takes the heads, side by side, back to the width of the model.

    Attributes:
        path: the module's name in the model.
        weight: [h * dv, d_model]; head i owns the rows i * dv to (i + 1) * dv.
        bias: [d_model]; None without one.
        heads: [q, h * dv], what entered it.
        output: [q, d_model], what it gave out: the attention block's output.
        changed: largest difference between what the heads gave out and what entered; above 0 where the model gates or
            norms the heads on the way.
    """

    path: str
    weight: Float[Tensor, "hdv d_model"]
    bias: Float[Tensor, " d_model"] | None
    heads: Float[Tensor, "q hdv"]
    output: Float[Tensor, "q d_model"]
    changed: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ResidualStep:
    """The addition through which the block's output joins the residual stream.

    Attributes:
        before: [q, d_model], the stream.
        update: [q, d_model], what this attention adds: the block's output, or what a norm or a factor made of it.
        after: [q, d_model], the sum; in a parallel block the feed-forward part is in it too.
        changed: largest difference between the block's output and the update.
        alone: False where another branch is added in the same step.
    """

    before: Float[Tensor, "q d_model"]
    update: Float[Tensor, "q d_model"]
    after: Float[Tensor, "q d_model"]
    changed: float
    alone: bool


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LayerInside:
    """One layer, everything about it. Tensors are float32 on the CPU, but for those of ``attention``.

    Attributes:
        attention: with its values kept.
        heads: [h, q, dv], what the model's own attention function gave out.
        projection: None where it was not found.
        residual: None where it was not found.
        unrotated: query [h, q, d] and key [kv, k, d] before the rotary embedding; None without one, or where it was
            not found.
        missing: a sentence for each of these that was not found.
    """

    attention: LayerAttention
    heads: Float[Tensor, "h q dv"]
    projection: OutputProjection | None = None
    residual: ResidualStep | None = None
    unrotated: tuple[Float[Tensor, "h q d"], Float[Tensor, "kv k d"]] | None = None
    missing: tuple[str, ...] = ()

    @property
    def source(self) -> QueriesAndKeys:
        """Queries, keys and values.

        Raises:
            NoAttention: if the layer is not known from its queries and keys.
        """
        if not isinstance(self.attention.source, QueriesAndKeys) or self.attention.source.value is None:
            raise NoAttention("This layer is not known from queries, keys and values, so it has no steps to show.")
        return self.attention.source

    @property
    def nbytes(self) -> int:
        """Bytes kept, a projection's weight counted too."""
        tensors = [self.heads, *(self.unrotated or ()), *self.attention.tensors()]
        if self.projection is not None:
            tensors += [self.projection.weight, self.projection.heads, self.projection.output]
        if self.residual is not None:
            tensors += [self.residual.before, self.residual.update, self.residual.after]
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
