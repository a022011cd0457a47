"""The page says everything in the language of its user: also what the server says.

The server speaks English, as the command line does. Here its own code is read for all it can say to
a page, and every sentence must have its translation.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

import varfocus
from varfocus.app import schema, server

PACKAGE = Path(varfocus.__file__).parent
WORDS = Path(__file__).parents[2] / "web" / "src" / "words"
SAID = {entry["said"]: entry for entry in json.loads((WORDS / "server.json").read_text("utf-8"))}
LANGUAGES = {
    language: "".join((WORDS / f"{part}{language}.ts").read_text("utf-8") for part in ("", "work."))
    for language in ("en", "de")
}

STAGES_OF_OTHERS = {"comparing", "evaluating", "opening"}
"""Stages of commands that the page does not have."""

PROTOCOL = re.compile(
    r"JSON|objects?( of parameters)?$|names? of files|file names|"
    r"no (parameters|change|outlines|list|picture)|"
    r"nothing to do|as near|the mode|of other frames|every frame once|whole number|millimetres|"
    r"expected (none|a name|move|small or large|add, replace|whether each|0 to \{\})|"
    r"received (\{\}|\{\} = \{\}|a file named \{\}|a newer request of this kind)$|"
    r"\{\} from the page|a picture from|a request of more|expected a small one|one at a time$"
)
"""What only a program says that does not follow the protocol; the page itself never causes it."""


def template(node: ast.expr) -> str | None:
    """Return a text with braces for what is filled in; None if it is not one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
        return "".join(map(str, parts))
    return None


def calls(path: Path) -> list[ast.Call]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def errors_of(*places: str) -> set[str]:
    """Return what the errors in some modules say, line by line."""
    files = [f for place in places for f in sorted(PACKAGE.glob(place))]
    assert len(files) >= len(places)
    raised = (c for f in files for c in calls(f) if ast.unparse(c.func).endswith("Error"))
    lines = (template(argument) for call in raised for argument in call.args)
    return {line for line in lines if line}


def test_every_stage_has_a_word_in_both_languages() -> None:
    found = {
        word
        for path in PACKAGE.rglob("*.py")
        for call in calls(path)
        if ast.unparse(call.func).split(".")[-1] in ("progress", "tell", "told") and call.args
        if isinstance(word := getattr(call.args[0], "value", None), str)
    }
    written = {
        value.value
        for path in (PACKAGE / "app").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "stage"
        if isinstance(value, ast.Constant)
    }
    stages = {word for word in found | written if word and word != "kept"} - STAGES_OF_OTHERS
    assert {"reading", "second look", "starting", "in full size", "retouching"} <= stages
    for language, text in LANGUAGES.items():
        assert [s for s in sorted(stages) if f'"stage.{s}"' not in text] == [], language


@pytest.mark.parametrize("place", ["app/*.py", "surface/measure.py", "retouch/apply.py"])
def test_every_error_that_the_page_can_cause_is_translated(place: str) -> None:
    lines = {line for line in errors_of(place) if not PROTOCOL.search(line)}
    assert len(lines) > 3
    assert sorted(lines - set(SAID)) == []


def test_every_warning_is_translated() -> None:
    """Sentences of the modules that warn: what is long enough to be one."""
    sentences: set[str] = set()
    for place, functions in {
        "pipeline.py": {"run", "doubtful", "out_of_range"},
        "plan.py": {"_lesser"},
        "methods/paper.py": {"fitting_degree"},
        "align/stage.py": {"_ordered", "_given_up", "_registered"},
        "align/broken.py": {"broken"},
        "app/opening.py": {"_frames_of", "_looked_at"},
        "app/frames.py": {"marked"},
    }.items():
        tree = ast.parse((PACKAGE / place).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in functions:
                inside = [n for statement in node.body[1:] for n in ast.walk(statement)]
                texts = {t for n in inside if isinstance(n, ast.expr) if (t := template(n))}
                sentences |= {t for t in texts if t.count(" ") >= 4}
    assert len(sentences) > 10
    said = re.sub(r"\W+", "", " ".join(SAID))

    def known(sentence: str) -> bool:
        """Tell whether its pieces are in the catalogue: some are put together of several."""
        pieces = [re.sub(r"\W+", "", piece) for piece in sentence.split("{}")]
        return all(piece in said for piece in pieces)

    assert sorted(s for s in sentences if not known(s)) == []


def test_what_files_are_is_translated() -> None:
    assert [p["about"] for p in server.offered() if p["about"] not in SAID] == []


def test_every_parameter_and_choice_has_plain_words_in_both_languages() -> None:
    wanted = set()
    for method in schema.methods():
        wanted.add(f"method.{method['name']}")
        for parameter in method["parameters"]:
            wanted |= {f"p.{parameter['name']}", f"p.{parameter['name']}.about"}
            wanted |= {f"p.{parameter['name']}.{c}" for c in parameter["choices"] or ()}
    for language, text in LANGUAGES.items():
        assert sorted(key for key in wanted if f'"{key}"' not in text) == [], language


def test_a_translation_fills_in_what_was_said() -> None:
    for said, entry in SAID.items():
        count = said.count("{}")
        for language in ("de", "en"):
            if language in entry:
                used = {int(k) for k in re.findall(r"\{(\d)\}", entry[language])}
                assert used <= set(range(count)), said


def test_the_bar_of_progress_knows_every_stage_of_a_reconstruction() -> None:
    work = (WORDS.parent / "stages.ts").read_text("utf-8")
    named = set(re.findall(r'"stage\.([a-z ]+)"', LANGUAGES["en"]))
    aside = {"in full size", "retouching", "slabs"}  # not stages of it
    assert sorted(s for s in named - aside if f'["{s}",' not in work) == []
