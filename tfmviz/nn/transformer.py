"""The three architectures. Encoder-only and decoder-only are one class: they differ in nothing but the mask."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfmviz.errors import ConfigError, OutOfRange
from tfmviz.nn import masks
from tfmviz.nn.cache import KeyValueCache
from tfmviz.nn.config import AttentionForm, TransformerConfig
from tfmviz.nn.embedding import Embedding, OutputHead
from tfmviz.nn.initialise import initialise
from tfmviz.nn.multihead import Attention, AttentionInputs, Head
from tfmviz.nn.positions import positions_of
from tfmviz.nn.recording import Recording
from tfmviz.nn.stack import Stack


class Transformer(nn.Module):
    """An encoder (BERT) or a decoder (GPT-2, Llama): one stack."""

    def __init__(self, config: TransformerConfig, *, seed: int | None = 0) -> None:
        super().__init__()
        if config.is_encoder_decoder:
            raise ConfigError("architecture='encoder-decoder' has two stacks. Build it with EncoderDecoder.")
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        self.embedding = Embedding(config)
        self.stack = Stack(config, "self", config.n_layers)
        self.output = OutputHead(config)
        if seed is not None:
            initialise(self, seed)

    def hidden(
        self,
        tokens: Int[Tensor, "b n"],
        *,
        segments: Int[Tensor, "b n"] | None = None,
        visible: Bool[Tensor, "b n"] | None = None,
        mask: masks.Mask | None = None,
        positions: Int[Tensor, "*b n"] | None = None,
        cache: KeyValueCache | None = None,
        recording: Recording | None = None,
        ablate: Collection[Head] = (),
    ) -> Float[Tensor, "b n d_model"]:
        """The last hidden states.

        Args:
            tokens: token numbers; with a cache, only those it has not read.
            segments: which sentence each belongs to, for a model with ``n_segments``.
            visible: False where a token is padding; with a cache, for the tokens it has read as well.
            mask: who may look at whom, in place of the model's own rule.
            positions: where each token stands, in place of 0, 1, 2, ...
            cache: filled by this pass and read by the next.
            recording: filled with queries, keys and hidden states.
            ablate: heads ("self", layer, head) whose output is set to zero.

        Raises:
            ConfigError: if the tokens, ``visible`` or a position are not of this shape or length.
            OutOfRange: if a token, segment or head is not there.
        """
        check_heads(self.config, ablate)
        first = cache.length if cache is not None else 0
        positions = positions_of(tokens, first) if positions is None else positions
        inputs = AttentionInputs(
            mask=hide_padding(mask or masks.parse(self.config.mask), visible, first + tokens.shape[-1]),
            first_row=first,
            cache=cache,
            recording=recording,
            ablate=ablate,
        )
        x = self.embedding(tokens, self.tokens, positions, segments)
        x = self.stack(x, positions, inputs)
        if cache is not None:
            cache.length += tokens.shape[1]
        return x

    def logits(self, hidden: Float[Tensor, "b n d_model"]) -> Float[Tensor, "b n vocab"]:
        """Scores of every word of the vocabulary."""
        return self.output(hidden, self.tokens)

    def forward(self, tokens: Int[Tensor, "b n"], **options: Any) -> Float[Tensor, "b n vocab"]:
        """Scores of every word of the vocabulary at every token; the options are those of `hidden`."""
        return self.logits(self.hidden(tokens, **options))


class EncoderDecoder(nn.Module):
    """An encoder that reads a source and a decoder that writes a target while looking at it (2017 paper, T5, BART)."""

    def __init__(self, config: TransformerConfig, *, seed: int | None = 0) -> None:
        super().__init__()
        if not config.is_encoder_decoder:
            raise ConfigError(f"architecture={config.architecture!r} has one stack. Build it with Transformer.")
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        self.source_embedding = Embedding(config)
        self.target_embedding = Embedding(config)
        self.encoder = Stack(config, "encoder", config.n_layers)
        self.decoder = Stack(config, "decoder", config.n_decoder_layers)
        self.output = OutputHead(config)
        if seed is not None:
            initialise(self, seed)

    def encode(
        self,
        source: Int[Tensor, "b m"],
        *,
        visible: Bool[Tensor, "b m"] | None = None,
        mask: masks.Mask | None = None,
        recording: Recording | None = None,
        ablate: Collection[Head] = (),
    ) -> Float[Tensor, "b m d_model"]:
        """The source as the decoder will see it; the options are those of `Transformer.hidden`."""
        check_heads(self.config, ablate)
        positions = positions_of(source)
        pattern = hide_padding(mask or masks.parse(self.config.mask), visible, source.shape[-1])
        inputs = AttentionInputs(mask=pattern, recording=recording, ablate=ablate)
        return self.encoder(self.source_embedding(source, self.tokens, positions), positions, inputs)

    def decode(
        self,
        target: Int[Tensor, "b n"],
        memory: Float[Tensor, "b m d_model"],
        *,
        visible: Bool[Tensor, "b m"] | None = None,
        mask: masks.Mask | None = None,
        cache: KeyValueCache | None = None,
        recording: Recording | None = None,
        ablate: Collection[Head] = (),
    ) -> Float[Tensor, "b n d_model"]:
        """The last hidden states of the target.

        Args:
            target: token numbers; with a cache, only those it has not read.
            memory: what `encode` returned.
            visible: False where a token of the source is padding.
            mask: which tokens of the target may look at each other; causal if not given.
        """
        check_heads(self.config, ablate)
        first = cache.length if cache is not None else 0
        positions = positions_of(target, first)
        inputs = AttentionInputs(
            mask=mask or masks.Causal(), first_row=first, cache=cache, recording=recording, ablate=ablate
        )
        x = self.target_embedding(target, self.tokens, positions)
        x = self.decoder(x, positions, inputs, memory, hide_padding(masks.Bidirectional(), visible, memory.shape[1]))
        if cache is not None:
            cache.length += target.shape[1]
        return x

    def logits(self, hidden: Float[Tensor, "b n d_model"]) -> Float[Tensor, "b n vocab"]:
        """Scores of every word of the vocabulary."""
        return self.output(hidden, self.tokens)

    def forward(
        self,
        source: Int[Tensor, "b m"],
        target: Int[Tensor, "b n"],
        *,
        visible: Bool[Tensor, "b m"] | None = None,
        recording: Recording | None = None,
        ablate: Collection[Head] = (),
    ) -> Float[Tensor, "b n vocab"]:
        """Scores of every word of the vocabulary after every token of the target."""
        memory = self.encode(source, visible=visible, recording=recording, ablate=ablate)
        return self.logits(self.decode(target, memory, visible=visible, recording=recording, ablate=ablate))


AnyTransformer = Transformer | EncoderDecoder


def build(config: TransformerConfig, *, seed: int | None = 0) -> AnyTransformer:
    """The model a configuration describes, with random weights that the seed decides; None: weights will be loaded."""
    return EncoderDecoder(config, seed=seed) if config.is_encoder_decoder else Transformer(config, seed=seed)


def use_form(model: nn.Module, form: AttentionForm) -> None:
    """Compute attention in another of its three forms from now on; the numbers stay the same."""
    for module in model.modules():
        if isinstance(module, Attention):
            module.form = form


def check_heads(config: TransformerConfig, heads: Collection[Head]) -> None:
    """Refuse heads that a model does not have: to ablate them would change nothing, and look like a finding.

    Raises:
        OutOfRange: naming the head and what there is.
    """
    if config.is_encoder_decoder:
        stacks = {"encoder": config.n_layers, "decoder": config.n_decoder_layers, "cross": config.n_decoder_layers}
    else:
        stacks = {"self": config.n_layers}
    for stack, layer, head in heads:
        if not (0 <= layer < stacks.get(stack, 0) and 0 <= head < config.n_heads):
            there = ", ".join(f"{name!r} of {layers} layers" for name, layers in stacks.items())
            raise OutOfRange(
                f"There is no head ({stack!r}, {layer}, {head}). There is {there}, each of {config.n_heads} heads, "
                "counted from 0."
            )


def hide_padding(mask: masks.Mask, visible: Bool[Tensor, "b n"] | None, n_keys: int) -> masks.Mask:
    """The rule, and that nobody sees padding.

    Raises:
        ConfigError: if ``visible`` does not say true or false of each of the ``n_keys`` keys.
    """
    if visible is None:
        return mask
    if visible.ndim != 2 or visible.shape[1] != n_keys or visible.dtype != torch.bool:
        raise ConfigError(
            f"visible is of shape {tuple(visible.shape)} and type {visible.dtype}. Use True or False of each of the "
            f"{n_keys} tokens that may be looked at, those in a cache among them: [batch, {n_keys}], torch.bool."
        )
    return mask & masks.Padding(visible[0] if len(visible) == 1 else visible)
