"""Numbers of the Compare page as a person writes them."""

from __future__ import annotations

import pytest

from tfmviz.ui.compare_words import short


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (0, "0"),
        (0.0421, "0.042"),
        (4.26, "4.3"),
        (99.4, "99"),
        (99.6, "100"),
        (402.3, "400"),
        (999.6, "1\u202f000"),
        (4_210, "4\u202f200"),
    ],
)
def test_two_digits_count_and_there_is_no_power_of_ten(n: float, said: str) -> None:
    assert short(n) == said
