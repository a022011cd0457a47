"""The commands that README and docs show: all are understood, the everyday ones are run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import tifffile
from cyclopts import CycloptsError

from command_line import varfocus, write_pictures
from known_depth import write_light_field, write_picture
from varfocus.cli import COMMANDS, EXAMPLES, build
from varfocus.simulation import simulate

ROOT = Path(__file__).parents[2]
WRITTEN = ROOT / "docs" / "reference" / "commands"  # by `make docs`, from --help
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if WRITTEN not in path.parents]
TEXTS = [ROOT / "README.md", *PAGES]


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
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in TEXTS}
    found = {name: blocks(text) + in_passing(text) for name, text in texts.items()}
    return found | {"--help": [line for lines in EXAMPLES.values() for line in lines]}


SHOWN = [(name, line) for name, lines in shown().items() for line in lines]


@pytest.mark.parametrize(("name", "line"), SHOWN)
def test_a_command_is_understood(name, line):
    program, *words = shlex.split(line.replace("x,y,w,h", "1,2,30,40").replace("$k", "1"))
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


def section(heading: str) -> str:
    """Return what README says below a heading."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (text,) = re.findall(rf"^## {heading}\n(.*?)^## ", readme, re.M | re.S)
    return text


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
    text = section(f"A minute for {reader}")
    lines = blocks(text) + in_passing(text)
    assert len(lines) >= 5
    monkeypatch.chdir(tmp_path)
    run(capsys, lines)
    for code in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S):
        exec(compile(code, f"README, {reader}", "exec"), {})


def test_what_is_shown_of_python_runs(tmp_path, monkeypatch):
    for folder in ("shots", "plates/a"):
        write_pictures(tmp_path / folder, simulate("steps", shape=(48, 64), n=5).frames)
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^```python\n(.*?)^```$", section("In Python"), re.M | re.S)
    shown: dict[str, Any] = {}
    exec(compile(code, "README, Python", "exec"), shown)
    assert shown["saved"].depth.shape == shown["result"].depth.shape
    assert {"out", "big", "results"} <= {path.name for path in tmp_path.iterdir()}


def run(capsys, lines):
    """Run commands one after the other; all must succeed."""
    for line in lines:
        said = varfocus(capsys, *shlex.split(line)[1:])
        assert said.code == 0, (line, said.err)


@pytest.fixture
def research(tmp_path, monkeypatch, capsys):
    """What the commands for researchers are given, in the working directory."""
    monkeypatch.chdir(tmp_path)
    tifffile.imwrite(tmp_path / "rings.tif", simulate("cone", n=3).frames[1])
    write_picture(tmp_path / "photo")
    write_picture(tmp_path / "pictures" / "museum")  # of the split "test"
    write_light_field(tmp_path / "4d-light-fields" / "dino")
    run(capsys, ["varfocus simulate steps -o my_stack/ --frames 7 --size 64 48"])
    return blocks(section("A minute for researchers"))


LESS = {
    "table1": "--quick",
    "--pictures": "--quick --crop 40 --methods classic",
    "my_stack/": "--methods classic",
    "--benchmark": "--methods classic",
    "table": "--size 64 48",
}
"""Words of a command, and what keeps its test short."""


def shortened(lines: list[str]) -> list[str]:
    """Return commands that write somewhere, and take no longer than a test may."""
    short = []
    for k, line in enumerate(lines):
        words = line.split()
        place = [] if "-o" in words else ["-o", f"out{k}/"]
        less = [
            option for word, options in LESS.items() if word in words for option in options.split()
        ]
        short.append(shlex.join([*shlex.split(line), *place, *less]))
    return short


def takes_minutes(line: str) -> bool:
    return line.split()[1] == "reproduce" or line.split()[1:] == ["evaluate", "--quick"]


def test_the_commands_for_researchers_work(research, capsys):
    lines = [line for line in research if not takes_minutes(line)]
    assert len(lines) >= 5
    run(capsys, shortened(lines))


@pytest.mark.slow
def test_the_long_commands_for_researchers_work(research, capsys):
    lines = [line for line in research if takes_minutes(line)]
    assert len(lines) >= 3
    run(capsys, shortened(lines))


def test_the_commands_for_many_stacks_work(tmp_path, monkeypatch, capsys):
    """Waiting for an instrument, and a cluster, are tested with the batch itself."""
    lines = blocks(section("Many stacks"))
    waiting = {"--watch", "--follow", "--cluster"}
    here = [line for line in lines if not waiting & set(line.split())]
    assert len(here) == 2
    write_pictures(tmp_path / "plates" / "a", simulate("steps", shape=(48, 64), n=5).frames)
    (tmp_path / "manifest.csv").write_text("stack,name\nplates/a,again\n")
    monkeypatch.chdir(tmp_path)
    run(capsys, here)
    assert (tmp_path / "results" / "again" / "run.json").is_file()
