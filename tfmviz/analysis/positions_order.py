"""Every scheme on one text, and what happens when the text is shuffled.

Attention itself knows no order: shuffle the tokens and, without positions, the outputs are the same ones, shuffled. The
models are small, untrained encoders that differ in nothing but the scheme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfmviz.errors import TextTooLong
from tfmviz.nn import Recording, Transformer, TransformerConfig, attention_stages
from tfmviz.nn.config import Position
from tfmviz.text import Token

SCHEMES: tuple[Position, ...] = ("none", "sinusoidal", "learned", "rotary", "alibi", "relative")
VOCABULARY, WIDTH, HEADS, LAYERS, LONGEST = 4096, 64, 4, 2, 512
SPREAD = 0.5  # of the tables: large enough that positions can be seen beside the tokens


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SchemeOnText:
    """One scheme on one text.

    Attributes:
        scheme: how order gets in.
        weights: of the last layer, mean of its heads, [n, n].
        error: largest difference between the outputs of the shuffled text and the shuffled outputs of the text, over
            the largest output; about 1e-6 where the model does not know the order.
        same_token: largest difference between the outputs of equal tokens at different places, likewise; None where no
            token comes twice.
    """

    scheme: Position
    weights: Float[Tensor, "n n"]
    error: float
    same_token: float | None


@lru_cache(maxsize=16)
def small_model(scheme: Position, seed: int = 0) -> Transformer:
    """An untrained encoder with this scheme: the same weights in all of them but for the scheme's own."""
    config = TransformerConfig(
        architecture="encoder",
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        n_heads=HEADS,
        n_layers=LAYERS,
        max_positions=LONGEST,
        position=scheme,
        output="none",
    )
    model = Transformer(config, seed=None)
    for name, weight in model.named_parameters():
        # each weight from its own name and the seed, so that what models share is equal in all of them
        made = torch.Generator().manual_seed(seed + sum(ord(c) * 31**i for i, c in enumerate(name)) % 2**31)
        if weight.ndim > 1:
            spread = SPREAD if "table" in name or name == "tokens.weight" else 2 * weight.shape[-1] ** -0.5
            torch.nn.init.normal_(weight, std=spread, generator=made)
        elif name.endswith("bias"):
            torch.nn.init.zeros_(weight)
    return model.eval().requires_grad_(False)


def order(tokens: Sequence[Token], seed: int = 0) -> tuple[SchemeOnText, ...]:
    """Run every scheme on a text and on the same text shuffled.

    Args:
        tokens: of any model; equal tokens stay equal, whatever the vocabulary.
        seed: of the weights and of the shuffling.

    Raises:
        TextTooLong: if there are more than 512 tokens.
    """
    if len(tokens) > LONGEST:
        last = tokens[LONGEST - 1]
        raise TextTooLong(
            len(tokens),
            LONGEST,
            last.start,
            model="the small model of this picture",
            part="pair" if last.segment else "text",
            together=any(token.segment for token in tokens),
        )
    ids = torch.tensor([token.id for token in tokens])
    shuffled = torch.randperm(len(ids), generator=torch.Generator().manual_seed(seed))
    if torch.equal(shuffled, torch.arange(len(ids))):
        shuffled = shuffled.roll(1)  # a short text may come out as it was
    return tuple(_measured(scheme, ids, shuffled, seed) for scheme in SCHEMES)


def _measured(scheme: Position, ids: Int[Tensor, " n"], shuffled: Int[Tensor, " n"], seed: int) -> SchemeOnText:
    model, recording = small_model(scheme, seed), Recording()
    with torch.inference_mode():
        plain = model.hidden(ids[None] % VOCABULARY, recording=recording)[0]
        moved = model.hidden(ids[shuffled][None] % VOCABULARY)[0]
        last = recording.attention[-1]
        stages = attention_stages(last.query, last.key, last.value, last.scoring)
    size = float(plain.abs().max())
    return SchemeOnText(
        scheme=scheme,
        weights=stages.weights[0].mean(0),
        error=float((moved - plain[shuffled]).abs().max()) / size,
        same_token=_apart(plain, ids, size),
    )


def _apart(outputs: Float[Tensor, "n d"], ids: Int[Tensor, " n"], size: float) -> float | None:
    """How far apart equal tokens come out."""
    apart = [
        float((outputs[ids == number] - outputs[ids == number][0]).abs().max()) / size
        for number in ids.unique()
        if int((ids == number).sum()) > 1
    ]
    return max(apart, default=None)
