"""Three forms of attention: one formula, the same numbers and gradients, and memory that grows as promised."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from nn_cases import Case, cases
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tfmviz.nn import Causal, Padding, Scoring, SlidingWindow, attention_stages, chunked, fused, materialised

FORMS = {"materialised": materialised, "fused": fused, "chunked": partial(chunked, block=7)}


def by_hand(case: Case) -> Tensor:
    """The output by loops over single numbers, from the formula."""
    b, h, q, d = case.query.shape
    group = h // case.key.shape[1]
    out = torch.zeros(b, h, q, d, dtype=torch.float64)
    cols = torch.arange(case.key.shape[2])
    for i in range(b):
        for head in range(h):
            for row in range(q):
                at = torch.tensor([row + case.scoring.first_row])
                seen = case.scoring.mask.block(at, cols).expand(b, 1, 1, len(cols))[i, 0, 0].tolist()
                keys, values = case.key[i, head // group], case.value[i, head // group]
                scores = [float(case.query[i, head, row] @ keys[j]) * case.scoring.scale for j in range(len(cols))]
                if case.scoring.bias is not None:
                    extra = case.scoring.bias.block(at, cols)[head, 0].tolist()
                    scores = [s + e for s, e in zip(scores, extra, strict=True)]
                largest = max((s for s, ok in zip(scores, seen, strict=True) if ok), default=0.0)
                raised = [math.exp(s - largest) if ok else 0.0 for s, ok in zip(scores, seen, strict=True)]
                for j, weight in enumerate(raised):
                    out[i, head, row] += weight / (sum(raised) or 1.0) * values[j]
    return out


@pytest.mark.parametrize("form", FORMS)
@given(case=cases())
@settings(max_examples=25, deadline=None)
def test_each_form_is_the_formula(form: str, case: Case) -> None:
    found = FORMS[form](case.query, case.key, case.value, case.scoring)
    torch.testing.assert_close(found, by_hand(case), atol=1e-10, rtol=0)


@given(case=cases())
@settings(max_examples=60, deadline=None)
def test_forms_agree_in_float32_forward_and_gradient(case: Case) -> None:
    found = {}
    weight = torch.randn(case.query.shape)
    if case.scoring.bias is not None:
        case.scoring.bias.float()
    for name, form in FORMS.items():
        inputs = [x.float().requires_grad_() for x in (case.query / 10, case.key, case.value)]
        output = form(*inputs, case.scoring)
        # every input stands in the sum once more, as in a residual stream, so that it has a gradient if nothing is seen
        ((output * weight).sum() + sum(x.sum() for x in inputs)).backward()
        found[name] = (output.detach(), *(x.grad for x in inputs))
    for name in ("fused", "chunked"):
        for ours, theirs in zip(found[name], found["materialised"], strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_gradient_is_the_slope_of_the_output(form: str) -> None:
    torch.manual_seed(0)
    case = [torch.randn(1, 2, 5, 3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    # key 0 hidden under a causal rule: the first query sees nothing
    scoring = Scoring(scale=0.7, mask=Causal() & Padding(torch.arange(5) > 0))
    assert torch.autograd.gradcheck(lambda *x: FORMS[form](*x, scoring), case)


@pytest.mark.parametrize("form", FORMS)
def test_query_that_sees_nothing_gives_zeros(form: str) -> None:
    query, key, value = torch.randn(3, 2, 4, 6, 8).unbind(0)
    keys = torch.ones(2, 6, dtype=torch.bool)
    keys[0] = False
    output = FORMS[form](query, key, value, Scoring(scale=1.0, mask=Padding(keys)))
    assert torch.equal(output[0], torch.zeros(4, 6, 8))
    assert output[1].abs().min() > 0


def test_stages_lead_from_scores_to_output() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 2, 6, 4).unbind(0)
    stages = attention_stages(query, key, value, Scoring(scale=0.5, mask=Causal()))
    torch.testing.assert_close(stages.scores[0, 1, 4, 2], query[0, 1, 4] @ key[0, 1, 2])
    torch.testing.assert_close(stages.scaled, stages.scores / 2)
    later = torch.ones(6, 6).triu(1).bool()
    assert torch.isneginf(stages.masked[..., later]).all()
    assert torch.equal(stages.masked[..., ~later], stages.biased[..., ~later])
    assert (stages.weights[..., later] == 0).all()
    torch.testing.assert_close(stages.weights.sum(-1), torch.ones(1, 2, 6))
    torch.testing.assert_close(stages.output, stages.weights @ value)


@pytest.mark.parametrize("form", ["materialised", "chunked"])
def test_soft_cap_bounds_scores(form: str) -> None:
    # one query, two keys with scores 100 and -100, capped to ±2: the weight of the first is e^2 / (e^2 + e^-2)
    query, key = torch.tensor([[[[1.0]]]]), torch.tensor([[[[100.0], [-100.0]]]])
    value = torch.tensor([[[[1.0], [0.0]]]])
    weight = FORMS[form](query, key, value, Scoring(scale=1.0, softcap=2.0))
    assert weight.item() == pytest.approx(math.exp(2) / (math.exp(2) + math.exp(-2)), abs=1e-6)


def test_scaling_keeps_the_variance_of_scores_at_one() -> None:
    torch.manual_seed(0)
    for d in (16, 256):
        query, key = torch.randn(2, 1, 1, 400, d).unbind(0)
        stages = attention_stages(query, key, key, Scoring(scale=d**-0.5))
        assert stages.scores.var().item() == pytest.approx(d, rel=0.05)
        assert stages.scaled.var().item() == pytest.approx(1, rel=0.05)


class _Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that any operation gives."""

    def __init__(self) -> None:
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        self.numel = max(
            [self.numel, *(x.untyped_storage().nbytes() // 4 for x in tree_leaves(out) if isinstance(x, Tensor))]
        )
        return out


def test_chunked_never_holds_a_matrix_of_all_weights() -> None:
    n, d, block = 2048, 8, 64
    query, key, value = (torch.randn(1, 1, n, d, requires_grad=True) for _ in range(3))
    with _Largest() as largest:
        chunked(query, key, value, Scoring(scale=0.3, mask=Causal()), block=block).sum().backward()
    assert largest.numel <= n * d  # the inputs themselves
    with _Largest() as largest:
        materialised(query, key, value, Scoring(scale=0.3, mask=Causal()))
    assert largest.numel >= n * n


def test_chunked_reads_only_blocks_that_a_window_touches() -> None:
    reads = []

    class Counted(SlidingWindow):
        def block(self, rows: Tensor, cols: Tensor) -> Tensor:
            visible = super().block(rows, cols)
            reads.append(bool(visible.any()))
            return visible

    x = torch.randn(1, 1, 1024, 4)
    chunked(x, x, x, Scoring(scale=1.0, mask=Counted(16)), block=64)
    assert sum(reads) == 16 + 15  # each block of rows meets itself and the one before


def test_dropout_drops_the_promised_share_of_weights() -> None:
    torch.manual_seed(0)
    n = 300
    query = torch.zeros(1, 1, n, 1)
    for name, form in FORMS.items():
        output = form(query, query, torch.ones(1, 1, n, 1), Scoring(scale=1.0), 0.4)
        # each weight 1/n stays with 0.6 and is then divided by 0.6: mean 1, variance (0.4 / 0.6) / n
        assert output.mean().item() == pytest.approx(1, abs=0.02), name
        assert output.var().item() * n == pytest.approx(0.4 / 0.6, rel=0.25), name
