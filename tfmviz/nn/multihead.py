"""Multi-head attention: project to queries, keys and values, attend in every head, project back.

With fewer key-value heads than query heads it is grouped-query attention, with one multi-query attention.

Sources: Vaswani et al. 2017, section 3.2.2; Shazeer 2019 (multi-query); Ainslie et al. 2023 (grouped-query).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from tfmviz.nn.attention import PositionBias, Scoring, fused, materialised
from tfmviz.nn.cache import KeyValueCache
from tfmviz.nn.chunked import chunked
from tfmviz.nn.config import TransformerConfig
from tfmviz.nn.masks import Mask
from tfmviz.nn.recording import AttentionRecord, Recording, StackName
from tfmviz.nn.rotary import Rotation, rotate

FORMS = {"materialised": materialised, "fused": fused, "chunked": chunked}

Head = tuple[StackName, int, int]
"""A head by stack, layer and number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionInputs:
    """What all layers of a stack share in one pass, besides the activations.

    Attributes:
        rotation: angles of the tokens of this pass; None without rotary positions.
        first_row: position of the first token of this pass among the keys.
        ablate: heads whose output is set to zero.
    """

    mask: Mask
    bias: PositionBias | None = None
    rotation: Rotation | None = None
    first_row: int = 0
    cache: KeyValueCache | None = None
    recording: Recording | None = None
    ablate: Collection[Head] = ()


class Attention(nn.Module):
    """Attention of one layer: to its own stack or, given a memory, to another stack's output."""

    def __init__(self, config: TransformerConfig, stack: StackName, layer: int) -> None:
        super().__init__()
        self.config = config
        self.stack: StackName = stack
        self.layer = layer
        self.form = config.attention_form
        biased = config.attention_bias != "none"
        d_query, d_key = config.n_heads * config.d_head, config.n_kv_heads * config.d_head
        self.query = nn.Linear(config.d_model, d_query, bias=biased)
        self.key = nn.Linear(config.d_model, d_key, bias=biased)
        self.value = nn.Linear(config.d_model, d_key, bias=biased)
        self.output = nn.Linear(d_query, config.d_model, bias=config.attention_bias == "all")

    def forward(
        self,
        x: Float[Tensor, "b q d_model"],
        inputs: AttentionInputs,
        memory: Float[Tensor, "b k d_model"] | None = None,
    ) -> Float[Tensor, "b q d_model"]:
        """What each token gathers from those it may see.

        Shapes: b batch, q tokens of this pass, k tokens of the memory.
        """
        query = rearrange(self.query(x), "b n (h d) -> b h n d", d=self.config.d_head)
        if inputs.rotation is not None:
            query = rotate(query, inputs.rotation, self.config.rotary_pairing)
        key, value = self._keys_values(x, inputs) if memory is None else self._memory_keys_values(memory, inputs)
        scoring = Scoring(
            scale=self.config.scale,
            mask=inputs.mask,
            bias=inputs.bias,
            softcap=self.config.attention_softcap,
            first_row=inputs.first_row,
        )
        dropout = self.config.attention_dropout if self.training else 0.0
        heads = self._ablated(FORMS[self.form](query, key, value, scoring, dropout), inputs.ablate)
        if inputs.recording is not None:
            inputs.recording.add_attention(
                AttentionRecord(
                    stack=self.stack, layer=self.layer, query=query, key=key, value=value, scoring=scoring, output=heads
                )
            )
        return self.output(rearrange(heads, "b h n d -> b n (h d)"))

    def _project(self, x: Tensor) -> tuple[Float[Tensor, "b kv n d"], Float[Tensor, "b kv n d"]]:
        d = self.config.d_head
        return (
            rearrange(self.key(x), "b n (kv d) -> b kv n d", d=d),
            rearrange(self.value(x), "b n (kv d) -> b kv n d", d=d),
        )

    def _keys_values(self, x: Tensor, inputs: AttentionInputs) -> tuple[Tensor, Tensor]:
        """Keys and values of this pass, behind those of earlier passes if there is a cache."""
        key, value = self._project(x)
        if inputs.rotation is not None:
            key = rotate(key, inputs.rotation, self.config.rotary_pairing)
        return (key, value) if inputs.cache is None else inputs.cache.extend(self.stack, self.layer, key, value)

    def _memory_keys_values(self, memory: Tensor, inputs: AttentionInputs) -> tuple[Tensor, Tensor]:
        """Keys and values of the memory, which stays the same: computed once and then read from the cache."""
        if inputs.cache is None:
            return self._project(memory)
        return inputs.cache.entries.get((self.stack, self.layer)) or inputs.cache.extend(
            self.stack, self.layer, *self._project(memory)
        )

    def _ablated(self, heads: Float[Tensor, "b h n d"], ablate: Collection[Head]) -> Float[Tensor, "b h n d"]:
        gone = [head for stack, layer, head in ablate if (stack, layer) == (self.stack, self.layer)]
        if not gone:
            return heads
        return heads.index_fill(1, torch.tensor(gone, device=heads.device), 0.0)
