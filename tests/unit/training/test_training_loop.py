"""The loop: exact resume, seeds, the schedule, clipping, divergence."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from tfmviz.errors import ConfigError, TrainingDiverged
from tfmviz.training import Copy, Induction, Loop, Settings


def weights(loop: Loop) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in loop.model.state_dict().items()}


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("task", [Copy(longest=4), Induction(length=40, longest=10, slip=0.1, lead=4)])
def test_a_loop_that_goes_on_in_a_new_object_is_equal_to_the_last_bit(tiny: Settings, task: Copy | Induction) -> None:
    settings = replace(tiny, task=task)
    straight = Loop(settings)
    reports = list(straight.steps())

    first = Loop(settings)
    for _ in range(5):
        first.advance()
    state = first.state()
    first.advance()  # must not reach into the state
    second = Loop(replace(settings))
    second.restore(state)
    rest = list(second.steps())

    assert same(weights(straight), weights(second))
    assert rest == reports[5:]


def test_restoring_does_not_share_memory_with_the_state(tiny: Settings) -> None:
    loop = Loop(tiny)
    loop.advance()
    state = loop.state()
    one, two = Loop(tiny), Loop(tiny)
    one.restore(state)
    list(one.steps())
    two.restore(state)
    list(two.steps())
    assert same(weights(one), weights(two))


def test_the_seed_decides_the_model_and_another_seed_gives_another(tiny: Settings) -> None:
    runs = []
    for seed in (1, 1, 2):
        loop = Loop(replace(tiny, seed=seed))
        torch.rand(3)  # draws elsewhere in the process must not matter
        list(loop.steps())
        runs.append(weights(loop))
    assert same(runs[0], runs[1])
    assert not same(runs[0], runs[2])


def test_the_first_loss_is_the_cross_entropy_by_hand(tiny: Settings) -> None:
    loop = Loop(tiny)
    import numpy as np

    batch = tiny.task.sample(tiny.batch_size, np.random.default_rng([tiny.seed, 0, 0]))
    with torch.no_grad():
        logits = loop.model(batch.source, batch.tokens, visible=batch.visible).double()
    terms = [
        -math.log(torch.softmax(logits[b, n], -1)[label].item())
        for b, row in enumerate(batch.labels.tolist())
        for n, label in enumerate(row)
        if label >= 0
    ]
    assert loop.advance().loss == pytest.approx(sum(terms) / len(terms), rel=1e-5)


def test_the_rate_rises_in_a_line_and_falls_along_a_cosine(tiny: Settings) -> None:
    settings = replace(tiny, learning_rate=0.01, warmup_steps=4, n_steps=104, final_rate=0.1)
    assert [settings.rate_at(step) for step in range(4)] == pytest.approx([0.0025, 0.005, 0.0075, 0.01])
    assert settings.rate_at(54) == pytest.approx(0.0055)  # half way: the mean of highest and last
    assert settings.rate_at(104) == pytest.approx(0.001)


def test_a_long_gradient_is_reported_as_it_was_and_clipped_before_the_update(tiny: Settings) -> None:
    loop = Loop(replace(tiny, clip_norm=0.01))
    report = loop.advance()
    used = math.sqrt(sum(p.grad.square().sum().item() for p in loop.model.parameters() if p.grad is not None))
    assert report.gradient_norm > 0.1
    assert used == pytest.approx(0.01, rel=1e-3)


def test_a_loss_that_is_no_number_is_an_error_that_names_the_step_and_leaves_the_weights(tiny: Settings) -> None:
    loop = Loop(tiny)
    loop.advance()
    with torch.no_grad():
        loop.model.tokens.weight[0] = float("nan")
    before = weights(loop)
    with pytest.raises(TrainingDiverged, match="step 2") as caught:
        loop.advance()
    assert caught.value.step == 2
    assert torch.equal(before["tokens.weight"][1:], loop.model.state_dict()["tokens.weight"][1:])


@pytest.mark.parametrize(
    ("field", "value"),
    [("learning_rate", -1.0), ("learning_rate", float("nan")), ("n_steps", 0), ("batch_size", 10**6), ("seed", -1)],
)
def test_a_number_out_of_bounds_is_refused_by_name(tiny: Settings, field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{field}={value}"):
        replace(tiny, **{field: value})


def test_heads_that_do_not_divide_the_width_are_refused_before_training(tiny: Settings) -> None:
    with pytest.raises(ConfigError, match="n_heads=3"):
        replace(tiny, n_heads=3)
