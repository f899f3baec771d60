"""Generation with a cache beside generation without: same tokens, bytes by the formula, and honest refusals."""

from __future__ import annotations

import pytest
import torch

import tfmviz
from tfmviz.analysis import generation
from tfmviz.errors import ConfigError, EmptyText
from tfmviz.models import Model
from tfmviz.models.scratch_load import byte_model
from tfmviz.nn import TransformerConfig, build, generate

TEXT = "The quick brown fox jumps over the lazy dog, and"
SIZES = {"vocab_size": 259, "d_model": 32, "n_heads": 4, "n_kv_heads": 2, "n_layers": 3, "max_positions": 64}


def ours(position: str = "rotary") -> Model:
    """A small decoder over bytes at random."""
    config = TransformerConfig(architecture="decoder", position=position, **SIZES)
    return byte_model(build(config, seed=1).eval(), name=f"tiny-{position}")


@pytest.mark.parametrize("position", ["learned", "rotary", "alibi", "relative", "sinusoidal", "none"])
def test_our_decoder_writes_the_same_with_the_cache_and_without(position: str) -> None:
    model = ours(position)
    steps = list(generation.write(model, TEXT[:20], 12))
    assert [step.token for step in steps] == [step.token_without for step in steps]
    assert max(step.difference for step in steps) < 1e-4
    # and the same as the greedy search of the transformer itself
    ids = torch.tensor([[token.id for token in model.tokenize(TEXT[:20])]])
    expected = generate(model.module, ids, 12, temperature=0)[0, ids.shape[1] :].tolist()  # type: ignore[attr-defined]
    assert [step.token for step in steps] == expected


def test_the_bytes_of_our_cache_are_two_times_layers_times_kv_heads_times_tokens_times_width() -> None:
    steps = list(generation.write(ours(), TEXT[:20], 5))
    n_prompt = 1 + 20  # <start> and the bytes
    assert [step.length for step in steps] == [n_prompt + i for i in range(5)]
    assert [step.cache_bytes for step in steps] == [2 * 3 * 2 * (n_prompt + i) * 8 * 4 for i in range(5)]
    shape = generation.cache_shape(ours())
    assert [shape.nbytes(step.length) for step in steps] == [step.cache_bytes for step in steps]


def test_transformers_writes_the_same_by_itself(smollm2: Model) -> None:
    steps = list(generation.write(smollm2, TEXT, 8))
    ids = torch.tensor([[token.id for token in smollm2.tokenize(TEXT)]])
    with smollm2.exclusive() as module:
        expected = module.generate(ids, max_new_tokens=8, do_sample=False, eos_token_id=None)[0, ids.shape[1] :]
    assert [step.token for step in steps] == expected.tolist()
    assert [step.token_without for step in steps] == expected.tolist()


def test_transformers_cache_takes_what_the_formula_says(smollm2: Model) -> None:
    shape = generation.cache_shape(smollm2)
    assert (len(shape.windows), shape.n_kv_heads, shape.d_head) == (30, 3, 64)
    for step in generation.write(smollm2, TEXT, 3):
        assert step.cache_bytes == shape.nbytes(step.length) == 2 * 30 * 3 * 64 * 4 * step.length


def test_prefill_reads_the_prompt_and_every_later_pass_one_token(monkeypatch: pytest.MonkeyPatch) -> None:
    widths: list[tuple[bool, int]] = []
    timed = generation.Reader.timed

    def watched(self: generation.Reader, new: torch.Tensor) -> tuple[torch.Tensor, float]:
        widths.append((self._keep, new.shape[1]))
        return timed(self, new)

    monkeypatch.setattr(generation.Reader, "timed", watched)
    steps = list(generation.write(ours(), TEXT[:20], 4))
    assert len(steps) == 4
    _, *measured = widths  # the first one is not timed
    assert [width for keep, width in measured if keep] == [21, 1, 1, 1]
    assert [width for keep, width in measured if not keep] == [21, 22, 23, 24]


def test_who_stops_asking_stops_the_work() -> None:
    steps = generation.write(ours(), TEXT[:20], 30)
    next(steps)
    steps.close()
    assert list(steps) == []


def test_an_encoder_and_an_encoder_decoder_are_told_what_to_choose(minilm: Model) -> None:
    with pytest.raises(ConfigError, match="Choose a decoder, such as smollm2"):
        next(generation.write(minilm, TEXT, 4))
    dates = tfmviz.load_model("scratch-dates", device="cpu")
    with pytest.raises(ConfigError, match="encoder-decoder"):
        next(generation.write(dates, "3 May 2020", 4))


def test_a_text_without_tokens_and_one_without_room_are_refused() -> None:
    with pytest.raises(EmptyText):
        next(generation.write(ours(), "", 4))
    with pytest.raises(ConfigError, match=r"room for 4 more, not for 5"):
        next(generation.write(ours(), "x" * 60, 5))  # 61 tokens of 64, and the last one written is not read
    assert len(list(generation.write(ours(), "x" * 60, 4))) == 4
    with pytest.raises(ConfigError, match="The text has 65 tokens and tiny-rotary takes 64: shorten it"):
        generation.prompt(ours(), "x" * 64, n_new=0)
