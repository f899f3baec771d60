"""What padding costs, against counts by hand; and that padded batches compute what the lines alone do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tfmviz
from tfmviz.analysis import generation, padding_times, padding_waste
from tfmviz.errors import ConfigError, EmptyText, NotEnoughMemory
from tfmviz.models import Model, memory
from tfmviz.models.memory import PassShape

TEXT = "The cat.\n\nA dog chased the cat over the garden wall.\n   \nBirds sing.\n"
LENGTHS = st.lists(st.integers(1, 300), min_size=1, max_size=40)


@pytest.mark.parametrize("n_lines", [1, 7])
def test_64_tokens_padded_to_512_cost_64_times_the_matrix(n_lines: int) -> None:
    one = padding_waste.fixed([64] * n_lines, 512)
    assert one.matrix_ratio == 64
    assert one.n_tokens == 512 * n_lines
    assert one.padding_share == 1 - 64 / 512
    assert one.matrix_bytes(n_heads=8) == n_lines * 8 * 512 * 512 * 4


def test_the_numbers_of_a_small_batch_are_those_counted_by_hand() -> None:
    one = padding_waste.dynamic([2, 5, 3])
    assert (one.n_tokens, one.n_padding, one.cells) == (15, 5, 75)
    assert one.matrix_ratio == pytest.approx(75 / (4 + 25 + 9))
    buckets = padding_waste.bucketed([2, 5, 3], 2)
    assert [(batch.lines, batch.length) for batch in buckets.batches] == [((1, 2), 5), ((0,), 2)]
    assert (buckets.n_tokens, buckets.n_padding, buckets.cells) == (12, 2, 54)
    assert buckets.largest_matrix_bytes(n_heads=3) == 3 * 50 * 4
    shape = PassShape(d_model=10, d_ff=40, n_vocabulary=0, itemsize=4)
    assert buckets.activation_bytes(shape) == 10 * 4 * (80 + 120)


@given(lengths=LENGTHS, size=st.integers(1, 50), more=st.integers(0, 200))
def test_each_way_holds_every_line_once_and_the_next_one_wastes_no_more(
    lengths: list[int], size: int, more: int
) -> None:
    ways = [
        padding_waste.fixed(lengths, max(lengths) + more),
        padding_waste.dynamic(lengths),
        padding_waste.bucketed(lengths, size),
    ]
    for one in ways:
        assert sorted(line for batch in one.batches for line in batch.lines) == list(range(len(lengths)))
        assert all(lengths[line] <= batch.length for batch in one.batches for line in batch.lines)
        assert one.n_tokens - one.n_padding == sum(lengths)
    assert ways[0].cells >= ways[1].cells >= ways[2].cells >= sum(n * n for n in lengths)
    assert padding_waste.bucketed(lengths, 1).n_padding == 0


def test_lines_are_those_that_are_not_blank_with_the_models_own_tokens(minilm: Model) -> None:
    lines = padding_waste.lines_of(minilm, TEXT)
    assert [line.text for line in lines] == ["The cat.", "A dog chased the cat over the garden wall.", "Birds sing."]
    assert [line.ids for line in lines] == [tuple(t.id for t in minilm.tokenize(line.text)) for line in lines]
    assert len(padding_waste.lines_of(minilm, TEXT, most=2)) == 2


def test_what_cannot_be_padded_is_refused_with_the_line_and_the_numbers(minilm: Model) -> None:
    with pytest.raises(EmptyText):
        padding_waste.lines_of(minilm, " \n \n")
    with pytest.raises(ConfigError, match=r"Line 2 has 602 tokens and minilm takes 512"):
        padding_waste.lines_of(minilm, "short\n" + "the " * 600)
    with pytest.raises(ConfigError, match="would cut the longest line, which has 9 tokens"):
        padding_waste.fixed([9, 3], 8)
    with pytest.raises(ConfigError):
        padding_waste.bucketed([3], 0)


@pytest.mark.parametrize("name", ["minilm", "smollm2", "scratch-minilm", "scratch-untrained", "scratch-dates"])
def test_a_padded_batch_leaves_the_lines_as_they_are_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tfmviz.load_model(name, device="cpu", allow_download=False)
    lines = padding_waste.lines_of(model, TEXT)
    outputs: list[torch.Tensor] = []
    hidden = padding_times._hidden
    monkeypatch.setattr(padding_times, "_hidden", lambda *given: outputs.append(found := hidden(*given)) or found)
    way = padding_waste.dynamic([len(line.ids) for line in lines])
    done = list(padding_times.times(model, lines, [way], 1))
    assert [(one.method, one.n_tokens) for one in done] == [("dynamic", way.n_tokens)]
    batch = outputs[-1]
    for row, line in enumerate(lines):
        trace = model.trace(line.text, hidden_states=True)
        assert trace.hidden_states is not None
        alone = trace.hidden_states[-1]
        assert (batch[row, : len(line.ids)] - alone).abs().max() < 1e-4 * max(1.0, float(alone.abs().max()))


def test_rounds_run_every_batch_of_every_way_and_the_median_counts(minilm: Model) -> None:
    lines = padding_waste.lines_of(minilm, TEXT)
    lengths = [len(line.ids) for line in lines]
    ways = [padding_waste.dynamic(lengths), padding_waste.bucketed(lengths, 2)]
    done = list(padding_times.times(minilm, lines, ways, 3))
    assert sorted((one.method, one.turn) for one in done) == sorted(
        [("dynamic", turn) for turn in range(3)] + [("bucketed", turn) for turn in range(3) for _ in range(2)]
    )
    found = padding_times.seconds_of(done, ways)
    totals = sorted(sum(one.seconds for one in done if (one.method, one.turn) == ("bucketed", t)) for t in range(3))
    assert found["bucketed"] == totals[1]
    # a round that is not whole does not count
    assert "bucketed" not in padding_times.seconds_of([one for one in done if one.turn == 0][:2], ways)


def test_a_batch_that_will_not_fit_is_refused_before_it_runs(minilm: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = padding_waste.lines_of(minilm, TEXT)
    way = padding_waste.fixed([len(line.ids) for line in lines], 512)
    shape = padding_times.shape_of(minilm)
    assert (shape.d_model, shape.d_ff, shape.itemsize) == (384, 1536, 4)
    needed = padding_times.needed_bytes(minilm, way.batches[0], shape)
    assert needed > 3 * 512 * (8 * 384 + 3 * 1536) * 4
    monkeypatch.setattr(memory, "available_bytes", lambda device: needed - 1)
    with pytest.raises(NotEnoughMemory, match="A batch of 3 lines padded to 512 tokens in minilm"):
        next(padding_times.times(minilm, lines, [way], 1))


@pytest.mark.parametrize("shape", [padding_times.shape_of, generation.cache_shape])
def test_a_shape_once_known_is_told_while_the_model_runs(shape: Callable[[Model], object]) -> None:
    model = tfmviz.load_model("scratch-untrained", device="cpu")
    known = shape(model)
    with model.exclusive(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(shape, model).result(timeout=20) == known
