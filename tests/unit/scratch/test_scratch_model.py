"""From-scratch models keep the contract of pretrained ones: any text, any mask, linear memory, clear refusals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

import tfmviz
from tfmviz.errors import ConfigError, EmptyText, NotEnoughMemory, OutOfRange, TextTooLong, UnknownMask, UnreadableText
from tfmviz.models import ScratchModel
from tfmviz.models import scratch_pass as passes
from tfmviz.models.scratch_load import byte_model
from tfmviz.nn import TransformerConfig, build, generate, parse, translate

TEXT = "The cat 猫 sat on the mat."
MASKS = (None, "bidirectional", "sliding:4")


@pytest.fixture(scope="module")
def untrained() -> Any:
    return tfmviz.load_model("scratch-untrained", device="cpu", allow_download=False)


def small(**changes: Any) -> ScratchModel:
    fields: dict[str, Any] = {"architecture": "decoder", "vocab_size": 259, "d_model": 32, "n_heads": 4, "n_layers": 2}
    return byte_model(build(TransformerConfig(**(fields | changes)), seed=1), name="small")


def causal_rows(weights: Tensor) -> bool:
    return bool((weights.triu(1) == 0).all())


def test_an_untrained_model_spreads_its_attention(untrained: Any) -> None:
    stack = untrained.trace(TEXT, mask="bidirectional")["self"]
    n = len(stack.key_tokens)
    entropy = torch.stack([torch.special.entr(stack.weights(layer, h)).sum(-1) for layer in range(4) for h in range(8)])
    assert entropy.mean() > 0.7 * torch.tensor(float(n)).log()


def test_loading_twice_gives_the_same_model(untrained: Any) -> None:
    again = tfmviz.load_model("scratch-untrained", device="cpu")
    assert torch.equal(again.trace(TEXT)["self"].weights(3, 7), untrained.trace(TEXT)["self"].weights(3, 7))


def test_tokens_are_bytes_with_their_place_in_the_text(untrained: Any) -> None:
    tokens = untrained.trace(TEXT).tokens
    assert tokens == untrained.tokenize(TEXT)
    assert tokens[0].is_special
    assert bytes(token.id for token in tokens[1:]).decode() == TEXT
    assert [(token.start, token.end) for token in tokens if token.text == "猫"] == [(8, 9)] * 3


@pytest.mark.parametrize("rule", ["causal", "bidirectional", "sliding:3", "prefix:5"])
@pytest.mark.parametrize("padding", [None, "left", "right"])
def test_every_cell_a_rule_hides_is_hidden_and_no_other(untrained: Any, rule: str, padding: Any) -> None:
    n = 40 if padding else len(untrained.tokenize(TEXT))
    trace = untrained.trace(TEXT, mask=rule, pad_to=n if padding else None, pad_side=padding)
    stack, at = trace["self"], torch.arange(n)
    real = torch.tensor([not token.is_padding for token in trace.tokens])
    expected = parse(rule).block(at, at) & real
    weights = stack.weights(2, 3)
    assert torch.equal(stack.visible(2, 3), expected)
    assert torch.equal(weights > 0, expected)
    seen = expected.any(-1)
    torch.testing.assert_close(weights.sum(-1), seen.float())


def test_a_mask_changes_what_the_model_computes(untrained: Any) -> None:
    own, causal, window = (
        untrained.trace(TEXT, mask=mask).predictions.logits for mask in (None, "causal", "sliding:2")
    )
    assert torch.equal(own, causal)
    assert (own - window).abs().max() > 1e-2


def test_a_window_as_wide_as_the_text_is_the_causal_mask(untrained: Any) -> None:
    wide, causal = (untrained.trace(TEXT, mask=mask)["self"].weights(3, 0) for mask in ("sliding:999", "causal"))
    assert torch.equal(wide, causal)


@pytest.mark.parametrize("rule", ["banded", "sliding:0", "sliding:x", ""])
def test_an_unknown_mask_is_refused(untrained: Any, rule: str) -> None:
    with pytest.raises(UnknownMask):
        untrained.trace(TEXT, mask=rule)


def test_a_text_too_long_says_where_to_cut(untrained: Any) -> None:
    text = "é" * 1500  # two bytes each, and a start
    with pytest.raises(TextTooLong) as caught:
        untrained.trace(text)
    error = caught.value
    assert (error.n_tokens, error.max_tokens, error.cut_at) == (3001, 2048, 1023)
    assert len(untrained.trace(text[: error.cut_at]).tokens) == 2047


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        (EmptyText, {"text": ""}),
        (UnreadableText, {"text": "a\ud800"}),
        (ConfigError, {"text": "a", "pair": "b"}),
        (ConfigError, {"text": "a", "target": "b"}),
        (OutOfRange, {"text": "a", "ablate": ((4, 0),)}),
        (OutOfRange, {"text": "a", "ablate": ((0, 8),)}),
        (ConfigError, {"text": "a", "pad_to": 5000}),
    ],
)
def test_what_cannot_be_run_is_refused(untrained: Any, error: type[Exception], arguments: dict[str, Any]) -> None:
    with pytest.raises(error):
        untrained.trace(**arguments)


@pytest.mark.parametrize(
    "text", ["a", "<b>&amp;</b> $x$ **bold** :smile:", "👩‍👩‍👧‍👦🏳️‍🌈", "مرحبا", "\x00\n\t", "a" * 50]
)
def test_any_text_runs(untrained: Any, text: str) -> None:
    trace = untrained.trace(text)
    assert len(trace.tokens) == len(text.encode()) + 1
    assert trace["self"].overview().shape[:2] == (4, 8)
    assert len(trace.next_token(5)) == 5


def test_next_token_is_what_generation_finds_likeliest(untrained: Any) -> None:
    trace = untrained.trace(TEXT)
    ids = torch.tensor([[token.id for token in trace.tokens]])
    written = int(generate(untrained.module, ids, 1, temperature=0)[0, -1])
    assert int(trace.predictions.logits[0].argmax()) == written


def test_memory_grows_with_the_text_and_not_with_its_square(untrained: Any) -> None:
    short, long = (untrained.trace("x" * n).memory for n in (255, 1023))
    assert long.kept == pytest.approx(4 * short.kept, rel=0.01)
    assert long.dense == 16 * short.dense


@pytest.mark.parametrize("position", ["alibi", "relative", "sinusoidal", "rotary", "none"])
@pytest.mark.parametrize("rule", ["sliding:7", "causal"])
def test_a_long_text_goes_block_by_block_with_the_same_numbers(
    position: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small(position=position)
    forms = []
    monkeypatch.setattr("tfmviz.models.scratch.use_form", lambda module, form: _noting(forms, module, form))
    whole = model.trace("abc" * 100, mask=rule, hidden_states=True)
    monkeypatch.setattr(passes, "LONG", 100)
    blocks = model.trace("abc" * 100, mask=rule, hidden_states=True)
    needs_matrix = position in ("alibi", "relative") or rule != "causal"
    assert forms == ["fused", "chunked" if needs_matrix else "fused"]
    torch.testing.assert_close(blocks.hidden_states[-1], whole.hidden_states[-1], atol=1e-5, rtol=0)


def _noting(forms: list[str], module: Any, form: Any) -> None:
    from tfmviz.nn import use_form

    forms.append(form)
    use_form(module, form)


@pytest.mark.parametrize("position", ["alibi", "relative", "rotary"])
def test_traced_weights_times_values_are_the_heads_outputs(position: str) -> None:
    """The weights of a trace, bias by distance included, against the pass itself: they must explain its output."""
    from tfmviz.nn import Recording

    model = small(position=position, n_kv_heads=2)
    if position == "relative":
        torch.nn.init.normal_(model.module.stack.bias.table.weight)
    trace = model.trace(TEXT)
    recording = Recording()
    model.module.hidden(torch.tensor([[token.id for token in trace.tokens]]), recording=recording)
    for layer, record in enumerate(recording.attention):
        for head in range(4):
            output = trace["self"].weights(layer, head) @ record.value[0, head // 2]
            torch.testing.assert_close(output, record.output[0, head], atol=1e-5, rtol=0)


def test_an_encoder_decoder_has_three_stacks_of_unequal_sides() -> None:
    model = small(architecture="encoder-decoder", n_decoder_layers=3, position="sinusoidal")
    trace = model.trace("March 5", target="2021-03", pad_to=12, hidden_states=True)
    shapes = {
        name: (stack.n_layers, len(stack.query_tokens), len(stack.key_tokens)) for name, stack in trace.stacks.items()
    }
    assert shapes == {"encoder": (2, 12, 12), "decoder": (3, 8, 8), "cross": (3, 8, 12)}
    assert [token.text for token in trace.target_tokens] == ["<start>", *"2021-03"]
    cross = trace["cross"].weights(1, 2)
    torch.testing.assert_close(cross.sum(-1), torch.ones(8))
    assert (cross[:, 8:] == 0).all()  # padding: seven letters and <end> before it
    assert causal_rows(trace["decoder"].weights(0, 0))
    assert not causal_rows(trace["encoder"].weights(0, 0))
    assert (len(trace.hidden_states), len(trace.target_hidden_states)) == (3, 4)


def test_a_mask_takes_the_place_of_both_stacks_own() -> None:
    model = small(architecture="encoder-decoder", position="none")
    trace = model.trace("March 5", target="2021-03", mask="causal")
    assert causal_rows(trace["encoder"].weights(0, 0))
    trace = model.trace("March 5", target="2021-03", mask="bidirectional")
    assert not causal_rows(trace["decoder"].weights(0, 0))


def test_the_first_token_of_a_target_is_what_translation_writes() -> None:
    model = small(architecture="encoder-decoder")
    source = torch.tensor([[token.id for token in model.tokenize("March 5")]])
    written = translate(model.module, source, 257, 1)[0, 1]
    assert model.trace("March 5").predictions.logits[0].argmax() == written


def test_two_threads_get_what_each_asked_for(untrained: Any) -> None:
    texts = [f"{'ab' * i} {i}" for i in range(1, 17)]
    alone = {(text, mask): untrained.trace(text, mask=mask)["self"].weights(3, 1) for text in texts for mask in MASKS}
    with ThreadPoolExecutor(4) as pool:
        jobs = {key: pool.submit(untrained.trace, key[0], mask=key[1]) for key in alone}
        for key, job in jobs.items():
            assert torch.equal(job.result()["self"].weights(3, 1), alone[key])


def test_a_pass_that_would_not_fit_is_refused_before_it_starts(untrained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfmviz.models.memory.available_bytes", lambda device: 1000)
    monkeypatch.setattr(untrained.module, "hidden", None)
    with pytest.raises(NotEnoughMemory, match="tokens in scratch-untrained"):
        untrained.trace(TEXT)
