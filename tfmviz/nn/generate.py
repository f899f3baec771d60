"""Writing on: one token at a time, drawn from the scores of the last one."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfmviz.errors import ConfigError
from tfmviz.nn.cache import KeyValueCache
from tfmviz.nn.transformer import EncoderDecoder, Transformer


def sharpen(
    logits: Float[Tensor, "b vocab"], *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Float[Tensor, "b vocab"]:
    """Probabilities to draw the next token from.

    Args:
        temperature: below 1 sharpens, above 1 flattens, 0 leaves the likeliest token only.
        top_k: keep this many of the likeliest tokens (Fan et al. 2018).
        top_p: of those, keep the fewest that together hold this probability (Holtzman et al. 2019).

    Raises:
        ConfigError: if a number is outside its range, or a score is NaN.
    """
    _check(temperature, top_k, top_p)
    if bool(logits.isnan().any()):
        raise ConfigError(
            "The model's scores hold NaN, so there is no next token. Its weights are damaged or too large."
        )
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    # sums over a whole vocabulary need float32; the largest score at 0 stays there however small the temperature is
    logits = logits.float()
    logits = (logits - logits.amax(-1, keepdim=True)).double() / temperature
    if top_k is not None and top_k < logits.shape[-1]:
        kept = logits.topk(top_k)  # by place, for equals may stand at the border
        logits = torch.full_like(logits, -torch.inf).scatter(-1, kept.indices, kept.values)
    probability = logits.softmax(-1)
    if top_p is not None:
        falling, order = probability.sort(dim=-1, descending=True)
        # a token stays if those likelier than it do not hold top_p yet: the first one always stays
        unneeded = falling.cumsum(-1) - falling >= top_p
        probability = torch.zeros_like(probability).scatter(-1, order, falling.masked_fill(unneeded, 0.0))
    return (probability / probability.sum(-1, keepdim=True)).float()


@torch.no_grad()
def generate(
    model: Transformer,
    tokens: Int[Tensor, "b n"],
    n_new: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    stop: int | None = None,
) -> Int[Tensor, "b n_all"]:
    """A decoder's continuation, the prompt included.

    Args:
        tokens: prompts of one length.
        n_new: most tokens to add.
        stop: the token that ends a text; behind it a text is filled with it until all have ended.
        seed: decides the draws; the same seed gives the same text.
    """
    cache = KeyValueCache()

    def last_logits(new: Int[Tensor, "b new"]) -> Float[Tensor, "b vocab"]:
        return model.logits(model.hidden(new, cache=cache)[:, -1])

    return _write(last_logits, tokens, n_new, stop, seed, temperature=temperature, top_k=top_k, top_p=top_p)


@torch.no_grad()
def translate(
    model: EncoderDecoder,
    source: Int[Tensor, "b m"],
    start: int,
    n_new: int,
    *,
    visible: Tensor | None = None,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    stop: int | None = None,
) -> Int[Tensor, "b n_all"]:
    """The target that an encoder-decoder writes for a source, from the ``start`` token on; see `generate`."""
    memory = model.encode(source, visible=visible)
    cache = KeyValueCache()

    def last_logits(new: Int[Tensor, "b new"]) -> Float[Tensor, "b vocab"]:
        return model.logits(model.decode(new, memory, visible=visible, cache=cache)[:, -1])

    tokens = source.new_full((len(source), 1), start)
    return _write(last_logits, tokens, n_new, stop, seed, temperature=temperature, top_k=top_k, top_p=top_p)


def _write(
    last_logits: Callable[[Tensor], Tensor],
    tokens: Int[Tensor, "b n"],
    n_new: int,
    stop: int | None,
    seed: int,
    *,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
) -> Int[Tensor, "b n_all"]:
    """Feed the text, draw, append, and from then on feed what was drawn only: the cache holds the rest."""
    if tokens.shape[-1] == 0:
        raise ConfigError("The prompt has no tokens, and the first token is drawn after another one. Begin with one.")
    if n_new < 0:
        raise ConfigError(f"n_new={n_new} is negative. Use the number of tokens to add, 0 or more.")
    if not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise ConfigError(f"seed={seed} is not a whole number from 0 to {2**63 - 1}. Use one of them.")
    generator = torch.Generator(tokens.device).manual_seed(seed)
    new = tokens
    ended = torch.zeros(len(tokens), 1, dtype=torch.bool, device=tokens.device)
    for _ in range(n_new):
        probability = sharpen(last_logits(new), temperature=temperature, top_k=top_k, top_p=top_p)
        new = torch.multinomial(probability, 1, generator=generator)
        if stop is not None:
            new = new.masked_fill(ended, stop)
            ended = ended | (new == stop)
        tokens = torch.cat([tokens, new], dim=1)
        if ended.all():
            break
    return tokens


def _check(temperature: float, top_k: int | None, top_p: float | None) -> None:
    if not 0 <= temperature < math.inf:
        raise ConfigError(
            f"temperature={temperature} is negative or no number. Use 0 for the likeliest token, 1 for a plain draw."
        )
    if top_k is not None and (top_k < 1 or not isinstance(top_k, int)):
        raise ConfigError(f"top_k={top_k} leaves no token or half a one. Use 1, 2, 3 or more, or None for all.")
    if top_p is not None and not 0 < top_p <= 1:
        raise ConfigError(f"top_p={top_p} is not a share. Use above 0 to 1, or None for all.")
