"""One list of formats: what it says is what is read, and what people are told."""

import io
import re
from pathlib import Path

import pytest

from varfocus.cli import READING, build
from varfocus.errors import NoFramesError, ParameterError, UnreadableFrameError
from varfocus.io import formats, read_stack, readers
from varfocus.io.formats import FORMATS, Format

ROOT = Path(__file__).parents[2]
FOLDERS = {"Zarr"}


def test_every_reader_is_in_the_list_or_serves_one_that_is():
    files = {path.stem for path in Path(readers.__file__).parent.glob("*.py")} - {"__init__"}
    serving = {"tiff_chain", "ome", "imagej"}
    used = {getattr(entry.look, "args", [entry.look])[0].__module__ for entry in FORMATS.values()}
    assert {f"varfocus.io.readers.{name}" for name in files - serving} == used


def test_entries_are_complete_and_apart():
    endings = [ending for entry in FORMATS.values() for ending in entry.suffixes]
    assert len(set(endings)) == len(endings)
    for name, entry in FORMATS.items():
        assert entry.name == name
        assert entry.about
        assert entry.suffixes
        assert (entry.is_store is not None) == (name in FOLDERS)
        assert bool(entry.magic or entry.sniff) == (name not in FOLDERS)
        assert bool(entry.extra) == bool(entry.library)


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"BM" + bytes(12) + b"\x28\0\0\0", "BMP"),
        (b"BM is how this text begins, not a picture", None),
        (b"II*\0\x10\0\0\0CR\x02\0", "RAW"),
        (b"\0\0\0\x18ftypcrx ", "RAW"),
        (b"\0\0\0\x18ftypisom", "video"),
        (b"\0\0\0\x18ftypheic", None),
        (b"G" + bytes(187) + b"G", "video"),
        (bytes(4) + b"G" + bytes(191) + b"G", "video"),
        (b"\xda\xce\xbe\n", "ND2"),
        (b"ZISRAWFILE", "CZI"),
        (b"\x70\0\0\0\0\0\0\0\x2a", "LIF"),
        (b"\x70\0\0\0\0\0\0\0\0", None),
        (b"\x93NUMPY", "NPY"),
        (b"PK\x03\x04", "NPZ"),
        (b"II*\0", "TIFF"),  # damaged, which its reader says
        (b"GIF89a", None),
        (b"", None),
    ],
)
def test_files_are_told_by_how_they_begin(start, name):
    found = formats.identify(io.BytesIO(start))
    assert (found.name if found else None) == name


def test_the_readme_has_the_list():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = re.search(r"<!-- formats[^>]*-->\n(.*?)\n<!-- end of formats -->", text, re.DOTALL)
    assert listed is not None
    assert listed.group(1) == formats.markdown()


def test_the_account_of_trust_names_every_format():
    text = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    assert [entry.title for entry in FORMATS.values() if entry.title not in text] == []


@pytest.mark.parametrize("command", READING)
def test_help_has_the_list(command, capsys):
    build(command)([command, "--help"], result_action="return_value")
    assert formats.readable() in " ".join(capsys.readouterr().out.split())


def test_the_list_in_words():
    assert formats.readable() == (
        "PNG, JPEG, TIFF, BMP, camera RAW, video, ND2, CZI, LIF, Zarr, NPY or NPZ"
    )
    assert "Zarr" not in formats.readable(stores=False)


def test_extras_are_those_of_the_package():
    assert set(formats.extras()) == {"raw", "video", "microscopy", "zarr"}
    named = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for extra, module in formats.extras().items():
        assert re.search(rf"^{extra} = \[.*{module}", named, re.MULTILINE)


def test_names_are_given_once():
    with pytest.raises(ParameterError, match="'PNG'"):
        formats.register(Format("PNG", "picture", FORMATS["PNG"].look))


def test_what_a_file_calls_itself_counts_for_pictures_only(tmp_path):
    """So that a damaged picture is an error; anything may be called .npy."""
    assert formats.claimed_kind("A.JPG") == "picture"
    assert formats.claimed_kind("a.nef") == "raw"
    assert formats.claimed_kind("a.nd2") is formats.claimed_kind("a.npy") is None
    for name in ("a.nd2", "b.npy"):
        (tmp_path / name).write_bytes(b"nothing of the kind")
    with pytest.raises(NoFramesError, match="no image among 2 files"):
        read_stack(tmp_path)
    (tmp_path / "c.png").write_bytes(b"nothing of the kind")
    with pytest.raises(UnreadableFrameError, match=r"c\.png"):
        read_stack(tmp_path)
