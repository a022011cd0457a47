"""Broken files: always one of our errors, never anything else, never made-up pixels."""

import logging
import struct
import subprocess
import sys

import imagecodecs
import numpy as np
import pytest
import tifffile
from PIL import Image
from PIL.BmpImagePlugin import BmpImageFile

from image_samples import SAMPLES, by_pillow, by_tifffile, grey_png, noise, png_chunk, smooth
from varfocus import files
from varfocus.errors import (
    InputError,
    MixedFramesError,
    TooLargeError,
    UnreadableFrameError,
    VarfocusError,
)
from varfocus.io import read_stack
from varfocus.io.frames import probe_files
from varfocus.params import Limits

TRUNCATED = [
    "PNG-rgb16",
    "PNG-palette",
    "JPEG-rgb",
    "JPEG-progressive",
    "BMP-grey",
    "BMP-rle8",
    "TIFF-rgb-uint16",
    "TIFF-palette",
    "TIFF-planar-alpha",
    "TIFF-big-endian-uint8",
]


def read_all(path):
    return [frame.read() for frame in probe_files([path]).frames]


def assert_ours(error, path):
    assert str(path) in error.received
    assert error.remedy


@pytest.mark.parametrize("name", TRUNCATED)
def test_truncated_at_any_byte(name, tmp_path):
    data = SAMPLES[name].data
    path = tmp_path / "cut"
    # TIFF and BMP may end in padding that nobody needs; the pixels must be whole nevertheless.
    for cut in sorted({*range(0, len(data), 7), *range(min(64, len(data))), len(data) - 1}):
        path.write_bytes(data[:cut])
        try:
            (pixels,) = read_all(path)
        except VarfocusError as error:
            assert_ours(error, path)
        else:
            assert name.startswith(("TIFF", "BMP"))
            np.testing.assert_array_equal(pixels, SAMPLES[name].pixels)


@pytest.mark.parametrize("options", [{}, {"compression": "lzw"}, {"imagej": True}])
def test_truncated_multi_page_tiff_never_loses_frames(options, tmp_path):
    pages = noise((4, 11, 19), np.uint8)
    whole = tmp_path / "whole.tif"
    tifffile.imwrite(whole, pages, photometric="minisblack", **options)
    data = whole.read_bytes()
    path = tmp_path / "cut.tif"
    for cut in range(0, len(data), 5):
        path.write_bytes(data[:cut])
        try:
            frames = read_all(path)
        except VarfocusError as error:
            assert_ours(error, path)
        else:
            np.testing.assert_array_equal(np.stack(frames), pages)


MUTATED = [name for name in SAMPLES if not name.startswith("TIFF")] + [
    "TIFF-grey-uint8",
    "TIFF-rgb-float32",
    "TIFF-big-endian-uint16",
    "TIFF-lzw",
    "TIFF-tiled-lzw",
    "TIFF-predictor",
    "TIFF-planar-tiled",
    "TIFF-jpeg",
    "TIFF-palette",
    "TIFF-bilevel",
    "TIFF-thumbnail",
]


@pytest.mark.parametrize("name", MUTATED)
def test_random_mutations(name, tmp_path):
    rng = np.random.default_rng(sum(name.encode()))
    original = SAMPLES[name].data
    path = tmp_path / "mutant"
    for _ in range(40):
        data = bytearray(original)
        # Half of the mutations go for the header, where they do more harm.
        reach = len(data) if rng.random() < 0.5 else min(len(data), 300)
        for position in rng.integers(0, reach, rng.integers(1, 4)):
            data[position] = rng.integers(256)
        path.write_bytes(bytes(data))
        try:
            frames = probe_files([path]).frames
            for frame in frames:
                pixels = frame.read()
                assert (pixels.shape, pixels.dtype) == (frame.shape, frame.dtype)
        except VarfocusError as error:
            assert_ours(error, path)


