"""What a forward pass leaves behind when it is asked to: queries and keys, not weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from tfmviz.nn.attention import Scoring

StackName = Literal["self", "encoder", "decoder", "cross"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionRecord:
    """One call of attention. Its weights are softmax(mask(softcap(query·keyᵀ · scale) + bias)).

    Attributes:
        stack: "self" in a model of one stack, else "encoder", "decoder" or "cross".
        layer: which block, from 0.
        query: after rotation, [batch, head, query, d_head].
        key: after rotation, cached keys included, [batch, kv_head, key, d_head].
        value: [batch, kv_head, key, d_head].
        scoring: scale, mask rule, bias and soft cap of the call.
        output: what each head hands to the output projection, [batch, head, query, d_head]; zeros if ablated.
    """

    stack: StackName
    layer: int
    query: Float[Tensor, "b h q d"]
    key: Float[Tensor, "b kv k d"]
    value: Float[Tensor, "b kv k d"]
    scoring: Scoring
    output: Float[Tensor, "b h q d"]


@dataclass(kw_only=True, slots=True)
class Recording:
    """Pass one to a model's forward and it is filled, in the order things happen.

    Attributes:
        attention: one record for every call of attention.
        hidden: for each stack the residual stream: the embedding, then the output of every block. Tensors keep their
            place in the graph, so `retain_grad` on them shows how gradients change with depth.
    """

    attention: list[AttentionRecord] = field(default_factory=list)
    hidden: dict[StackName, list[Float[Tensor, "b n d_model"]]] = field(default_factory=dict)

    def add_attention(self, record: AttentionRecord) -> None:
        """Called once for every call of attention. A subclass that keeps less saves memory."""
        self.attention.append(record)

    def add_hidden(self, stack: StackName, x: Float[Tensor, "b n d_model"]) -> None:
        """Called with the residual stream before the first block of a stack and after each."""
        self.hidden.setdefault(stack, []).append(x)

    def stack(self, name: StackName) -> list[AttentionRecord]:
        """The calls of one stack, by layer."""
        return [record for record in self.attention if record.stack == name]
