"""What goes wrong is a sentence in the page, the last good picture stays, and nothing typed is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from on_page import component, figure_of, words
from streamlit.testing.v1 import AppTest

from tfmviz.models import Model, hub

Open = Callable[..., AppTest]
TEXT = "The cat sat on the mat."


def only_error(at: AppTest) -> str:
    assert not at.exception
    assert len(at.error) == 1
    return at.error[0].value


@pytest.mark.parametrize("text", ["", "   ", "\n\t \n"])
def test_nothing_typed_is_said_and_the_last_picture_stays(explore: Open, text: str) -> None:
    at = explore(text=TEXT)
    before = component(at, "atlas")[0]["version"]
    at.text_area(key="text").set_value(text).run()
    assert "empty" in only_error(at).lower() or "nothing" in only_error(at).lower()
    assert component(at, "atlas")[0]["version"] == before
    assert "the last text that worked" in words(at)


def test_an_empty_first_address_shows_the_error_alone(explore: Open) -> None:
    at = explore(text="")
    only_error(at)
    assert not at.get("plotly_chart")


def test_too_long_a_text_says_both_counts_and_is_cut_with_one_click(explore: Open, minilm: Model) -> None:
    text = "One more sentence about rivers and stones. " * 120
    at = explore(text=TEXT)
    at.text_area(key="text").set_value(text).run()
    said = only_error(at)
    assert f"{len(minilm.tokenize(text)):,}" in said
    assert f"{minilm.max_tokens:,}" in said
    assert at.text_area(key="text").value == text
    assert at.get("plotly_chart")
    at.button(key="cut").click().run()
    cut = at.text_area(key="text").value
    assert not at.error
    assert text.startswith(cut)
    assert len(minilm.tokenize(cut)) <= minilm.max_tokens
    assert component(at, "atlas")[0]["tokens"][0] == len(minilm.tokenize(cut))


def test_the_button_cuts_the_sentence_that_is_too_long_and_leaves_the_other(explore: Open, minilm: Model) -> None:
    text, pair = "A first sentence about a boat.", "One more sentence about rivers and stones. " * 120
    at = explore(text=text, pair=pair, model="minilm")
    assert "second sentence" in only_error(at)
    at.button(key="cut").click().run()
    assert not at.error
    assert at.text_area(key="text").value == text
    cut = at.text_area(key="pair").value
    assert pair.startswith(cut)
    assert len(minilm.tokenize(text, cut)) <= minilm.max_tokens


@pytest.mark.parametrize(
    "name", ["no-such/model-at-all", "<script>alert(1)</script>", "../../etc/passwd", "x" * 500, "über modell", "."]
)
def test_a_model_that_is_not_there_is_a_sentence(explore: Open, name: str) -> None:
    at = explore(text=TEXT, model=name)
    assert "No model" in only_error(at)
    assert at.text_area(key="text").value == TEXT
    at.selectbox(key="model").set_value("minilm").run()
    assert not at.error
    assert at.get("plotly_chart")


def test_a_path_is_no_model_unless_the_owner_allows_it(
    explore: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "config.json").write_text("{")
    at = explore(text=TEXT, model=str(folder))
    assert "paths are switched off" in only_error(at).replace("\\\\", "")
    monkeypatch.setenv("TFMVIZ_LOCAL_MODELS", "1")
    assert "damaged" in only_error(explore(text=TEXT, model=str(folder)))


def wheel_folder() -> Path:
    from tfmviz.models.sources import locate

    return locate("minilm", allow_download=False).path


def test_weights_cut_short_are_a_sentence(explore: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TFMVIZ_LOCAL_MODELS", "1")
    folder = tmp_path / "short"
    shutil.copytree(wheel_folder(), folder)
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    assert "model" in only_error(explore(text=TEXT, model=str(folder)))


def test_weights_that_could_run_code_are_refused(
    explore: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TFMVIZ_LOCAL_MODELS", "1")
    folder = tmp_path / "pickled"
    shutil.copytree(wheel_folder(), folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "pytorch_model.bin").write_bytes(b"not even a pickle")
    assert "run code" in only_error(explore(text=TEXT, model=str(folder)))


def test_no_network_is_a_sentence_and_the_last_picture_stays(explore: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*args: object, **kwargs: object) -> None:
        raise hub.HubError("the Hub did not answer")

    monkeypatch.setattr("tfmviz.models.hub.download", unreachable)
    monkeypatch.setattr("tfmviz.models.hub.cached", lambda *args, **kwargs: None)
    at = explore(text=TEXT)
    before = component(at, "atlas")[0]["version"]
    at.selectbox(key="model").set_value("gpt2").run()
    assert "the Hub did not answer" in only_error(at)
    assert component(at, "atlas")[0]["version"] == before


def test_downloads_switched_off_are_a_sentence(explore: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFMVIZ_OFFLINE", "1")
    said = only_error(explore(text=TEXT, model="someone/some-model"))
    assert "downloads are switched off" in said


def test_an_unknown_device_is_named_with_those_there_are(explore: Open) -> None:
    said = only_error(explore(text=TEXT, device="abacus"))
    assert "abacus" in said
    assert "cpu" in said


def test_a_pass_that_would_not_fit_is_refused_with_the_numbers(explore: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfmviz.models.memory.available_bytes", lambda device: 1000)
    said = only_error(explore(text="A text that no cache has seen, number one."))
    assert "GB" in said
    assert "free" in said


def test_memory_that_runs_out_all_the_same_is_a_sentence(explore: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise MemoryError

    monkeypatch.setattr("tfmviz.models.huggingface.capture", fail)
    said = only_error(explore(text="A text that no cache has seen, number two."))
    assert "ran out of memory" in said


def test_what_nobody_foresaw_is_a_sentence_too(explore: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("secret path /home/someone")

    monkeypatch.setattr("tfmviz.models.huggingface.capture", fail)
    said = only_error(explore(text="A text that no cache has seen, number three."))
    assert "did not foresee" in said
    assert "secret" not in said


def test_an_error_is_not_kept_for_the_next_visitor(explore: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "A text that no cache has seen, number four."
    with monkeypatch.context() as broken:
        broken.setattr("tfmviz.models.memory.available_bytes", lambda device: 1000)
        only_error(explore(text=text))
    assert not explore(text=text).error


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"layer": "99"}, "asks for layer “99”"),
        ({"layer": "-1"}, "asks for layer “\\-1”"),
        ({"head": "abc"}, "asks for head “abc”"),
        ({"head": "1e3"}, "asks for head “1e3”"),
        ({"threshold": "7"}, "asks for a threshold of “7”"),
        ({"threshold": "nan"}, "asks for a threshold of “nan”"),
        ({"rows": "maybe"}, "“scale each row” to “maybe”"),
        ({"heads": ["L9 H9", "<b>"]}, "There is no head “L9 H9”"),
    ],
)
def test_nonsense_in_the_address_is_answered(explore: Open, query: dict[str, str], said: str) -> None:
    at = explore(text=TEXT, **query)
    assert not at.exception
    assert not at.error
    assert said in at.warning[0].value
    layer, head = at.selectbox(key="layer").value, at.selectbox(key="head").value
    assert figure_of(at)["layout"]["title"]["text"] == f"L{layer} H{head}"


def test_a_head_that_the_next_model_lacks_is_answered(explore: Open) -> None:
    at = explore(text=TEXT, head="11")
    at.selectbox(key="model").set_value("smollm2").run()
    assert "There is no head “11” here" in at.warning[0].value
    assert 0 <= at.selectbox(key="head").value < 9


def test_what_is_typed_into_a_model_s_name_has_no_meaning_as_markup(explore: Open) -> None:
    at = explore(text=TEXT, model="**bold** :red[x] $y$ <img src=x>")
    said = only_error(at)
    assert "**bold**" not in said
    assert "<img" not in said.replace("\\<", "")