@pytest.mark.parametrize("position", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("name", ["PNG-rgb8", "PNG-grey16", "TIFF-deflate"])
def test_checksums_find_flipped_bits(name, position, tmp_path):
    data = bytearray(SAMPLES[name].data)
    data[int(position * len(data))] ^= 0x10
    path = tmp_path / "flipped"
    path.write_bytes(bytes(data))
    with pytest.raises(UnreadableFrameError):
        read_all(path)


def test_png_cut_after_the_last_pixel(tmp_path):
    """libpng alone does not notice."""
    data = SAMPLES["PNG-rgb8"].data
    imagecodecs.png_decode(data[:-12])
    path = tmp_path / "a.png"
    path.write_bytes(data[:-12])
    with pytest.raises(UnreadableFrameError, match="ends early"):
        read_all(path)


def test_jpeg_cut_in_half(tmp_path):
    """imagecodecs alone does not notice."""
    data = by_pillow(noise((64, 64, 3)), "JPEG")
    assert imagecodecs.jpeg8_decode(data[: len(data) // 2]).shape == (64, 64, 3)
    path = tmp_path / "a.jpg"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(UnreadableFrameError, match=r"a\.jpg"):
        read_all(path)


@pytest.mark.parametrize(("tag", "value"), [(279, 0), (273, 0), (279, 2**30), (273, 2**30)])
def test_tiff_with_missing_strip(tag, value, tmp_path):
    """Tifffile alone returns zeros."""
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, noise((64, 64)), rowsperstrip=16, compression="deflate")
    with tifffile.TiffFile(path, mode="r+") as tif:
        values = list(tif.pages[0].tags[tag].value)
        values[2] = value
        tif.pages[0].tags[tag].overwrite(values, dtype="I")
    with pytest.raises(UnreadableFrameError, match="strip or tile 2 of page 0"):
        read_stack([path] * 3)


def test_tiff_with_circular_pages(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, noise((5, 11, 19)))
    with tifffile.TiffFile(path) as tif:
        link, first = tif.pages.next_page_offset, tif.pages[0].offset
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, link, first)
    path.write_bytes(data)
    with pytest.raises(UnreadableFrameError, match="leads back"):
        read_stack(path)


def test_tiff_pages_of_different_size(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.tif") as writer:
        writer.write(noise((11, 19)))
        writer.write(noise((12, 19)))
        writer.write(noise((11, 19)))
    with pytest.raises(MixedFramesError, match=r"a\.tif\[1\] is 19×12"):
        read_stack(tmp_path)


def test_png_of_one_gigapixel_is_refused_before_decoding(tmp_path):
    head = struct.pack(">IIBBBBB", 32768, 32768, 8, 2, 0, 0, 0)
    data = SAMPLES["PNG-rgb8"].data
    bomb = data[:8] + png_chunk(b"IHDR", head) + data[33:]
    path = tmp_path / "a.png"
    path.write_bytes(bomb)
    with pytest.raises(TooLargeError, match=r"a\.png: claims 32768×32768 = 1073741824 pixels"):
        read_all(path)


def test_tiff_of_30000_squared_in_few_bytes(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, noise((11, 19)), compression="deflate")
    with tifffile.TiffFile(path, mode="r+") as tif:
        for tag in (256, 257, 278):
            tif.pages[0].tags[tag].overwrite(30000, dtype="I")
    with pytest.raises(TooLargeError, match="30000×30000"):
        read_all(path)


def test_jpeg_and_bmp_beyond_the_limits(tmp_path):
    jpeg = bytearray(by_pillow(smooth(), "JPEG"))
    struct.pack_into(">HH", jpeg, jpeg.index(b"\xff\xc0") + 5, 65000, 65000)
    bmp = bytearray(by_pillow(smooth(), "BMP"))
    struct.pack_into("<ii", bmp, 18, 2**20, 10)
    for data, text in ((jpeg, "65000×65000"), (bmp, "1048576×10")):
        path = tmp_path / "large"
        path.write_bytes(bytes(data))
        with pytest.raises(TooLargeError, match=text):
            read_all(path)


def test_jpeg_in_tiff_larger_than_its_tile(tmp_path):
    data = bytearray(SAMPLES["TIFF-jpeg"].data)
    struct.pack_into(">HH", data, data.index(b"\xff\xc0") + 5, 65000, 65000)
    path = tmp_path / "a.tif"
    path.write_bytes(bytes(data))
    with pytest.raises(UnreadableFrameError, match="65000×65000"):
        read_all(path)


def test_large_images_are_none_of_pillows_business(tmp_path, monkeypatch):
    """Neither its limit nor its warning (an error in this suite) applies."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    for kind in ("JPEG", "BMP"):
        path = tmp_path / kind
        path.write_bytes(by_pillow(smooth(), kind))
        assert read_all(path)[0].shape == smooth().shape


def test_too_many_pages_and_files(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", noise((5, 11, 19)))
    few = Limits(max_frames=4)
    with pytest.raises(TooLargeError, match="more than 4 pages"):
        read_stack(tmp_path, limits=few)
    with pytest.raises(TooLargeError, match="5 frames"):
        read_stack([tmp_path / "a.tif"] * 5, limits=few)


@pytest.mark.parametrize("name", ["PNG-rgb16", "JPEG-rgb", "BMP-rgb", "TIFF-lzw"])
def test_looking_decodes_nothing(name, tmp_path, monkeypatch):
    def forbidden(*args, **kwargs):
        raise AssertionError("decoded")

    for owner, attribute in (
        (imagecodecs, "png_decode"),
        (Image, "frombytes"),
        (BmpImageFile, "load"),
        (tifffile.TiffPage, "asarray"),
    ):
        monkeypatch.setattr(owner, attribute, forbidden)
    path = tmp_path / "a"
    path.write_bytes(SAMPLES[name].data)
    stack = read_stack([path] * 3)
    assert stack.frames[0].shape == SAMPLES[name].pixels.shape
    with pytest.raises(UnreadableFrameError) as caught:
        stack.read(0)
    assert isinstance(caught.value.__cause__, AssertionError)


def test_file_that_disappears(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(SAMPLES["PNG-rgb8"].data)
    stack = read_stack([path] * 3)
    path.unlink()
    with pytest.raises(UnreadableFrameError, match=r"a\.png: no such file") as caught:
        stack.read(0)
    assert isinstance(caught.value.__cause__, FileNotFoundError)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("PNG-rgb8", "PNG-rgb16"),
        ("JPEG-rgb", "JPEG-grey"),
        ("BMP-rgb", "BMP-grey"),
        ("TIFF-grey-uint8", "TIFF-rgb-uint8"),
        ("PNG-rgb8", "JPEG-rgb"),
        ("TIFF-grey-uint8", "BMP-grey"),
    ],
)
def test_file_that_changes(before, after, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(SAMPLES[before].data)
    (frame,) = probe_files([path]).frames
    path.write_bytes(SAMPLES[after].data)
    with pytest.raises(UnreadableFrameError) as caught:
        frame.read()
    assert_ours(caught.value, path)


@pytest.mark.parametrize("content", [b"", b"just some text", b"BMW is a car maker", b"\x89PNG"])
def test_files_that_are_no_images(content, tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(content)
    with pytest.raises(UnreadableFrameError) as caught:
        read_stack(tmp_path)
    assert_ours(caught.value, path)


def test_foreign_formats_are_called_by_name(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(by_pillow(smooth(), "GIF"))
    with pytest.raises(UnreadableFrameError, match="is a GIF file"):
        read_stack([path])


def test_permission_denied(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(grey_png(noise((4, 4)) >> 7, 1))

    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(files, "_opened", denied)  # root may read everything
    with pytest.raises(UnreadableFrameError, match="permission denied") as caught:
        read_stack(tmp_path)
    assert_ours(caught.value, path)


def test_failing_device(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(grey_png(noise((4, 4)) >> 7, 1))

    def failing(*args, **kwargs):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(files, "_opened", failing)
    with pytest.raises(InputError, match="Input/output error") as caught:
        read_stack(tmp_path)
    assert_ours(caught.value, path)


def test_out_of_memory(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(SAMPLES["PNG-rgb8"].data)
    (frame,) = probe_files([path]).frames

    def exhausted(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(imagecodecs, "png_decode", exhausted)
    with pytest.raises(TooLargeError, match="not enough memory"):
        frame.read()


def test_nothing_on_stderr(tmp_path):
    """Tifffile logs what it stumbles over, and a logger without handler writes to stderr."""
    data = by_tifffile(noise((5, 11, 19)))
    (tmp_path / "a.tif").write_bytes(data[: len(data) // 2])
    script = (
        "import sys; from varfocus.io import read_stack; from varfocus.errors import InputError\n"
        "try: read_stack(sys.argv[1])\n"
        "except InputError: print('refused')"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "a.tif")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("refused\n", "")


@pytest.mark.parametrize("place", ["profile", "pixels"])
def test_libpng_prints_nothing(place, tmp_path, capfd):
    data = SAMPLES["PNG-rgb8"].data
    if place == "profile":
        data = data[:33] + png_chunk(b"iCCP", b"sRGB\0\0no profile") + data[33:]
    else:
        data = data[:60] + bytes((data[60] ^ 1,)) + data[61:]
    path = tmp_path / "a.png"
    path.write_bytes(data)
    if place == "profile":
        np.testing.assert_array_equal(read_all(path)[0], SAMPLES["PNG-rgb8"].pixels)
    else:
        with pytest.raises(UnreadableFrameError, match="damaged IDAT chunk"):
            read_all(path)
    assert capfd.readouterr() == ("", "")


def test_logging_by_tifffile_stays_available(caplog):
    with caplog.at_level(logging.WARNING, logger="tifffile"):
        logging.getLogger("tifffile").warning("still heard")
    assert "still heard" in caplog.text


def test_heavy_libraries_are_loaded_when_used():
    script = (
        "import sys, varfocus.io; "
        "print([m for m in ('tifffile', 'imagecodecs', 'PIL', 'natsort') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
