"""The written list of bad inputs: each case with how it is made, its error and its exit code.

Every case goes through ``varfocus depth``: it must end with that code and that error, say so in two
or three lines without traceback, and leave nothing behind.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import pickle
import shutil
import socket
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import tifffile

from command_line import files_below, varfocus
from image_samples import SAMPLES, by_pillow, by_tifffile, noise, png_chunk, smooth
from varfocus import cli, errors, simulate
from varfocus.io import read_stack
from varfocus.io.frames import probe_files
from varfocus.params import Limits

PNG, JPEG, BMP = SAMPLES["PNG-rgb8"].data, SAMPLES["JPEG-rgb"].data, SAMPLES["BMP-rgb"].data
TIFF = by_tifffile(noise((4, 64, 48), np.uint16), photometric="minisblack", rowsperstrip=16)


def saved(save, *arrays, **named):
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


NPY = saved(np.save, noise((4, 11, 19), np.uint16))
NPZ = saved(np.savez_compressed, frames=noise((4, 11, 19), np.uint16))
BUILT_IN = {"png": PNG, "jpg": JPEG, "bmp": BMP, "tif": TIFF, "npy": NPY, "npz": NPZ}
"""A file of every format that needs no extra, by the ending of its name."""

STACKS = ("tif", "npy", "npz")


# How they are made


def content(data: bytes | Callable[[], bytes], name: str = "bad.png"):
    """A file with these bytes, after two good frames if it is a picture."""

    def make(folder: Path) -> list[Path]:
        path = folder / name
        path.write_bytes(data if isinstance(data, bytes) else data())
        return [path] if path.suffix[1:] in STACKS else [*good(folder), path]

    return make


def good(folder: Path) -> list[Path]:
    paths = [folder / f"good{k}.png" for k in range(2)]
    for path in paths:
        path.write_bytes(PNG)
    return paths


def png_claiming(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return PNG[:8] + png_chunk(b"IHDR", head) + PNG[33:]


def png_bomb() -> bytes:
    """Black in a thousandth of its size: within the limits on frames, and honest."""
    rows = zlib.compressobj(1)
    packed = b"".join(rows.compress(bytes(30001)) for _ in range(2000)) + rows.flush()
    head = struct.pack(">IIBBBBB", 10000, 2000, 8, 2, 0, 0, 0)
    return PNG[:8] + png_chunk(b"IHDR", head) + png_chunk(b"IDAT", packed) + png_chunk(b"IEND", b"")


def jpeg_claiming(width: int, height: int) -> bytes:
    data = bytearray(JPEG)
    struct.pack_into(">HH", data, data.index(b"\xff\xc0") + 5, height, width)
    return bytes(data)


def bmp_claiming(width: int, height: int) -> bytes:
    data = bytearray(BMP)
    struct.pack_into("<ii", data, 18, width, height)
    return bytes(data)


def tiff_with(**tags: int) -> bytes:
    """The TIFF with tags of its first page overwritten, lists in their third entry."""
    numbers = {"width": 256, "height": 257, "offsets": 273, "rows": 278, "counts": 279}
    file = io.BytesIO(TIFF)
    with tifffile.TiffFile(file, mode="r+b") as tif:
        for name, value in tags.items():
            tag = tif.pages[0].tags[numbers[name]]
            if isinstance(tag.value, tuple):
                values = list(tag.value)
                values[2] = value
                tag.overwrite(values, dtype="I")
            else:
                tag.overwrite(value, dtype="I")
    return file.getvalue()


def npy_claiming(shape: tuple[int, ...], descr: str = "<u2") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": descr, "fortran_order": False, "shape": shape}
    )
    return file.getvalue() + NPY[128:]


def npz_of(member: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("frames.npy", member)
    return file.getvalue()


def ome_with(pixels: str, doctype: str = "") -> bytes:
    xml = f'{doctype}<OME><Image><Pixels {pixels} DimensionOrder="XYZCT"/></Image></OME>'
    return by_tifffile(noise((4, 9, 9)), photometric="minisblack", description=xml, metadata=None)


def imagej_with(note: str) -> bytes:
    text = f"ImageJ=1.11a\n{note}\n"
    return by_tifffile(noise((4, 9, 9)), photometric="minisblack", description=text, metadata=None)


def tiff_of_long_lists() -> bytes:
    """One page whose list of strips is said to take four gigabytes."""
    entries = struct.pack("<HHII", 256, 3, 1, 9) + struct.pack("<HHII", 273, 4, 2**30, 8)
    return b"II*\0" + struct.pack("<I", 8) + struct.pack("<H", 2) + entries + bytes(4)


class Trap:
    """Unpickling this would leave a file."""

    def __reduce__(self):
        return open, (os.environ.get("VARFOCUS_TRAP", "trapped"), "w")


def pickled_array() -> bytes:
    return saved(lambda file: np.save(file, np.array([Trap()] * 3), allow_pickle=True))


def tarred() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        info = tarfile.TarInfo("a.png")
        info.size = len(PNG)
        archive.addfile(info, io.BytesIO(PNG))
    return file.getvalue()


def link(target: str, name: str = "bad.png"):
    def make(folder: Path) -> list[Path]:
        (folder / name).symlink_to(target)
        return [*good(folder), folder / name]

    return make


def links_in_a_ring(folder: Path) -> list[Path]:
    (folder / "a.png").symlink_to("b.png")
    (folder / "b.png").symlink_to("a.png")
    good(folder)
    return [folder]


def folder_in_itself(folder: Path) -> list[Path]:
    (folder / "again").symlink_to(folder)
    return [folder]


def pipe(folder: Path) -> list[Path]:
    os.mkfifo(folder / "bad.png")
    return [*good(folder), folder / "bad.png"]


def listening(folder: Path) -> list[Path]:
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(folder)  # names of sockets are short
        try:
            server.bind("bad.png")
        finally:
            os.chdir(here)
    return [*good(folder), folder / "bad.png"]


def sparse(head: bytes, size: int, name: str = "bad.png"):
    """A file that claims to be enormous and takes no space."""

    def make(folder: Path) -> list[Path]:
        path = folder / name
        with path.open("wb") as file:
            file.write(head)
            try:
                file.truncate(size)
            except OSError:
                pytest.skip(f"this file system has no files of {size} bytes")
        return [path] if path.suffix[1:] in STACKS else [*good(folder), path]

    return make


def zarr_coded_with(**metadata: object):
    """A Zarr array whose metadata name something that runs code when it decodes."""

    def make(folder: Path) -> list[Path]:
        pytest.importorskip("zarr", reason="needs varfocus[zarr]")
        array = {
            "zarr_format": 2, "shape": [3, 8, 8], "chunks": [3, 8, 8], "dtype": "|u1",
            "order": "C", "fill_value": 0, "compressor": None, "filters": None,
        } | metadata  # fmt: skip
        store = folder / "bad.zarr"
        store.mkdir()
        (store / ".zarray").write_text(json.dumps(array))
        (store / "0.0.0").write_bytes(pickle.dumps(Trap()))
        return [store]

    return make


def playlist(folder: Path) -> list[Path]:
    """A list of files that FFmpeg would open, with the mark of a video."""
    path = folder / "bad.mkv"
    path.write_bytes(b"\x1aE\xdf\xa3\n#EXTM3U\n#EXT-X-TARGETDURATION:1\nfile:///etc/passwd\n")
    return [path]


@dataclass(frozen=True)
class Case:
    """One kind of bad input."""

    name: str
    make: Callable[[Path], list[Path | str]]
    error: type[errors.VarfocusError]
    words: str = ""


UNREADABLE, TOO_LARGE = errors.UnreadableFrameError, errors.TooLargeError
CASES = [
    # Nothing, or not what it says
    Case("empty file", content(b""), UNREADABLE, "is empty"),
    Case("one byte", content(b"\x89"), UNREADABLE, "not an image"),
    Case("only the mark of a PNG", content(PNG[:8]), UNREADABLE, "ends early"),
    Case("text", content(b"hello\n" * 50), UNREADABLE, "not an image"),
    Case("random bytes", content(noise((999,)).tobytes()), UNREADABLE, "not an image"),
    Case("zeros", content(bytes(4096)), UNREADABLE, "not an image"),
    Case("web page", content(b"<!doctype html><img src=x>"), UNREADABLE, "not an image"),
    Case("SVG", content(b"<svg xmlns='http://www.w3.org/2000/svg'/>"), UNREADABLE, "not an image"),
    Case("PostScript", content(b"%!PS\n(%pipe%id) run"), UNREADABLE, "not an image"),
    Case("PDF", content(b"%PDF-1.7\n"), UNREADABLE, "is a PDF file"),
    Case("GIF", content(by_pillow(smooth(), "GIF")), UNREADABLE, "is a GIF file"),
    Case("WebP", content(by_pillow(smooth(), "WEBP")), UNREADABLE, "is a WebP file"),
    Case("HEIC", content(bytes(4) + b"ftypheic" + bytes(99)), UNREADABLE, "is a HEIC file"),
    Case("shell script", content(b"#!/bin/sh\ntouch trapped\n"), UNREADABLE, "not an image"),
    Case("program", content(b"\x7fELF" + bytes(99)), UNREADABLE, "not an image"),
    # Nothing is executed, fetched or unpacked
    Case("pickle", content(pickle.dumps(Trap())), UNREADABLE, "not an image"),
    Case("pickle in NPY", content(pickled_array, "bad.npy"), UNREADABLE, "Python objects"),
    Case("pickle in NPZ", content(lambda: npz_of(pickled_array()), "bad.npz"), UNREADABLE, "ZIP"),
    Case("pickle as filter of Zarr", zarr_coded_with(filters=[{"id": "pickle"}]), UNREADABLE,
         "pickle"),
    Case("pickle as compressor of Zarr", zarr_coded_with(compressor={"id": "pickle"}), UNREADABLE,
         "pickle"),
    Case("unlisted filter of Zarr", zarr_coded_with(filters=[{"id": "base64"}]), UNREADABLE,
         "coded with 'base64'"),
    Case("objects in Zarr", zarr_coded_with(dtype="|O", filters=[{"id": "pickle"}]), UNREADABLE),
    Case("Zarr path that climbs out", zarr_coded_with(shape="../../etc"), UNREADABLE),
    Case("archive", content(tarred), UNREADABLE, "not an image"),
    Case("ZIP of pictures", content(lambda: npz_of(PNG), "bad.npz"), UNREADABLE, "ZIP without"),
    Case("address", lambda _: ["https://example.org/a.png"], errors.ParameterError, "an address"),
    Case("address of a file", lambda _: ["file:///etc/passwd"], errors.ParameterError, "address"),
    Case("playlist", playlist, UNREADABLE, "bad.mkv"),
    Case("XML bomb in OME", content(lambda: ome_with('SizeZ="4"', '<!DOCTYPE a [<!ENTITY b "c">]>'),
         "bad.tif"), UNREADABLE, "document type"),
    # Bombs: the size is within no limit, and said before anything is decoded
    Case("PNG of a terapixel", content(png_claiming(2**20, 2**20)), TOO_LARGE, "--max-side"),
    Case("PNG of a gigapixel", content(png_claiming(2**15, 2**15)), TOO_LARGE, "--max-pixels"),
    Case("JPEG of 4 gigapixels", content(jpeg_claiming(65000, 65000)), TOO_LARGE, "65000×65000"),
    Case("BMP of a terapixel", content(bmp_claiming(2**20, 2**20)), TOO_LARGE, "--max-side"),
    Case("TIFF of 4 gigapixels", content(lambda: tiff_with(width=65000, height=65000, rows=65000),
         "bad.tif"), UNREADABLE, "which cannot be"),
    Case("NPY of 4 gigapixels", content(npy_claiming((3, 65000, 65000)), "bad.npy"), TOO_LARGE,
         "65000×65000"),
    Case("NPY of a million frames", content(npy_claiming((10**6, 9, 9)), "bad.npy"), TOO_LARGE,
         "--max-frames"),
    Case("NPY of 10^18 frames", content(npy_claiming((10**18, 9, 9)), "bad.npy"), TOO_LARGE,
         "--max-frames"),
    Case("NPZ of 10^18 frames", content(lambda: npz_of(npy_claiming((10**18, 9, 9))), "bad.npz"),
         UNREADABLE, "ends within"),
    Case("ImageJ of a billion channels", content(lambda: imagej_with("channels=999999999"),
         "bad.tif"), TOO_LARGE, "channels"),
    Case("ImageJ of a billion times", content(lambda: imagej_with("frames=999999999\nslices=2"),
         "bad.tif"), TOO_LARGE, "times"),
    Case("OME of a billion slices", content(lambda: ome_with('SizeZ="999999999"'), "bad.tif"),
         UNREADABLE, "more planes"),
    # Lies: what is claimed cannot be in so few bytes
    Case("PNG of 400 MP in 700 bytes", content(png_claiming(20000, 20000)), UNREADABLE,
         "cannot be"),
    Case("JPEG of 400 MP in 700 bytes", content(jpeg_claiming(20000, 20000)), UNREADABLE,
         "cannot be"),
    Case("BMP of 400 MP in 1 kB", content(bmp_claiming(20000, 20000)), UNREADABLE, "are missing"),
    Case("TIFF of 400 MP in 25 kB", content(lambda: tiff_with(width=20000, height=20000,
         rows=20000), "bad.tif"), UNREADABLE, "cannot be"),
    Case("NPY longer than its file", content(npy_claiming((40, 11, 19)), "bad.npy"), UNREADABLE,
         "bytes are missing"),
    Case("NPZ longer than its member", content(lambda: npz_of(npy_claiming((40, 11, 19))),
         "bad.npz"), UNREADABLE, "ends within"),
    Case("NPY without frames", content(npy_claiming((0, 11, 19)), "bad.npy"), UNREADABLE,
         "no frame"),
    Case("NPY of less than no frames", content(npy_claiming((-3, 11, 19)), "bad.npy"), UNREADABLE),
    Case("NPY of no width", content(npy_claiming((3, 11, 0)), "bad.npy"), UNREADABLE, "0×11"),
    Case("PNG of no size", content(png_claiming(0, 0)), UNREADABLE, "0×0"),
    Case("JPEG of no size", content(jpeg_claiming(19, 0)), UNREADABLE, "19×0"),
    Case("tags of four gigabytes", content(tiff_of_long_lists, "bad.tif"), UNREADABLE, "of tags"),
    Case("strip of no bytes", content(lambda: tiff_with(counts=0), "bad.tif"), UNREADABLE, "empty"),
    Case("strip at no place", content(lambda: tiff_with(offsets=0), "bad.tif"), UNREADABLE,
         "empty"),
    Case("strip beyond the end", content(lambda: tiff_with(offsets=2**30), "bad.tif"), UNREADABLE,
         "ends early"),
    Case("strip longer than the file", content(lambda: tiff_with(counts=2**30), "bad.tif"),
         UNREADABLE, "ends early"),
    Case("OME that names a page which is not there", content(lambda: ome_with('SizeZ="9"'),
         "bad.tif"), UNREADABLE),
    # Enormous: no byte more is read than needed
    Case("2 TB", sparse(PNG, 2 * 10**12), TOO_LARGE, "--max-file-size"),
    Case("2 TB of nothing", sparse(b"", 2 * 10**12), TOO_LARGE, "--max-file-size"),
    *(
        Case(f"900 GB after a {kind}", sparse(data, 9 * 10**11, f"bad.{kind}"), UNREADABLE)
        for kind, data in BUILT_IN.items()
        if kind not in ("tif", "npy")  # what follows the last page is none of their business
    ),
    Case("900 GB after the mark of a JPEG", sparse(JPEG[:4], 9 * 10**11), UNREADABLE),
    Case("900 GB after the mark of a TIFF", sparse(TIFF[:4], 9 * 10**11), UNREADABLE),
    # Places
    Case("link to nothing", link("nowhere.png"), UNREADABLE, "no such file"),
    Case("link to itself", link("bad.png"), errors.InputError, "bad.png"),
    Case("links in a ring", links_in_a_ring, errors.InputError, "a.png"),
    Case("folder that holds itself", folder_in_itself, errors.NoFramesError, "no files"),
    Case("link to a device", link("/dev/zero"), UNREADABLE, "not a regular file"),
    Case("pipe", pipe, UNREADABLE, "not a regular file"),
    Case("socket", listening, UNREADABLE, "not a regular file"),
    Case("folder among files", lambda f: [*good(f), f], UNREADABLE, "is a folder"),
    Case("name that is too long", lambda f: [f / ("x" * 5000)], errors.InputError, "xxx"),
    Case("name with a NUL", lambda f: [f"{f}/a\0b.png"], errors.ParameterError),
    Case("name of bytes that are no text", lambda f: [f / os.fsdecode(b"\xff\xfe.png")],
         UNREADABLE),
    Case("name that would steer the terminal", lambda f: [f / "\x1b]0;owned\x07\r\n.png"],
         UNREADABLE, r"\x1b]0;owned\x07"),
]  # fmt: skip


def refused(capsys, folder: Path, out: Path, sources, code: int) -> str:
    """Run ``varfocus depth`` and check everything that holds for every case."""
    before = files_below(folder)
    said = varfocus(capsys, "depth", *sources, "-o", out)
    assert said.code == code, said.err
    assert said.out == ""
    assert "Traceback" not in said.err
    assert "bug" not in said.err
    assert "\x1b" not in said.err
    words = said.err[said.err.index("error: ") :]
    assert 2 <= len(words.splitlines()) <= 4
    assert files_below(folder) == before
    assert not out.exists() or files_below(out) == set()
    return words


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_input(capsys, tmp_path, monkeypatch, case):
    monkeypatch.setenv("VARFOCUS_TRAP", str(tmp_path / "trapped"))
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    sources = case.make(folder)
    seen = []
    original = cli._report
    monkeypatch.setattr(cli, "_report", lambda e, c: (seen.append(e), original(e, c))[1])
    words = refused(capsys, folder, out, sources, case.error.exit_code)
    assert isinstance(seen[0], case.error), repr(seen[0])
    assert case.words in words
    assert not (tmp_path / "trapped").exists()


@pytest.mark.parametrize("kind", BUILT_IN)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.3, 0.6, 0.9])
def test_truncated(capsys, tmp_path, kind, share):
    data = BUILT_IN[kind]
    folder = tmp_path / "in"
    folder.mkdir()
    sources = content(data[: int(share * len(data))], f"bad.{kind}")(folder)
    assert f"bad.{kind}" in refused(capsys, folder, tmp_path / "out", sources, 3)


@pytest.mark.parametrize("kind", BUILT_IN)
def test_the_name_decides_nothing(capsys, tmp_path, kind):
    """Every content under every other name is read as what it is."""
    for ending in (*BUILT_IN, "txt", "exe", "html"):
        path = tmp_path / f"a.{ending}"
        path.write_bytes(BUILT_IN[kind])
        expected = probe_files([path]).frames
        assert expected[0].format == {"png": "PNG", "jpg": "JPEG", "bmp": "BMP", "tif": "TIFF",
                                      "npy": "NPY", "npz": "NPZ"}[kind]  # fmt: skip
        assert expected[0].read().shape == expected[0].shape


CHANGES = {
    "is gone": lambda path: path.unlink(),
    "is empty": lambda path: path.write_bytes(b""),
    "is cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "is another picture": lambda path: path.write_bytes(SAMPLES["PNG-grey16"].data),
    "is a folder": lambda path: (path.unlink(), path.mkdir()),
    "grows without end": lambda path: os.truncate(path, 9 * 10**11),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", BUILT_IN)
def test_a_file_that_changes_after_it_was_looked_at(capsys, tmp_path, monkeypatch, kind, change):
    if change == "grows without end" and kind in ("tif", "npy"):
        pytest.skip("what follows the last page is not read")
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    path = folder / f"a.{kind}"
    path.write_bytes(BUILT_IN[kind])
    others = []
    for k in range(2 if kind not in STACKS else 0):
        others.append(folder / f"b{k}.{kind}")
        others[-1].write_bytes(BUILT_IN[kind])
    command = importlib.import_module("varfocus.job")
    prepare = command.prepare_folder

    def meanwhile(*arguments):
        CHANGES[change](path)
        prepare(*arguments)

    monkeypatch.setattr(command, "prepare_folder", meanwhile)
    said = varfocus(capsys, "depth", path, *others, "-o", out)
    assert said.code == 3, said.err
    assert f"a.{kind}" in said.err
    assert "Traceback" not in said.err
    assert files_below(out) == set()


@pytest.mark.parametrize("locked", ["file", "folder"])
def test_what_may_not_be_read(capsys, locked):
    """As an ordinary user, for root may read everything."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    try:
        paths = [place / f"{k}.png" for k in range(3)]
        for path in paths:
            path.write_bytes(PNG)
        assert varfocus(capsys, "info", place).code == 0  # and everything is loaded
        target = place if locked == "folder" else paths[1]
        target.chmod(0)
        privileged = os.geteuid() == 0
        if privileged:
            os.seteuid(65534)
        try:
            said = varfocus(capsys, "info", *([place] if locked == "folder" else paths))
        finally:
            if privileged:
                os.seteuid(0)
        assert said.code == 3, said.err
        assert "permission denied" in said.err
        assert "Change its permissions" in said.err
    finally:
        place.chmod(0o755)
        shutil.rmtree(place)


