"""One block of a transformer: attention, in a decoder with an encoder also cross-attention, then feed-forward.

Every sub-layer is added to the residual stream. What differs is where the norm stands.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from tfmviz.nn.config import TransformerConfig
from tfmviz.nn.feedforward import FeedForward
from tfmviz.nn.multihead import Attention, AttentionInputs
from tfmviz.nn.norms import make_norm
from tfmviz.nn.recording import StackName


class Block(nn.Module):
    """Sub-layers f around a residual stream x, in one of three orders.

    post-norm: x = norm(x + f(x)). The 2017 paper, BERT, BART. The stream itself is normed, so depth needs a warm-up.
    pre-norm: x = x + f(norm(x)). GPT-2, Llama, T5. The stream runs through untouched. Xiong et al. 2020.
    parallel: x = x + attention(norm(x)) + feed_forward(norm'(x)), both from the same x. GPT-NeoX.
    """

    def __init__(self, config: TransformerConfig, stack: StackName, layer: int) -> None:
        super().__init__()
        self.order = config.block
        self.attention = Attention(config, stack, layer)
        self.attention_norm = make_norm(config)
        if stack == "decoder":
            self.cross = Attention(config, "cross", layer)
            self.cross_norm = make_norm(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = make_norm(config)
        self.drop = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "b n d_model"],
        inputs: AttentionInputs,
        memory: Float[Tensor, "b m d_model"] | None = None,
        cross: AttentionInputs | None = None,
    ) -> Float[Tensor, "b n d_model"]:
        """The residual stream after this block.

        Args:
            memory: the encoder's output; given together with ``cross`` in a decoder that has an encoder.
            cross: mask and the rest for attention to the memory.
        """
        drop = self.drop
        if self.order == "parallel":
            x_plus = _add(x, drop(self.attention(self.attention_norm(x), inputs)))
            return _add(x_plus, drop(self.feed_forward(self.feed_forward_norm(x))))
        if self.order == "pre-norm":
            x = _add(x, drop(self.attention(self.attention_norm(x), inputs)))
            if memory is not None and cross is not None:
                x = _add(x, drop(self.cross(self.cross_norm(x), cross, memory)))
            return _add(x, drop(self.feed_forward(self.feed_forward_norm(x))))
        x = self.attention_norm(_add(x, drop(self.attention(x, inputs))))
        if memory is not None and cross is not None:
            x = self.cross_norm(_add(x, drop(self.cross(x, cross, memory))))
        return self.feed_forward_norm(_add(x, drop(self.feed_forward(x))))


def _add(x: Tensor, update: Tensor) -> Tensor:
    """X + update, written over the update: nobody else holds it, and a large model gains a percent."""
    return update.add_(x)
