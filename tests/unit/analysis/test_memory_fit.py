"""Powers fitted to points that are known powers."""

from __future__ import annotations

import pytest

from tfmviz.analysis.memory_fit import fit, tail


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_a_power_is_found(power: float) -> None:
    law = fit({n: 3 * n**power for n in (1_024, 2_048, 8_192)})
    assert law is not None
    assert law.power == pytest.approx(power)
    assert law.at(100) == pytest.approx(3 * 100**power)


def test_one_point_has_no_power() -> None:
    assert fit({1_024: 5.0}) is None


def test_short_texts_do_not_count() -> None:
    assert tail({64: 1.0, 512: 1.0, 1_024: 2.0, 2_048: 4.0}) == {1_024: 2.0, 2_048: 4.0}
    assert fit(tail({64: 1.0, 128: 2.0, 256: 3.0, 512: 4.0})) is None
