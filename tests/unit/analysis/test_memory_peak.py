"""What attention takes at its highest point: the formulas against PyTorch's own account of every tensor."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tfmviz.analysis.memory_peak import FORMS, AttentionCall, peak_bytes, tensor_bytes
from tfmviz.errors import ConfigError
from tfmviz.nn.attention import Scoring, fused, materialised
from tfmviz.nn.chunked import chunked
from tfmviz.nn.masks import Bidirectional, Causal

BLOCK = 64


def counted(run: Callable[[], object]) -> int:
    """Bytes that tensors take at their highest point while something runs, from PyTorch's allocator."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        kept = run()
    del kept
    results = profile.profiler.kineto_results
    moves = sorted((event.start_ns(), event.nbytes()) for event in results.events() if event.name() == "[memory]")
    now = highest = 0
    for _, change in moves:
        now += change
        highest = max(highest, now)
    return highest


def called(form: str, n: int, call: AttentionCall) -> Callable[[], object]:
    """A call as `measure_worker` makes it, inputs and all."""
    scoring = Scoring(scale=call.d_head**-0.5, mask=Causal() if call.causal else Bidirectional())

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if form == "chunked":
            return chunked(query, key, value, scoring, block=BLOCK)
        return (materialised if form == "materialised" else fused)(query, key, value, scoring)

    def made(heads: int) -> Tensor:
        return torch.empty(call.batch, heads, n, call.d_head).fill_(0.01).requires_grad_(call.backward)

    def run() -> object:
        query, key, value = made(call.n_heads), made(call.n_kv_heads), made(call.n_kv_heads)
        if not call.backward:
            with torch.no_grad():
                return attend(query, key, value)
        output = attend(query, key, value)
        output.backward(torch.ones_like(output))
        return query.grad, key.grad, value.grad

    return run


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
@pytest.mark.parametrize("kv_heads", [4, 2, 1], ids=["MHA", "GQA", "MQA"])
@pytest.mark.parametrize("form", FORMS)
def test_the_formula_counts_every_tensor(form: str, kv_heads: int, causal: bool, backward: bool) -> None:
    call = AttentionCall(n_heads=4, n_kv_heads=kv_heads, d_head=32, causal=causal, backward=backward)
    run = called(form, 512, call)
    run()
    predicted = tensor_bytes(form, 512, call, n_threads=torch.get_num_threads(), block=BLOCK)
    assert predicted == pytest.approx(counted(run), rel=0.06)


def test_twice_the_text_is_four_times_the_memory_where_the_matrix_is_stored() -> None:
    call = AttentionCall(n_heads=8, n_kv_heads=8, d_head=64)
    ratios = {form: peak_bytes(form, 32_768, call) / peak_bytes(form, 16_384, call) for form in FORMS}
    assert ratios["materialised"] == pytest.approx(4, rel=0.01)
    assert ratios["chunked"] == pytest.approx(2, rel=0.01)
    assert ratios["fused"] == pytest.approx(2, rel=0.05)


def test_a_batch_takes_so_many_times_as_much() -> None:
    one = AttentionCall(n_heads=8, n_kv_heads=8, d_head=64)
    four = AttentionCall(n_heads=8, n_kv_heads=8, d_head=64, batch=4)
    assert peak_bytes("chunked", 4_096, four) == pytest.approx(4 * peak_bytes("chunked", 4_096, one), rel=0.01)


@pytest.mark.parametrize("wrong", [{"n_kv_heads": 3}, {"d_head": 0}, {"dtype": "int8"}, {"dtype": "float128"}])
def test_a_call_that_cannot_be_made_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        AttentionCall(**({"n_heads": 8, "n_kv_heads": 8, "d_head": 64} | wrong))
