"""What padding does to a text: how much attention it draws, and how far it moves the real tokens' output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from tfmviz.errors import ConfigError
from tfmviz.models import Model
from tfmviz.text import Token
from tfmviz.trace import AttentionStack, Trace

Side = Literal["left", "right"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PaddingEffect:
    """A padded text against the same text unpadded.

    Attributes:
        tokens: the real ones, n of them.
        n_padding: how many pads were added.
        side: where.
        leak: mean share of a real token's attention that goes to padding, by layer, padding hidden; NaN where a layer
            has no attention. [layers]
        leak_open: the same where the model is not told what is padding.
        cosine: between each real token's output padded and unpadded, padding hidden. [n]
        cosine_open: the same without the padding mask.
    """

    tokens: tuple[Token, ...]
    n_padding: int
    side: Side
    leak: Float[Tensor, " layers"]
    leak_open: Float[Tensor, " layers"]
    cosine: Float[Tensor, " n"]
    cosine_open: Float[Tensor, " n"]


def padding(model: Model, text: str, pad_to: int, side: Side = "right", *, pair: str | None = None) -> PaddingEffect:
    """Pad a text and measure what that changes, with and without the padding mask.

    Positions count from the first token of the padded text: padding on the left moves the real tokens to later ones,
    which learned and sinusoidal positions feel and rotary ones do not.

    Args:
        model: an encoder or a decoder; of an encoder-decoder its encoder is measured.
        text: what was typed.
        pad_to: tokens after padding.
        side: where the padding goes.
        pair: a second sentence, for encoders.

    Raises:
        ConfigError: if ``pad_to`` is not more than the text's own tokens, or more than the model takes.
        TfmvizError: whatever :meth:`tfmviz.models.Model.trace` refuses.
    """
    plain = model.trace(text, pair, hidden_states=True)
    if pad_to <= len(plain.tokens):
        raise ConfigError(
            f"pad_to={pad_to:,} leaves no room for padding: the text has {len(plain.tokens):,} tokens. Use more."
        )
    padded = model.trace(text, pair, pad_to=pad_to, pad_side=side, hidden_states=True)
    real = [i for i, token in enumerate(padded.tokens) if not token.is_padding]
    own = _last(plain)
    bare = model.trace(text, pair, pad_to=pad_to, pad_side=side, hidden_states=True, hide_padding=False)
    return PaddingEffect(
        tokens=plain.tokens,
        n_padding=pad_to - len(plain.tokens),
        side=side,
        leak=leak_by_layer(_first_stack(padded)),
        leak_open=leak_by_layer(_first_stack(bare)),
        cosine=_cosine(_last(padded)[real], own),
        cosine_open=_cosine(_last(bare)[real], own),
    )


def leak_by_layer(stack: AttentionStack) -> Float[Tensor, " layers"]:
    """Share of the real tokens' attention that goes to padding: mean over real queries and heads, for each layer."""
    real, pads = _split(stack.query_tokens)
    leaks = [
        float(stack.mean([index], None, real, pads).sum(1).mean()) if layer.has_attention else float("nan")
        for index, layer in enumerate(stack.layers)
    ]
    return torch.tensor(leaks)


def _split(tokens: Sequence[Token]) -> tuple[list[int], list[int]]:
    """Positions of real tokens and of padding."""
    return [i for i, t in enumerate(tokens) if not t.is_padding], [i for i, t in enumerate(tokens) if t.is_padding]


def _first_stack(trace: Trace) -> AttentionStack:
    return trace["encoder" if trace.kind == "encoder-decoder" else "self"]


def _last(trace: Trace) -> Float[Tensor, "n d_model"]:
    if not trace.hidden_states:
        raise ConfigError(f"{trace.model} leaves no hidden states behind, so its output cannot be compared.")
    return trace.hidden_states[-1].float().cpu()


def _cosine(a: Float[Tensor, "n d_model"], b: Float[Tensor, "n d_model"]) -> Float[Tensor, " n"]:
    """In float64: the cosine of a vector with itself is 1, not 0.9999999."""
    return torch.nn.functional.cosine_similarity(a.double(), b.double(), dim=-1).float()