# Limits are adjustable, and honest sizes beyond them are told what to do


@pytest.mark.parametrize(
    ("flag", "value", "words"),
    [
        ("--max-side", "18", "claims 19×11 pixels"),
        ("--max-pixels", "208", "claims 19×11 = 209 pixels"),
        ("--max-frames", "2", "3 frames"),
        ("--max-file-size", "100B", "expected at most 100 bytes a file"),
    ],
)
def test_limits_by_flag(capsys, tmp_path, flag, value, words):
    folder = tmp_path / "in"
    folder.mkdir()
    good(folder)
    (folder / "good2.png").write_bytes(PNG)
    assert varfocus(capsys, "info", folder).code == 0
    said = varfocus(capsys, "info", folder, flag, value)
    assert said.code == 4
    assert words in said.err
    assert flag in said.err


def test_a_raised_limit_holds_while_decoding(tmp_path):
    """Headers are made anew from the file that is decoded, under the limits of the stack."""
    path = tmp_path / "a.tif"
    path.write_bytes(TIFF)
    stack = read_stack(path, limits=Limits(max_side=64))
    assert stack.read(0).shape == (64, 48)
    with pytest.raises(errors.TooLargeError, match="--max-side"):
        read_stack(path, limits=Limits(max_side=63))


@pytest.mark.parametrize("bad", [{"max_side": 0}, {"max_frames": 1.5}, {"max_file_size": "much"}])
def test_limits_that_are_none(bad):
    with pytest.raises(errors.ParameterError):
        Limits(**bad)


