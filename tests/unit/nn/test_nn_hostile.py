"""What a hostile caller may ask for: half precision, nothing at all, numbers that are none."""

from __future__ import annotations

import math

import pytest
import torch
from nn_cases import config
from torch import Tensor

from tfmviz.errors import ConfigError, OutOfRange, UnknownMask
from tfmviz.nn import Scoring, TransformerConfig, build, generate, sharpen
from tfmviz.nn.attention import fused
from tfmviz.nn.chunked import chunked
from tfmviz.nn.masks import Padding, parse


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("form", ["materialised", "fused", "chunked"])
def test_a_rotary_model_in_half_precision_gives_what_it_gives_in_full(dtype: torch.dtype, form: str) -> None:
    tokens = torch.arange(12)[None] % 10
    full = build(config(position="rotary", attention_form=form)).eval()
    half = build(config(position="rotary", attention_form=form)).eval().to(dtype)
    assert torch.allclose(half(tokens).float(), full(tokens), atol=0.05)


def test_chunks_of_no_rows_are_no_rows() -> None:
    x = torch.randn(2, 4, 5, 8)
    assert chunked(x[:, :, :0], x, x, Scoring(scale=0.3)).shape == (2, 4, 0, 8)


def test_chunks_of_rows_that_see_nothing_are_zeros_with_a_gradient_of_zero() -> None:
    query = torch.randn(2, 4, 3, 8, requires_grad=True)
    key = torch.randn(2, 2, 5, 8)
    output = chunked(query, key, key, Scoring(scale=0.3, mask=Padding(torch.zeros(5, dtype=torch.bool))))
    assert torch.equal(output, torch.zeros(2, 4, 3, 8))
    output.sum().backward()
    assert torch.equal(query.grad, torch.zeros(2, 4, 3, 8))


def test_the_fused_form_refuses_a_soft_cap_rather_than_leave_it_out() -> None:
    x = torch.randn(1, 1, 3, 4)
    with pytest.raises(ConfigError, match=r"attention_softcap=0\.1"):
        fused(x, x, x, Scoring(scale=1.0, softcap=0.1))


@pytest.mark.parametrize("position", ["learned", "rotary", "alibi", "relative", "sinusoidal", "none"])
def test_no_tokens_give_no_logits(position: str) -> None:
    model = build(config(position=position)).eval()
    assert model(torch.zeros(1, 0, dtype=torch.long)).shape[:2] == (1, 0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("norm_eps", math.nan), ("position_base", math.inf), ("attention_scale", math.nan),
        ("rotary_fraction", math.nan),
        ("dropout", None), ("d_model", 16.0), ("d_model", "16"), ("n_layers", 1.5), ("n_heads", True),
        ("mask", 5), ("mask", ["causal"]), ("embedding_norm", "no"), ("output_bias", 1),
    ],
)  # fmt: skip
def test_a_field_that_holds_something_else_is_named(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"{field}="):
        config(**{field: value})


def test_fields_without_a_usual_value_are_asked_for() -> None:
    with pytest.raises(ConfigError, match="architecture, n_heads, n_layers, vocab_size"):
        TransformerConfig.from_dict({"d_model": 8})


@pytest.mark.parametrize("digits", [30, 5000])
def test_a_width_beyond_every_text_is_no_rule(digits: int) -> None:
    with pytest.raises(UnknownMask):
        parse("sliding:" + "9" * digits)


def test_more_rules_than_anybody_joins_are_counted_and_refused() -> None:
    with pytest.raises(UnknownMask, match="5,000 rules"):
        parse("&".join(["causal"] * 5000))
    assert str(parse(" & ".join(["causal"] * 16))).count("causal") == 16


@pytest.mark.parametrize("temperature", [1e-9, 1e-45, 1e-300])
def test_a_temperature_near_zero_leaves_the_likeliest_token(temperature: float) -> None:
    assert sharpen(torch.tensor([[1.0, 3.0, 2.0]]), temperature=temperature).tolist() == [[0, 1, 0]]


