"""A training of a second that tests of the Training page share: as an address, and as the settings it means."""

from __future__ import annotations

from dataclasses import replace

from tfmviz.training import PRESETS, Settings

ADDRESS = {"task": "copy", "width": "16", "n_layers": "1", "n_heads": "2", "steps": "20", "warmup": "5", "seed": "3"}


def settings() -> Settings:
    """What ``ADDRESS`` means."""
    preset = PRESETS["copy"].settings
    return replace(
        preset,
        d_model=16,
        d_ff=preset.d_ff * 16 // preset.d_model,
        n_layers=1,
        n_heads=2,
        n_steps=20,
        warmup_steps=5,
        seed=3,
    )
