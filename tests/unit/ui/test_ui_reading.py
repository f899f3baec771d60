"""Sentences about the picture: short, and with the numbers they were given."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tfmviz.analysis.head_roles import RULES, HeadRole, role_of_weights
from tfmviz.analysis.head_view import HeadView
from tfmviz.text import Token
from tfmviz.ui import reading
from tfmviz.ui.requests import HeadChoice
from tfmviz.ui.samples import samples

TOKEN = Token(id=1, text="a", start=0, end=1)


def view(**changes: float) -> HeadView:
    shares = {"part_share": 1.0, "special_share": 0.0, "sink_share": 0.0} | changes
    return HeadView(
        weights=np.ones((1, 1), np.float32), visible=None, query_tokens=(TOKEN,), key_tokens=(TOKEN,), **shares
    )


def role(name: str, weight: float = 0.824, share: float = 0.7) -> HeadRole:
    return HeadRole(role=name, weight=weight, share=share, n_queries=9, weights=dict.fromkeys(RULES, 0.1))  # type: ignore[arg-type]


def test_the_design_s_own_example() -> None:
    sentence = reading.head_sentence(HeadChoice(layer=3, head=5), role("previous"))
    assert sentence.startswith("Layer 3, head 5: most tokens look one back, mean weight 0.82.")


@pytest.mark.parametrize("name", [*RULES, "diffuse", "mixed"])
@pytest.mark.parametrize("choice", [HeadChoice(layer=None, head=None), HeadChoice(layer=11, head=11)])
def test_never_more_than_sixty_words(name: str, choice: HeadChoice) -> None:
    shares = view(part_share=0.23, special_share=0.41, sink_share=0.2)
    text = reading.paragraph(role(name), shares, choice, "A→B", True)
    assert len(text.split()) <= 60


def test_hidden_attention_is_said_with_its_share() -> None:
    text = reading.paragraph(role("mixed"), view(special_share=0.414), HeadChoice(layer=0, head=0), "all", True)
    assert "Hidden special tokens hold 41 %" in text


def test_a_decoder_that_has_read_nothing_is_given_a_text_before_anything_else_is_looked_for() -> None:
    text, choice = samples()[0].text, HeadChoice(layer=0, head=0)
    assert "Text for the decoder" in reading.invitation(text, choice, lacks_target=True)
    assert "Text for the decoder" not in reading.invitation(text, choice)


def test_a_head_of_which_nothing_was_measured_has_no_role_in_the_atlas() -> None:
    keys = [Token(id=i, text="abc"[i], start=i, end=i + 1) for i in range(3)]
    start = Token(id=9, text="<start>", start=0, end=0, is_special=True)
    measured = role_of_weights(torch.full((1, 3), 1 / 3), [start], keys)
    assert reading.short_role(measured) == ""
    assert "no typed token" in reading.head_sentence(HeadChoice(layer=0, head=0), measured)
    assert reading.short_role(role("mixed", 0.25)) == "mixed 0.25"