@pytest.mark.parametrize("options", [{"temperature": math.nan}, {"temperature": math.inf}, {"top_k": 1.5}])
def test_numbers_that_draw_nothing_are_named(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        sharpen(torch.zeros(1, 5), **options)


def test_top_p_of_a_large_vocabulary_is_summed_in_full_precision() -> None:
    logits = torch.randn(1, 50_000, generator=torch.Generator().manual_seed(0)).half()
    falling = logits.double().softmax(-1).sort(descending=True).values
    fewest = int((falling.cumsum(-1) < 0.9).sum()) + 1
    assert abs(int((sharpen(logits, top_p=0.9) > 0).sum()) - fewest) <= 1


@pytest.mark.parametrize(
    ("prompt", "options", "said"),
    [
        ([[]], {}, "no tokens"), ([[1]], {"n_new": -1}, "n_new=-1"), ([[1]], {"seed": 2**64}, "seed="),
        ([[1]], {"seed": 1.5}, "seed="),
    ],
)  # fmt: skip
def test_writing_on_from_nothing_or_with_no_seed_is_a_sentence(prompt: list, options: dict, said: str) -> None:
    tokens: Tensor = torch.tensor(prompt, dtype=torch.long)
    with pytest.raises(ConfigError, match=said):
        generate(build(config()).eval(), tokens, **({"n_new": 2} | options))


@pytest.mark.parametrize("token", [-1, 10, 99])
def test_a_token_outside_the_vocabulary_is_named(token: int) -> None:
    model = build(config(vocab_size=10)).eval()
    with pytest.raises(OutOfRange, match=f"Token {token} is none of the 10 of the vocabulary"):
        model(torch.tensor([[1, token]]))


def test_top_k_keeps_k_of_equals() -> None:
    assert (sharpen(torch.zeros(1, 9), top_k=2) > 0).sum() == 2


@pytest.mark.parametrize(
    ("tokens", "options", "said"),
    [
        (torch.tensor([1, 2, 3]), {}, r"shape \(3,\).*tokens\[None\]"),
        (torch.tensor([[1.0, 2.0]]), {}, "torch.float32"),
        (torch.tensor([[1, 2]]), {"positions": torch.tensor([[-1, 0]])}, "Position -1"),
        (torch.tensor([[1, 2, 3]]), {"visible": torch.ones(1, 2).bool()}, r"shape \(1, 2\).*\[batch, 3\]"),
        (torch.tensor([[1, 2, 3]]), {"visible": torch.ones(1, 3).long()}, "torch.int64.*torch.bool"),
        (torch.tensor([[1, 2]]), {"segments": torch.tensor([[0, 5]])}, "Segment 5 is none of the 2 of n_segments"),
        (torch.tensor([[1, 2]]), {"ablate": [("self", 0, 4)]}, "There is no head .'self', 0, 4."),
        (torch.tensor([[1, 2]]), {"ablate": [("self", 2, 0)]}, "'self' of 2 layers"),
        (torch.tensor([[1, 2]]), {"ablate": [("decoder", 0, 0)]}, "There is no head"),
    ],
)  # fmt: skip
def test_what_a_pass_cannot_mean_is_a_sentence(tokens: Tensor, options: dict, said: str) -> None:
    model = build(config(n_heads=4, n_layers=2, n_segments=2)).eval()
    with pytest.raises((ConfigError, OutOfRange), match=said):
        model.hidden(tokens, **options)


def test_a_batch_of_sources_and_its_padding_must_be_of_one_length() -> None:
    model = build(config(architecture="encoder-decoder")).eval()
    source, target = torch.ones(2, 5, dtype=torch.long), torch.ones(2, 3, dtype=torch.long)
    memory = model.encode(source)
    with pytest.raises(ConfigError, match=r"\[batch, 5\]"):
        model.decode(target, memory, visible=torch.ones(2, 3).bool())


def test_scores_that_are_no_numbers_draw_no_token() -> None:
    with pytest.raises(ConfigError, match="NaN"):
        sharpen(torch.tensor([[1.0, math.nan]]))
