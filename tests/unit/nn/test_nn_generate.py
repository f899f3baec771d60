"""Drawing tokens: what temperature, top-k, top-p, the seed and the cache promise."""

from __future__ import annotations

import pytest
import torch
from nn_cases import config
from torch import Tensor

from tfmviz.errors import ConfigError
from tfmviz.nn import build, generate, sharpen, translate

LOGITS = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]]))


def test_temperature_raises_probabilities_to_a_power() -> None:
    torch.testing.assert_close(sharpen(LOGITS), LOGITS.exp())
    squares = LOGITS.exp() ** 2
    torch.testing.assert_close(sharpen(LOGITS, temperature=0.5), squares / squares.sum())
    assert sharpen(LOGITS, temperature=0).tolist() == [[1, 0, 0, 0]]


@pytest.mark.parametrize(("k", "kept"), [(1, [1.0, 0, 0, 0]), (2, [0.625, 0.375, 0, 0]), (9, [0.5, 0.3, 0.15, 0.05])])
def test_top_k_keeps_k(k: int, kept: list[float]) -> None:
    torch.testing.assert_close(sharpen(LOGITS, top_k=k), torch.tensor([kept]))


@pytest.mark.parametrize(
    ("p", "kept"), [(0.4, [1.0, 0, 0, 0]), (0.51, [0.625, 0.375, 0, 0]), (1.0, [0.5, 0.3, 0.15, 0.05])]
)
def test_top_p_keeps_the_fewest_that_hold_p(p: float, kept: list[float]) -> None:
    torch.testing.assert_close(sharpen(LOGITS, top_p=p), torch.tensor([kept]))


@pytest.mark.parametrize(
    ("options", "said"),
    [({"temperature": -1}, "temperature=-1"), ({"top_k": 0}, "top_k=0"), ({"top_p": 1.2}, "top_p=1.2")],
)
def test_numbers_outside_their_range_are_named(options: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        sharpen(LOGITS, **options)


@pytest.mark.parametrize("position", ["learned", "rotary", "alibi", "relative", "sinusoidal"])
def test_greedy_with_a_cache_is_greedy_without(position: str, tokens: Tensor) -> None:
    model = build(config(position=position, block="post-norm")).eval()
    slow = tokens
    for _ in range(8):
        slow = torch.cat([slow, model(slow)[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(generate(model, tokens, 8, temperature=0), slow)


def test_a_seed_decides_the_text(tokens: Tensor) -> None:
    model = build(config()).eval()
    first, again, other = (generate(model, tokens, 12, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_draws_follow_the_probabilities() -> None:
    model = build(config()).eval()
    prompt = torch.tensor([[3, 1, 4]])
    expected = model(prompt)[0, -1].softmax(-1)
    drawn = generate(model, prompt.expand(20_000, 3), 1, seed=0)[:, -1].bincount(minlength=31) / 20_000
    # the standard error of a share of at most 0.5 in 20,000 draws is 0.0035
    assert (drawn - expected).abs().max() < 4 * 0.0035


def test_a_text_ends_with_its_stop_token_and_stays_ended(tokens: Tensor) -> None:
    model = build(config()).eval()
    free = generate(model, tokens, 10, temperature=0)
    stop = int(free[0, 9])  # what the first text writes first
    ended = generate(model, tokens, 10, temperature=0, stop=stop)
    assert (ended[0, 9:] == stop).all()
    until = (free[1] == stop).nonzero().flatten().tolist()
    assert torch.equal(ended[1, : (until or [19])[0]], free[1, : (until or [19])[0]])


def test_an_encoder_decoder_writes_what_its_forward_finds_likeliest(tokens: Tensor) -> None:
    model = build(config(architecture="encoder-decoder", block="post-norm")).eval()
    slow = torch.zeros(2, 1, dtype=torch.long)
    for _ in range(6):
        slow = torch.cat([slow, model(tokens, slow)[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(translate(model, tokens, 0, 6), slow)