def test_an_honest_bomb_is_refused_by_its_memory(capsys, tmp_path):
    """20 megapixels of black in a few kB: within the limits on sizes, but not on memory."""
    folder = tmp_path / "in"
    folder.mkdir()
    data = png_bomb()
    assert len(data) < 500_000
    for k in range(3):
        (folder / f"{k}.png").write_bytes(data)
    paper = ("--method", "paper", "--max-memory", "1GB")  # the default would go on in tiles
    said = varfocus(capsys, "depth", folder, "-o", tmp_path / "out", *paper)
    assert said.code == 4
    assert "3 frames of 10000×2000 need about" in said.err
    assert "--max-memory" in said.err
    assert files_below(tmp_path / "out") == set()


@pytest.mark.parametrize(
    "command",
    [
        ("depth", "-o", "OUT"),
        ("fuse", "-o", "OUT/a.png"),
        ("align", "-o", "OUT"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_asks_for_memory_first(capsys, tmp_path, command):
    folder = tmp_path / "in"
    folder.mkdir()
    good(folder)
    (folder / "good2.png").write_bytes(PNG)
    words = [word.replace("OUT", str(tmp_path / "out")) for word in command]
    said = varfocus(capsys, words[0], folder, *words[1:], "--max-memory", "10kB")
    assert said.code == 4, said.err
    assert "frames of 19×11 need about" in said.err
    assert "--max-memory" in said.err
    assert not (tmp_path / "out").exists() or files_below(tmp_path / "out") == set()


# Names


ODD_NAMES = [
    os.fsdecode(b"caf\xe9 \xff_%d.png"),
    "new\nline_%d.png",
    "\x1b[31mred_%d.png",
    "-dash_%d.png",
    "[brackets]*_%d.png",
    "“quotes” 'and' \"more\"_%d.png",
    "\u202etxt_%d.png",
    "<img src=x onerror=alert(1)>_%d.png",
]


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_odd_names_go_all_the_way(capsys, tmp_path, name):
    folder = tmp_path / "in"
    folder.mkdir()
    for k, frame in enumerate(simulate("cone", shape=(24, 31), n=4).frames):
        try:
            (folder / (name % k)).write_bytes(by_pillow(frame, "PNG"))
        except OSError:
            pytest.skip("this file system has no such names")
    plain = name.isprintable() and "<" not in name  # the others must not break the report
    report = ["--method", "classic", *(["--no-report"] if plain else [])]
    said = varfocus(capsys, "depth", folder, "-o", tmp_path / "out", *report)
    assert said.code == 0, said.err
    assert "\x1b[31m" not in said.err + said.out
    record = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    paths = [Path(file["path"]) for file in record["input"]["files"]]
    assert paths == [folder / (name % k) for k in range(4)]
    assert all(path.is_file() for path in paths)
    if not plain:
        page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
        assert "<img src=x" not in page
        assert page.rstrip().endswith("</html>")
