"""The two experiments of the Architectures page: what depth does before training, and what a warm-up does in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from tfmviz.charts import curves, curves_layout
from tfmviz.charts import depth as depth_chart
from tfmviz.ui import address, architectures_warmup, errors, loading, pickers
from tfmviz.ui.address import Notes
from tfmviz.ui.shelf import Job, Shelf, Step
from tfmviz.ui.training_picture import duration

if TYPE_CHECKING:
    from tfmviz.analysis.depth import DepthProfile, Order

Profiles = Mapping[tuple["Order", int], "DepthProfile"]
DEPTHS = (2, 4, 6, 12, 24, 48, 96)
ORDERS: tuple[Order, ...] = ("pre-norm", "post-norm")
EVERY_S = 1.0

_profiles: Shelf[int, Profiles] = Shelf(budget=10**7, most=16, weigh=lambda _: 10_000, workers=1, name="depth")


def profiles_job(seed: int) -> Job[Profiles]:
    """Every depth and both orders at one seed, being measured or kept."""

    def make(job: Job[Profiles]) -> Profiles:
        from tfmviz.analysis.depth import profile
        from tfmviz.training.threads import limit_this_thread

        limit_this_thread(1)
        found: dict[tuple[Order, int], DepthProfile] = {}
        total = len(ORDERS) * sum(DEPTHS)
        for depth in DEPTHS:
            for order in ORDERS:
                found[order, depth] = profile(order, depth, seed)
                done = sum(depth for _, depth in found) / total
                job.report(Step(what=f"Measuring models of {depth} layers", done=done))
        return found

    return _profiles.ask(seed, make)


def depth(line: loading.Line, notes: Notes) -> None:
    """Activations and gradients by depth, at the first weights."""
    notes.add(address.settle("depth", DEPTHS, 24, what="depth", among=f"There are {', '.join(map(str, DEPTHS))}"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.select_slider(
            "Layers", DEPTHS, 24, key="depth", bind="query-params", persist_state="session", width=360
        )
        seed = pickers.whole_number("Seed", "depth_seed", 0, 999, 0, notes, width=140)
    skeleton = st.empty()
    running = profiles_job(seed)
    if not running.future.done():
        skeleton.skeleton(height=460)
    found = loading.wait(running, line)
    skeleton.empty()
    line.say(
        "The same narrow decoder twice, at the **same first weights**, before any training: only the place of the norm "
        "differs."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        _by_layer(found, chosen)
    with right:
        _by_depth(found)
    st.markdown(depth_words(found, chosen))


def _by_layer(found: Profiles, depth: int) -> None:
    both = [found[order, depth] for order in ORDERS]
    figure = depth_chart.by_layer(
        [
            depth_chart.Series(name=one.order, x=range(depth + 1), y=one.activation, mark=mark)
            for mark, one in enumerate(both)
        ],
        [
            depth_chart.Series(name=one.order, x=range(1, depth + 1), y=one.gradient, mark=mark)
            for mark, one in enumerate(both)
        ],
        dark=pickers.is_dark(),
    )
    alt = f"Activation and gradient sizes by layer in models of {depth} layers, pre-norm and post-norm"
    st.plotly_chart(figure, key="by_layer", theme=None, config=curves_layout.config("tfmviz layers"), alt=alt)


def _by_depth(found: Profiles) -> None:
    from tfmviz.analysis.depth import last_gradient_law

    measured, predicted = [], []
    for mark, order in enumerate(ORDERS):
        last = {depth: float(found[order, depth].gradient[-1]) for depth in DEPTHS}
        law = last_gradient_law(last, order)
        measured.append(depth_chart.Series(name=order, x=DEPTHS, y=np.array(list(last.values())), mark=mark))
        says = "theory: falls as 1/√layers" if order == "pre-norm" else "theory: the same at every depth"
        predicted.append(depth_chart.Series(name=says, x=list(law), y=np.array(list(law.values())), mark=mark))
    figure = depth_chart.by_depth(measured, predicted, dark=pickers.is_dark())
    alt = "The last block's gradient against the model's depth, measured and predicted"
    st.plotly_chart(figure, key="by_depth", theme=None, config=curves_layout.config("tfmviz depth"), alt=alt)


def depth_words(found: Profiles, depth: int) -> str:
    """*What you see* and *Try* for the depth pictures, as Markdown."""
    pre, post = found["pre-norm", depth], found["post-norm", depth]
    shallow, deep = DEPTHS[0], DEPTHS[-1]
    ends = {order: (found[order, shallow].gradient[-1], found[order, deep].gradient[-1]) for order in ORDERS}
    return (
        f"**What you see** With {depth} layers, activations change by a factor of {pre.growth:.2g} in pre-norm and "
        f"{post.growth:.2g} in post-norm. From {shallow} to {deep} layers the last block's gradient goes from "
        f"{ends['pre-norm'][0]:.2g} to {ends['pre-norm'][1]:.2g} in pre-norm, and from {ends['post-norm'][0]:.2g} to "
        f"{ends['post-norm'][1]:.2g} in post-norm: there it stays large, which a high first learning rate turns into "
        "a jump.\n\n**Try** Move the layers from 2 to 96, then see what training makes of it under *warm-up*."
    )


def warmup(line: loading.Line, notes: Notes) -> None:
    """Losses with and without warm-up, trained for real."""
    seeds = architectures_warmup.SEEDS
    notes.add(address.settle("warmup_seed", seeds, 0, what="seed", among=f"There are {', '.join(map(str, seeds))}"))
    seed = st.selectbox("Seed", seeds, key="warmup_seed", bind="query-params", persist_state="session", width=140)
    seed = seed if seed in seeds else 0
    line.say(
        f"Four trainings of {architectures_warmup.N_LAYERS} layers from the **same first weights**, on the same texts: "
        "only norm and warm-up differ."
    )
    if not architectures_warmup.is_asked(seed):
        # two minutes of a core, which every visitor shares, are spent when somebody wants them
        st.button(
            "Train the four models",
            key="train_four",
            icon=":material/play_arrow:",
            on_click=architectures_warmup.begin,
            args=(seed,),
        )
        st.markdown(
            f"**What you will see** {architectures_warmup.N_STEPS} steps of each, live: which of the four learn and "
            "which lie still. It takes a minute or two, once for each seed."
        )
        return
    running = architectures_warmup.job(seed)
    live = not running.future.done()

    def part() -> None:
        job = architectures_warmup.job(seed)
        if live and job.future.done():
            st.rerun()
        _losses(job, seed)

    st.fragment(part, run_every=EVERY_S if live else None, key="losses")()


def _losses(job: Job[architectures_warmup.Losses], seed: int) -> None:
    """The four curves as far as they are."""
    if job.future.done() and (error := job.future.exception()) is not None:
        errors.show(error)
        return
    losses = architectures_warmup.so_far(seed)
    st.progress(job.step.done or 0.0 if not job.future.done() else 1.0, text=_how_far(job))
    figure = curves.comparison(
        [
            curves.Curve(
                name=variant.name,
                values=losses.get(variant.name, ()),
                colour=ORDERS.index(variant.block),
                dash="solid" if variant.warmup else "dot",
            )
            for variant in architectures_warmup.VARIANTS
        ],
        n_steps=architectures_warmup.N_STEPS,
        dark=pickers.is_dark(),
    )
    alt = "Loss of four trainings by step: pre-norm and post-norm, with and without warm-up"
    st.plotly_chart(figure, key="losses_chart", theme=None, config=curves_layout.config("tfmviz warm-up"), alt=alt)
    st.markdown(warmup_words(losses))


def _how_far(job: Job[architectures_warmup.Losses]) -> str:
    if job.future.done():
        return "Computed here, and kept for whoever asks next"
    if job.step.done is None:
        return "Building four models"
    left = "" if job.step.seconds_left is None else f", {duration(job.step.seconds_left)} left"
    return f"{job.step.what}: {100 * job.step.done:.0f} %{left}"


def warmup_words(losses: architectures_warmup.Losses) -> str:
    """*What you see* and *Try* for the losses, as Markdown."""
    if not losses or min(map(len, losses.values())) < 1:
        return "**What you see** Nothing is computed yet: the first steps are on their way."
    ends = [
        f"{name} {values[-1]:.2g}{'' if len(values) == len(max(losses.values(), key=len)) else ' (diverged)'}"
        for name, values in losses.items()
    ]
    steps = max(map(len, losses.values()))
    after = f"{steps} step{'s' if steps > 1 else ''}"
    return (
        f"**What you see** Loss after {after}: {'; '.join(ends)}. Guessing evenly among 26 letters would cost "
        "3.3 nats.\n\n**Try** Another seed: is it the warm-up or luck?"
    )
