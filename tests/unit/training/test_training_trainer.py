"""The trainer: background, queue, stop, resume, reset, and trainings that end with whoever started them."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch

from tfmviz.errors import OutOfRange
from tfmviz.training import Loop, Settings, Trainer, TrainingQueue

PATIENCE = 60.0  # seconds; the machine may be busy


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "did not happen"
        time.sleep(0.01)


@pytest.fixture
def queue() -> TrainingQueue:
    return TrainingQueue(1)


@pytest.fixture
def make(queue: TrainingQueue) -> Iterator[Callable[..., Trainer]]:
    made: list[Trainer] = []

    def trainer(settings: Settings, **options: float) -> Trainer:
        made.append(Trainer(settings, queue=queue, **options))
        return made[-1]

    yield trainer
    for one in made:
        one.close()
        assert one.wait(PATIENCE)


def test_a_training_in_the_background_equals_the_loop_in_the_foreground(
    tiny: Settings, make: Callable[..., Trainer]
) -> None:
    trainer = make(tiny)
    trainer.start()
    assert trainer.wait(PATIENCE)
    loop = Loop(tiny)
    assert list(trainer.history) == list(loop.steps())
    assert torch.equal(trainer.model_at().tokens.weight, loop.model.tokens.weight)
    assert trainer.progress.state == "finished"
    assert trainer.measures is not None
    assert "accuracy" in trainer.measures


def test_stop_and_start_change_nothing_in_the_result(tiny: Settings, make: Callable[..., Trainer]) -> None:
    settings = replace(tiny, n_steps=60)
    trainer = make(settings)
    trainer.start()
    until(lambda: trainer.progress.step >= 3)
    trainer.stop()
    assert trainer.wait(PATIENCE)
    stopped = trainer.progress
    assert stopped.state == "stopped"
    assert 3 <= stopped.step < 60
    time.sleep(0.1)
    assert trainer.progress.step == stopped.step
    trainer.start()
    assert trainer.wait(PATIENCE)
    loop = Loop(settings)
    assert list(trainer.history) == list(loop.steps())
    assert torch.equal(trainer.model_at().tokens.weight, loop.model.tokens.weight)


def test_start_right_behind_stop_never_runs_two_threads_on_one_model(
    tiny: Settings, make: Callable[..., Trainer]
) -> None:
    settings = replace(tiny, n_steps=40)
    trainer = make(settings)
    for _ in range(20):
        trainer.start()
        trainer.stop()
        trainer.start()
    assert trainer.wait(PATIENCE)
    assert [report.step for report in trainer.history] == list(range(1, 41))
    assert list(trainer.history) == list(Loop(settings).steps())


def test_turns_come_in_the_order_of_arrival_and_the_place_is_told(
    endless: Settings, make: Callable[..., Trainer]
) -> None:
    first, second, third = (make(endless) for _ in range(3))
    for trainer in (first, second, third):
        trainer.start()
    until(lambda: first.progress.step > 0)
    assert [t.progress.place for t in (first, second, third)] == [0, 1, 2]
    assert [t.progress.state for t in (first, second, third)] == ["running", "queued", "queued"]
    assert second.progress.step == third.progress.step == 0
    first.stop()
    until(lambda: second.progress.step > 0)
    assert third.progress.place == 1
    first.start()  # goes to the end of the line
    assert first.progress.place == 2
    second.close()
    until(lambda: third.progress.step > 0)
    assert first.progress.state == "queued"


def test_whoever_leaves_the_line_lets_the_others_move_up(endless: Settings, make: Callable[..., Trainer]) -> None:
    first, second, third = (make(endless) for _ in range(3))
    for trainer in (first, second, third):
        trainer.start()
    until(lambda: first.progress.step > 0)
    second.stop()
    until(lambda: third.progress.place == 1)
    assert second.wait(PATIENCE)
    assert second.progress.state == "stopped"


def test_at_most_the_set_number_advances(endless: Settings) -> None:
    queue = TrainingQueue(2)
    trainers = [Trainer(endless, queue=queue) for _ in range(4)]
    try:
        for trainer in trainers:
            trainer.start()
        until(lambda: trainers[0].progress.step > 2 and trainers[1].progress.step > 2)
        assert [t.progress.step > 0 for t in trainers] == [True, True, False, False]
        assert [t.progress.place for t in trainers] == [0, 0, 1, 2]
    finally:
        for trainer in trainers:
            trainer.close()
            trainer.wait(PATIENCE)


def test_nobody_looking_for_the_length_of_the_lease_ends_it_and_frees_the_slot(
    endless: Settings, make: Callable[..., Trainer]
) -> None:
    left, waiting = make(endless, lease=0.3), make(endless)
    left.start()
    waiting.start()
    until(lambda: left.progress.step > 0)
    until(lambda: waiting.progress.step > 0)
    assert left.progress.state == "abandoned"
    waiting.close()
    left.start()  # whoever comes back goes on
    step = left.progress.step
    until(lambda: left.progress.step > step)


def test_an_abandoned_place_in_the_line_is_given_up_too(endless: Settings, make: Callable[..., Trainer]) -> None:
    first, left, third = make(endless), make(endless, lease=0.2), make(endless)
    for trainer in (first, left, third):
        trainer.start()
    until(lambda: third.progress.place == 1)
    assert left.wait(PATIENCE)
    assert left.progress.state == "abandoned"


def test_heartbeats_keep_it_alive_beyond_the_lease(endless: Settings, make: Callable[..., Trainer]) -> None:
    trainer = make(endless, lease=1.0)
    trainer.start()
    deadline = time.monotonic() + 2.5
    while time.monotonic() < deadline:
        trainer.heartbeat()
        time.sleep(0.02)
    assert trainer.progress.state == "running"


def test_a_session_that_is_dropped_takes_its_training_along(endless: Settings, queue: TrainingQueue) -> None:
    trainer = Trainer(endless, queue=queue)
    trainer.start()
    until(lambda: trainer.progress.step > 0)
    threads = [t for t in threading.enumerate() if t.name == "tfmviz-training" and t.is_alive()]
    assert len(threads) == 1
    del trainer
    gc.collect()
    threads[0].join(PATIENCE)
    assert not threads[0].is_alive()


def test_close_is_for_good(endless: Settings, make: Callable[..., Trainer]) -> None:
    trainer = make(endless)
    trainer.start()
    trainer.close()
    assert trainer.wait(PATIENCE)
    trainer.start()
    assert trainer.progress.state == "closed"
    assert trainer.wait(0)


def test_reset_begins_again_from_the_first_weights(tiny: Settings, make: Callable[..., Trainer]) -> None:
    trainer = make(tiny)
    untrained = trainer.model_at(0).tokens.weight.clone()
    trainer.start()
    trainer.wait(PATIENCE)
    trainer.reset(replace(tiny, n_steps=5))
    assert trainer.progress.state == "ready"
    assert trainer.history == ()
    assert trainer.snapshot_steps == (0,)
    assert torch.equal(trainer.model_at().tokens.weight, untrained)
    trainer.start()
    trainer.wait(PATIENCE)
    assert trainer.progress.step == 5


def test_no_method_waits_for_a_step(
    endless: Settings, make: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, inside = threading.Event(), threading.Event()
    advance = Loop.advance

    def held(loop: Loop) -> object:
        inside.set()
        gate.wait(PATIENCE)
        return advance(loop)

    monkeypatch.setattr(Loop, "advance", held)
    trainer = make(endless)
    trainer.start()
    assert inside.wait(PATIENCE)
    try:  # the thread stands in the middle of a step: everything answers nevertheless
        other = make(endless)
        other.start()
        assert other.progress.place == 1
        assert trainer.progress.state == "running"
        trainer.heartbeat()
        assert trainer.history == ()
        trainer.model_at()
        trainer.stop()
        trainer.reset()
        other.close()
    finally:
        gate.set()


def test_a_training_that_diverges_says_so_and_frees_its_slot(endless: Settings, make: Callable[..., Trainer]) -> None:
    bad = make(replace(endless, learning_rate=1.0, clip_norm=None, block="post-norm"))
    with torch.no_grad():
        bad._job._loop.model.tokens.weight.fill_(float("nan"))
    good = make(endless)
    bad.start()
    good.start()
    assert bad.wait(PATIENCE)
    assert bad.progress.state == "failed"
    assert "learning rate of 1" in (bad.progress.error or "")
    until(lambda: good.progress.step > 0)


def test_time_left_falls_with_the_steps(tiny: Settings, make: Callable[..., Trainer]) -> None:
    trainer = make(tiny)
    assert trainer.progress.seconds_left is None
    trainer.start()
    assert trainer.wait(PATIENCE)
    done = trainer.progress
    assert done.fraction == 1.0
    assert done.seconds_left == 0.0
    assert done.seconds > 0


def test_looking_back_gives_a_copy_nobody_trains(tiny: Settings, make: Callable[..., Trainer]) -> None:
    trainer = make(tiny)
    trainer.start()
    trainer.wait(PATIENCE)
    model = trainer.model_at(0)
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())
    with pytest.raises(OutOfRange):
        trainer.model_at(999)


def test_training_threads_leave_the_cores_of_others_alone(tiny: Settings, make: Callable[..., Trainer]) -> None:
    torch.set_num_threads(2)
    trainer = make(tiny)
    trainer.start()
    trainer.wait(PATIENCE)
    seen: list[int] = []
    later = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert torch.get_num_threads() == 2
    assert seen == [2]


def test_what_a_reset_throws_away_is_let_go(make: Callable[..., Trainer], endless: Settings) -> None:
    trainer = make(endless)
    old = weakref.ref(trainer._job)
    trainer.reset()
    gc.collect()
    assert old() is None
