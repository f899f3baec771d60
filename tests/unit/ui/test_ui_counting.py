"""Numbers as sentences write them: digits that count, powers of ten as people read them."""

from __future__ import annotations

import pytest

from tfmviz.ui.counting import counted, significant


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [
        (0.0, 2, "0"),
        (-0.0, 2, "0"),
        (1.0, 2, "1"),
        (0.254, 2, "0.25"),
        (-13.26, 3, "−13.3"),
        (139.0, 2, "140"),
        (1234.5, 3, "1,230"),
        (0.0012, 2, "0.0012"),
        (1.234e-7, 2, "1.2 × 10⁻⁷"),
        (-9.99e-5, 2, "−1 × 10⁻⁴"),
        (6.0e-7, 2, "6 × 10⁻⁷"),
        (5.6e21, 2, "5.6 × 10²¹"),
        (float("-inf"), 2, "−∞"),
        (float("nan"), 2, "nan"),
    ],
)
def test_a_number_is_rounded_to_the_digits_that_count(value: float, digits: int, said: str) -> None:
    assert significant(value, digits) == said.replace(" ", "\u00a0")


def test_one_thing_takes_no_s() -> None:
    assert (counted(1, "token"), counted(1200, "token")) == ("1 token", "1,200 tokens")
