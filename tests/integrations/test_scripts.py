"""What other programs call: syntax by their own tools, and real runs where the program is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile

from command_line import files_below, varfocus, write_pictures
from varfocus.simulation import simulate

ROOT = Path(__file__).parents[2] / "integrations"
WINDOWS = sorted((ROOT / "windows").glob("*.cmd"))


def tool(*names: str) -> str:
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"{' or '.join(names)} is not installed")
    return found


@pytest.fixture
def shots(tmp_path):
    """Frames in a folder whose name has what shells stumble over."""
    return write_pictures(
        tmp_path / "it's a $tack; (1)", simulate("plane", shape=(48, 64), n=4).frames, "img"
    )


@pytest.fixture
def with_varfocus(tmp_path):
    """An environment in which the command varfocus is found."""
    place = tmp_path / "bin"
    place.mkdir()
    program = place / "varfocus"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m varfocus "$@"\n')
    program.chmod(0o755)
    return os.environ | {"PATH": f"{place}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.parametrize("what", ["fuse", "depth"])
def test_the_selection_of_a_file_manager(what, shots, with_varfocus):
    files = sorted(shots.glob("*.png"), reverse=True)  # as they were clicked
    words = ["sh", str(ROOT / "linux" / "varfocus-selected"), what, *map(str, files)]
    done = subprocess.run(
        words, env=with_varfocus, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "img0.png, img1.png, img2.png, img3.png" in done.stderr
    made = files_below(shots) - {path.name for path in files}
    if what == "fuse":
        assert made == {"fused/img0-img3.tif"}
        assert tifffile.imread(shots / "fused" / "img0-img3.tif").shape == (48, 64)
    else:
        assert "depth-img3/run.json" in made


def test_a_selection_that_makes_no_stack_is_an_error(with_varfocus, shots):
    script = str(ROOT / "linux" / "varfocus-selected")
    for words, code in ((["fuse"], 2), (["mend", "x"], 2), (["fuse", str(shots / "img0.png")], 3)):
        done = subprocess.run(
            ["sh", script, *words], env=with_varfocus, capture_output=True,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        assert done.returncode == code


def test_desktop_entries_are_valid():
    entries = sorted((ROOT / "linux").glob("*.desktop"))
    assert len(entries) == 2
    for path in entries:
        assert "Exec=varfocus-selected " in path.read_text(encoding="utf-8")
    validate = tool("desktop-file-validate")
    for path in entries:
        subprocess.run([validate, str(path)], check=True)


@pytest.mark.parametrize("path", WINDOWS, ids=lambda path: path.name)
def test_windows_scripts_call_commands_that_exist(path, capsys):
    """They cannot be run here; their options can."""
    content = path.read_bytes()
    assert content.count(b"\n") == content.count(b"\r\n")
    (line,) = [x for x in content.decode().splitlines() if x.startswith("varfocus ")]
    command = line.split()[1]
    said = varfocus(capsys, command, "--help")
    assert "--by-name" in said.out
    assert line.split()[2:4] == ["--by-name", "%*"]


def test_the_quick_action_is_valid_shell():
    script = ROOT / "macos" / "quick-action.sh"
    subprocess.run([tool("zsh"), "-n", str(script)], check=True)


DARKTABLE = """
local log = { commands = {}, said = {}, imported = {}, grouped = {} }
local dt = {
  configuration = { running_os = "linux" },
  preferences = { register = function() end, read = function() return "varfocus" end },
  print = function(text) table.insert(log.said, text) end,
  print_log = function(text) table.insert(log.commands, text) end,
  control = { execute = function(command)
    local _, _, code = os.execute(command)
    return code
  end },
  database = { import = function(path)
    table.insert(log.imported, path)
    return { group_with = function(_, other) table.insert(log.grouped, other.filename) end }
  end },
  new_widget = function() return function(about)
    if about.value == 1 and about[1] then about.value = about[tonumber(arg[3])] end
    return about
  end end,
}
local registered
dt.register_storage = function(...) registered = table.pack(...) end
package.loaded["darktable"] = dt
dofile(arg[1])
assert(registered[1] == "varfocus")
assert(registered[5](nil, { extension = "tif" }) and not registered[5](nil, { extension = "pdf" }))
local exported = {}
for k = 0, 3 do
  local name = "img" .. k .. ".png"
  if tonumber(arg[3]) == 1 then
    local from, to = arg[2] .. "/" .. name, arg[2] .. "/../e" .. k .. ".png"
    os.execute('cp "' .. from .. '" "' .. to .. '"')
  end
  exported[{ path = arg[2], filename = name }] = arg[2] .. "/../e" .. k .. ".png"
end
registered[4](nil, exported, {})
for _, name in ipairs({ "commands", "said", "imported", "grouped" }) do
  for _, text in ipairs(log[name]) do print(name .. "\\t" .. text) end
end
"""


@pytest.mark.parametrize("way", [1, 2])
def test_the_darktable_script(way, tmp_path, with_varfocus):
    """Loaded and called as darktable does, with a stand-in for it; varfocus is the real one."""
    lua = tool("lua5.4", "lua", "lua5.3")
    shots = write_pictures(tmp_path / "it's", simulate("plane", shape=(48, 64), n=4).frames, "img")
    stand_in = tmp_path / "darktable.lua"
    stand_in.write_text(DARKTABLE, encoding="utf-8")
    script = ROOT / "darktable" / "varfocus.lua"
    done = subprocess.run(
        [lua, str(stand_in), str(script), str(shots), str(way)],
        env=with_varfocus, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    said = [text for kind, text in told if kind == "said"]
    if way == 2:  # PNG are no RAW files, and varfocus says so
        assert said[-1].startswith("varfocus failed (code 2)")
        assert not [text for kind, text in told if kind == "imported"]
        return
    assert ["imported", f"{shots}/fused/img0-img3.tif"] in told
    assert ["grouped", "img0.png"] in told
    assert not list(tmp_path.glob("e?.png"))  # what was exported is gone
    picture = tifffile.imread(shots / "fused" / "img0-img3.tif")
    assert picture.shape == (48, 64)
    assert picture.dtype == np.uint8


def test_listed_files_are_sorted_when_asked(shots, tmp_path, capsys):
    files = [shots / f"img{k}.png" for k in (2, 0, 3, 1)]
    said = varfocus(capsys, "fuse", *files, "-o", tmp_path / "a.png", "--by-name")
    assert "img0.png, img1.png, img2.png, img3.png" in said.err
    said = varfocus(capsys, "fuse", *files, "-o", tmp_path / "b.png")
    assert "img2.png, img0.png, img3.png, img1.png" in said.err
