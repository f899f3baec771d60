"""A component's script is its modules, each once, in an order that runs."""

from __future__ import annotations

import re

import pytest

from tfmviz.components.bundle import ASSETS, script


def read(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


ENTRIES = (
    "atlas.js",
    "head_lines.js",
    "token_map.js",
    "long_map.js",
    "atlas_choice.js",
    "head_pair.js",
    "head_matrix.js",
    "theme_watch.js",
)


@pytest.mark.parametrize("entry", ENTRIES)
def test_nothing_is_left_to_import_and_one_thing_is_exported(entry):
    text = script(entry)
    assert re.findall(r"^import\b.*", text, re.MULTILINE) == []
    assert re.findall(r"^export\b.*", text, re.MULTILINE) == re.findall(
        r"^export default function \w+\(.*", text, re.MULTILINE
    )
    assert text.count("export default ") == 1


@pytest.mark.parametrize("entry", ENTRIES)
def test_top_level_names_are_declared_once(entry):
    modules = {entry}
    while (
        more := {name for module in modules for name in re.findall(r'from "\./([\w-]+\.js)"', read(module))} - modules
    ):
        modules |= more
    declared = r"^(?:export )?(?:default )?(?:async )?(?:function|class|const|let) (\w+)"
    names = [name for module in modules for name in re.findall(declared, read(module), re.MULTILINE)]
    assert len(names) > len(modules) - 1
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("entry", ENTRIES)
def test_shared_modules_come_before_the_entry(entry):
    text = script(entry)
    for name in re.findall(r'from "\./([\w-]+\.js)"', (ASSETS / entry).read_text(encoding="utf-8")):
        module = (ASSETS / name).read_text(encoding="utf-8")
        for declared in re.findall(r"^export ((?:async )?(?:function|class|const) \w+)\b", module, re.MULTILINE):
            assert len(re.findall(rf"^{declared}\b", text, re.MULTILINE)) == 1
            assert text.index(declared) < text.index("export default ")


@pytest.mark.parametrize("entry", ENTRIES)
def test_comments_and_indentation_stay_at_home(entry):
    assert [line for line in script(entry).splitlines() if not line or line.startswith(("//", "/*", "*", " "))] == []


def test_no_script_writes_markup_or_names_another_host():
    for path in ASSETS.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment", text)
        assert not re.search(r"https?://|\beval\(|new Function", text)


def test_no_style_sheet_loads_anything():
    for path in ASSETS.glob("*.css"):
        assert not re.search(r"@import|url\(", path.read_text(encoding="utf-8"))
