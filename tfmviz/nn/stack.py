"""A stack of blocks, with what they share: the position scheme that acts on scores, and the last norm."""

from __future__ import annotations

from dataclasses import replace

from jaxtyping import Float, Int
from torch import Tensor, nn

from tfmviz.nn.biases import AlibiBias, RelativeBias
from tfmviz.nn.block import Block
from tfmviz.nn.config import TransformerConfig
from tfmviz.nn.masks import Mask
from tfmviz.nn.multihead import AttentionInputs
from tfmviz.nn.norms import make_norm
from tfmviz.nn.recording import StackName
from tfmviz.nn.rotary import rotation


class Stack(nn.Module):
    """Blocks in a row. Pre-norm and parallel stacks end in a norm, as their stream was never normed itself."""

    def __init__(self, config: TransformerConfig, name: StackName, n_layers: int) -> None:
        super().__init__()
        self.config = config
        self.name: StackName = name
        self.blocks = nn.ModuleList(Block(config, name, layer) for layer in range(n_layers))
        self.final_norm = nn.Identity() if config.block == "post-norm" else make_norm(config)
        self.bias: AlibiBias | RelativeBias | None = None
        if config.position == "alibi":
            self.bias = AlibiBias(config.n_heads)
        elif config.position == "relative":
            self.bias = RelativeBias(config, both_directions=not self._is_causal)

    @property
    def _is_causal(self) -> bool:
        return self.name == "decoder" or self.config.architecture == "decoder"

    def forward(
        self,
        x: Float[Tensor, "b n d_model"],
        positions: Int[Tensor, "*b n"],
        inputs: AttentionInputs,
        memory: Float[Tensor, "b m d_model"] | None = None,
        memory_mask: Mask | None = None,
    ) -> Float[Tensor, "b n d_model"]:
        """The residual stream after all blocks and the last norm.

        Args:
            inputs: mask, cache, recording and ablation of this pass; the stack adds its bias and rotation.
            memory: the encoder's output, for a decoder that has an encoder.
            memory_mask: which of its tokens may be seen.
        """
        turn = rotation(positions, self.config) if self.config.position == "rotary" else None
        inputs = replace(inputs, bias=self.bias, rotation=turn)
        cross = None if memory_mask is None else replace(inputs, mask=memory_mask, bias=None, rotation=None)
        recording = inputs.recording
        if recording is not None:
            recording.add_hidden(self.name, x)
        for block in self.blocks:
            x = block(x, inputs, memory, cross)
            if recording is not None:
                recording.add_hidden(self.name, x)
        return self.final_norm(x)
