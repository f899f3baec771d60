"""The steps of a head on small tensors, each compared with the same number worked out another way."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tfmviz.analysis import inside as steps
from tfmviz.analysis.inside_softmax import saturation, spread
from tfmviz.errors import ConfigError, NoAttention, OutOfRange
from tfmviz.trace import LayerAttention, LayerInside, OutputProjection

H, KV, N, D, DV = 4, 2, 6, 8, 5


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def layer(
    *, softcap: float | None = None, sink: bool = False, bias: bool = False, unrotated: bool = False
) -> LayerInside:
    """A causal layer of grouped queries whose heads' outputs are computed one number at a time."""
    query, key, value = random(H, N, D, seed=1) * 2, random(KV, N, D, seed=2), random(KV, N, DV, seed=3)
    extra = random(H, N, N, seed=4) if bias else None
    sinks = random(H, seed=5) if sink else None
    attention = LayerAttention.from_queries_and_keys(
        query=query,
        key=key,
        value=value,
        softcap=softcap,
        mask=torch.ones(N, N, dtype=torch.bool).tril(),
        bias=extra,
        sink=sinks,
    )
    heads = torch.zeros(H, N, DV)
    for h in range(H):
        for i in range(N):
            scores = []
            for j in range(i + 1):
                score = float(query[h, i] @ key[h // 2, j]) / math.sqrt(D)
                score = softcap * math.tanh(score / softcap) if softcap else score
                scores.append(score + (float(extra[h, i, j]) if extra is not None else 0.0))
            total = sum(map(math.exp, scores)) + (math.exp(float(sinks[h])) if sinks is not None else 0.0)
            for j, score in enumerate(scores):
                heads[h, i] += math.exp(score) / total * value[h // 2, j]
    weight, offset = random(H * DV, 7, seed=6), random(7, seed=7)
    flat = heads.transpose(0, 1).flatten(1)
    projection = OutputProjection(
        path="o", weight=weight, bias=offset, heads=flat, output=flat @ weight + offset, changed=0.0
    )
    plain = (random(H, N, D, seed=8), random(KV, N, D, seed=9)) if unrotated else None
    return LayerInside(attention=attention, heads=heads, projection=projection, unrotated=plain)


@pytest.mark.parametrize("options", [{}, {"softcap": 1.5}, {"sink": True}, {"bias": True}], ids=str)
def test_outputs_equal_the_formula_one_number_at_a_time(options: dict[str, object]) -> None:
    inside = layer(**options)  # type: ignore[arg-type]
    for head in range(H):
        assert (steps.head_stages(inside, head).output - inside.heads[head]).abs().max() < 1e-5


def test_weights_are_those_that_the_trace_gives() -> None:
    inside = layer(softcap=2.0, sink=True, bias=True)
    found = steps.head_stages(inside, 3)
    assert torch.allclose(found.weights, inside.attention.weights(3), atol=1e-6)
    assert torch.allclose(found.sink, inside.attention.sink(3), atol=1e-6)
    assert torch.equal(found.visible, torch.ones(N, N, dtype=torch.bool).tril())
    assert torch.isinf(found.masked[~found.visible]).all()


def test_each_step_follows_from_the_one_before() -> None:
    found = steps.head_stages(layer(softcap=2.0, bias=True), 1)
    assert torch.equal(found.scores, found.query @ found.key.T)
    assert torch.allclose(found.scaled, 2 * torch.tanh(found.scores / math.sqrt(D) / 2))
    assert not torch.allclose(found.biased, found.scaled)
    assert torch.equal(found.masked[found.visible], found.biased[found.visible])
    assert torch.allclose(torch.softmax(found.masked, -1), found.weights)


def test_rows_are_cut_from_the_same_numbers() -> None:
    inside = layer(sink=True)
    whole, part = steps.head_stages(inside, 0), steps.head_stages(inside, 0, rows=slice(2, 5))
    assert part.rows == (2, 3, 4)
    assert torch.allclose(part.weights, whole.weights[2:5])
    assert torch.allclose(part.output, whole.output[2:5])
    with pytest.raises(OutOfRange):
        steps.head_stages(inside, H)


def test_products_add_up_to_the_score() -> None:
    found = steps.head_stages(layer(), 2)
    each = steps.products(found, 4, 1)
    assert each.shape == (D,)
    assert float(each.sum()) == pytest.approx(float(found.scores[4, 1]), abs=1e-5)


def test_a_row_without_keys_is_zeros() -> None:
    attention = LayerAttention.from_queries_and_keys(
        query=random(1, 3, 4), key=random(1, 3, 4), value=random(1, 3, 2), mask=torch.tensor([[False] * 3] * 3)
    )
    found = steps.head_stages(LayerInside(attention=attention, heads=torch.zeros(1, 3, 2)), 0)
    assert not found.weights.any()
    assert not found.output.any()


def test_temperature_divides_and_no_scale_multiplies_by_one() -> None:
    inside = layer()
    own = steps.head_stages(inside, 0)
    hot = steps.head_stages(inside, 0, turns=steps.Turns(temperature=4.0))
    raw = steps.head_stages(inside, 0, turns=steps.Turns(scaled=False))
    assert torch.allclose(hot.scaled * 4, own.scaled)
    assert torch.equal(raw.scaled, own.scores)


def test_without_rotation_the_other_queries_and_keys_meet() -> None:
    inside = layer(unrotated=True)
    assert inside.unrotated is not None
    found = steps.head_stages(inside, 3, turns=steps.Turns(rotated=False))
    assert torch.allclose(found.scores, inside.unrotated[0][3] @ inside.unrotated[1][1].T)
    with pytest.raises(ConfigError):
        steps.head_stages(layer(), 3, turns=steps.Turns(rotated=False))


def test_contributions_and_bias_add_up_to_the_block() -> None:
    inside = layer(sink=True)
    assert inside.projection is not None
    assert inside.projection.bias is not None
    parts = [steps.contribution(inside, h, steps.head_stages(inside, h)) for h in range(H)]
    assert (sum(parts) + inside.projection.bias - inside.projection.output).abs().max() < 1e-5


def test_value_weighted_is_the_length_of_what_a_key_brings() -> None:
    inside = layer()
    found = steps.head_stages(inside, 1)
    got = steps.value_weighted(inside, 1, found)
    assert inside.projection is not None
    for i, j in ((5, 0), (5, 3), (2, 2)):
        brought = found.weights[i, j] * found.value[j] @ inside.projection.weight[DV : 2 * DV]
        assert float(got[i, j]) == pytest.approx(float(brought.norm()), abs=1e-5)


def test_cosines_are_those_of_torch() -> None:
    found = steps.head_stages(layer(), 0)
    expected = torch.nn.functional.cosine_similarity(found.query[:, None], found.key[None], dim=-1)
    assert torch.allclose(steps.cosines(found), expected, atol=1e-6)


def test_the_check_sees_a_wrong_head_a_wrong_block_and_nothing_where_all_is_right() -> None:
    right = layer()
    found = steps.check(right, 0)
    assert max(found.output, found.block or 0, found.row_sum, found.masked) < 1e-5
    assert found.n_masked == N * (N - 1) // 2
    heads = right.heads.clone()
    heads[3, 2, 1] += 0.5
    wrong = LayerInside(attention=right.attention, heads=heads, projection=right.projection)
    assert steps.check(wrong, 0).output == pytest.approx(0.5, abs=1e-5)
    assert right.projection is not None
    bare = OutputProjection(
        path="o",
        weight=right.projection.weight,
        bias=None,
        heads=right.projection.heads,
        output=right.projection.output,
        changed=0.0,
    )
    without = steps.check(LayerInside(attention=right.attention, heads=right.heads, projection=bare), 0)
    assert without.block == pytest.approx(float(random(7, seed=7).abs().max()), abs=1e-5)


def test_what_was_not_found_is_said() -> None:
    plain = layer()
    bare = LayerInside(attention=plain.attention, heads=plain.heads, missing=("No projection here.",))
    assert steps.check(bare, 0).block is None
    with pytest.raises(NoAttention, match="No projection here"):
        steps.output_weight(bare, 0)
    dense = LayerInside(attention=LayerAttention.from_weights(torch.eye(3)[None]), heads=torch.zeros(1, 3, 2))
    with pytest.raises(NoAttention):
        steps.head_stages(dense, 0)


def test_spread_is_entropy_and_the_norm_of_the_jacobian() -> None:
    scores = random(7, 9) * 3
    found = spread(torch.softmax(scores, -1))
    for i, row in enumerate(scores):
        w = torch.softmax(row.double(), -1)
        jacobian = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, -1), row.double())
        assert float(found.gradient[i]) == pytest.approx(float(jacobian.norm()), abs=1e-6)
        assert float(found.entropy[i]) == pytest.approx(-sum(float(p) * math.log2(float(p)) for p in w), abs=1e-5)
        assert float(found.largest[i]) == pytest.approx(float(w.max()), abs=1e-6)


def test_one_key_with_all_the_weight_passes_no_gradient() -> None:
    found = spread(torch.tensor([[1.0, 0, 0, 0], [0.25] * 4]))
    assert found.gradient.tolist() == pytest.approx([0, math.sqrt(3) / 4], abs=1e-6)
    assert found.entropy.tolist() == pytest.approx([0, 2], abs=1e-6)


def test_variance_grows_as_d_and_the_softmax_saturates_unless_divided() -> None:
    measured = {(one.d, one.scaled): one for one in saturation((4, 64, 1024))}
    for d in (4, 64, 1024):
        assert measured[d, False].variance == pytest.approx(d, rel=0.1)
        assert measured[d, True].variance == pytest.approx(1, rel=0.1)
    assert measured[1024, False].largest > 0.9
    assert measured[1024, False].gradient < 0.1
    assert measured[1024, True].largest < 0.2
    assert measured[1024, True].gradient > 1.3 * measured[1024, False].gradient
    assert measured[1024, True].entropy == pytest.approx(measured[64, True].entropy, abs=0.1)
