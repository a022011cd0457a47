"""The commands that README and docs show: all are understood, the everyday ones are run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import tifffile
from cyclopts import CycloptsError

from command_line import varfocus, write_pictures
from varfocus.cli import COMMANDS, EXAMPLES, build
from varfocus.simulation import simulate

ROOT = Path(__file__).parents[2]
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str) -> list[str]:
    """Return the lines of blocks of code that call varfocus, without their comments."""
    code = "".join(text.split("```")[1::2]).replace("\\\n", " ")
    lines = (line.removeprefix("$ ").split(" #")[0].strip() for line in code.splitlines())
    return [line for line in lines if line.startswith("varfocus ")]


def in_passing(text: str) -> list[str]:
    """Return the commands with arguments that stand within a sentence."""
    prose = "".join(text.split("```")[::2])
    return [line for line in re.findall(r"`(varfocus [^`]+)`", prose) if len(line.split()) > 2]


def shown() -> dict[str, list[str]]:
    """Return all commands by the text that shows them, those of ``--help`` too."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in TEXTS}
    found = {name: blocks(text) + in_passing(text) for name, text in texts.items()}
    return found | {"--help": [line for lines in EXAMPLES.values() for line in lines]}


SHOWN = [(name, line) for name, lines in shown().items() for line in lines]


@pytest.mark.parametrize(("name", "line"), SHOWN)
def test_a_command_is_understood(name, line):
    program, *words = shlex.split(line.replace("x,y,w,h", "1,2,30,40"))
    assert program == "varfocus"
    assert words[0] in COMMANDS, name
    understood(words)


def understood(words: list[str]) -> None:
    """Parse a command as the program does, up to the moment when it would begin to work."""
    build(words[0]).parse_args(words, exit_on_error=False, print_error=False)


def test_commands_are_found():
    """Otherwise the test above would prove nothing."""
    assert len(shown()["README.md"]) > 20
    assert {line.split()[1] for _, line in SHOWN} >= set(COMMANDS) - {"doctor", "demo"}
    with pytest.raises(CycloptsError):
        understood(["depth", "shots/", "-o", "out/", "--alhpa", "3"])


@pytest.mark.parametrize(
    ("reader", "shape"),
    [("photographers", (72, 96)), ("microscopists", (210, 910))],  # they measure at column 900
)
def test_every_command_of_a_minute_works(reader, shape, tmp_path, monkeypatch, capsys):
    """In the order of the section, on frames that suit it."""
    frames = simulate("steps", shape=shape, n=5).frames
    for folder in ("shots", "red"):
        write_pictures(tmp_path / folder, frames)
    tifffile.imwrite(tmp_path / "zstack.tif", frames[..., 0])
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## A minute for {reader}\n(.*?)^## ", readme, re.M | re.S)
    lines = blocks(section) + in_passing(section)
    assert len(lines) >= 5
    monkeypatch.chdir(tmp_path)
    for line in lines:
        said = varfocus(capsys, *shlex.split(line)[1:])
        assert said.code == 0, (line, said.err)
