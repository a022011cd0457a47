"""Every supported format, number type and colour model comes back as it was written."""

import io
import struct

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageFile

from image_samples import SAMPLES, by_pillow, by_tifffile, exif, noise, png_chunk, smooth
from varfocus.errors import AmbiguousInputError, NotFiniteError, UnreadableFrameError
from varfocus.io import read_stack
from varfocus.io.frames import probe_files


def write(folder, data, n=3, name="frame{}.img"):
    for k in range(n):
        (folder / name.format(k)).write_bytes(data)
    return folder


def frame_of(folder, data):
    path = folder / "one"
    path.write_bytes(data)
    (frame,) = probe_files([path]).frames
    return frame


@pytest.mark.parametrize("name", SAMPLES)
def test_pixels_are_exact(name, tmp_path):
    sample = SAMPLES[name]
    stack = read_stack(write(tmp_path, sample.data))
    assert (len(stack), stack.frames[1].format) == (3, sample.format)
    assert stack.frames[0].shape == sample.pixels.shape
    assert stack.dtype == sample.pixels.dtype
    pixels = stack.read(1)
    assert pixels.dtype == sample.pixels.dtype
    assert pixels.flags.c_contiguous
    assert pixels.flags.writeable
    np.testing.assert_array_equal(pixels, sample.pixels)


def manually_oriented(pixels, orientation):
    return {
        1: lambda a: a,
        2: np.fliplr,
        3: lambda a: np.rot90(a, 2),
        4: np.flipud,
        5: lambda a: np.swapaxes(a, 0, 1),
        6: lambda a: np.rot90(a, -1),
        7: lambda a: np.rot90(np.swapaxes(a, 0, 1), 2),
        8: np.rot90,
    }[orientation](pixels)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF"])
def test_orientation(kind, orientation, tmp_path):
    pixels = smooth()
    if kind == "TIFF":
        tag = [(274, "H", 1, orientation, True)]
        turned = by_tifffile(pixels, photometric="rgb", extratags=tag)
    else:
        turned = by_pillow(pixels, kind, exif=exif(orientation))
    upright = frame_of(tmp_path, by_pillow(pixels, kind)).read()
    frame = frame_of(tmp_path, turned)
    expected = manually_oriented(upright, orientation)
    assert frame.shape == expected.shape
    assert frame.read().flags.c_contiguous
    np.testing.assert_array_equal(frame.read(), expected)


def test_orientation_of_png_stored_after_the_pixels(tmp_path):
    pixels = noise((5, 7))
    data = by_pillow(pixels, "PNG")
    late = data[:-12] + png_chunk(b"eXIf", exif(6).removeprefix(b"Exif\0\0")) + data[-12:]
    np.testing.assert_array_equal(frame_of(tmp_path, late).read(), np.rot90(pixels, -1))


@pytest.mark.parametrize("broken", [b"", b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\0\0", b"Exif\0\0XX"])
def test_broken_exif_is_ignored(broken, tmp_path):
    data = by_pillow(smooth(), "JPEG", exif=broken)
    assert frame_of(tmp_path, data).shape == smooth().shape


@pytest.mark.parametrize("value", [0, 9, 999])
def test_nonsensical_orientation_is_ignored(value, tmp_path):
    frame = frame_of(tmp_path, by_pillow(smooth(), "JPEG", exif=exif(value)))
    assert frame.shape == smooth().shape


def test_multi_page_tiff(tmp_path):
    pages = noise((6, 11, 19, 3), np.uint16)
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, pages, photometric="rgb")
    stack = read_stack(path)
    assert stack.files == (path,) * 6
    assert stack.names[4] == "stack.tif[4]"
    assert [frame.page for frame in stack.frames] == list(range(6))
    np.testing.assert_array_equal(np.stack(list(stack)), pages)


@pytest.mark.parametrize("options", [{"imagej": True}, {"ome": True}, {"compression": "lzw"}])
def test_multi_page_flavours(options, tmp_path):
    pages = noise((5, 11, 19), np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", pages, metadata={"axes": "ZYX"}, **options)
    np.testing.assert_array_equal(np.stack(list(read_stack(tmp_path))), pages)


def test_pillow_multi_page(tmp_path):
    pages = noise((4, 11, 19))
    first, *rest = [Image.fromarray(page) for page in pages]
    first.save(tmp_path / "a.tif", save_all=True, append_images=rest)
    np.testing.assert_array_equal(np.stack(list(read_stack(tmp_path))), pages)


def test_imagej_file_with_one_directory(tmp_path):
    """What ImageJ writes beyond 4 GB, in small: all pixels in a row, one directory."""
    pages = noise((5, 11, 19), np.uint16)
    note = "ImageJ=1.54f\nimages=5\nslices=5\n"
    data = by_tifffile(pages[0], byteorder=">", description=note, metadata=None)
    with tifffile.TiffFile(io.BytesIO(data)) as tif:
        start = tif.pages[0].dataoffsets[0]
    path = tmp_path / "large.tif"
    path.write_bytes(data[:start] + pages.astype(">u2").tobytes())
    np.testing.assert_array_equal(np.stack(list(read_stack(path))), pages)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UnreadableFrameError, match=r"large\.tif: claims 5 images, but holds 4"):
        read_stack(path)
    path.write_bytes(data)  # one page, taken out of the stack
    assert len(probe_files([path]).frames) == 1


@pytest.mark.parametrize("flavour", ["imagej", "ome"])
@pytest.mark.parametrize("axes", ["ZCYX", "TZYX"])
def test_pages_that_are_not_focus_steps(flavour, axes, tmp_path):
    pages = noise((4, 2, 11, 19))
    tifffile.imwrite(tmp_path / "a.tif", pages, metadata={"axes": axes}, **{flavour: True})
    with pytest.raises(AmbiguousInputError, match="2 channels" if "C" in axes else "4 times"):
        read_stack(tmp_path)


def test_ome_with_rgb_pages_is_fine(tmp_path):
    pages = noise((4, 11, 19, 3))
    tifffile.imwrite(tmp_path / "a.tif", pages, ome=True, metadata={"axes": "ZYXS"})
    assert read_stack(tmp_path).channels == 3


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint32, np.complex64])
def test_unsupported_numbers(dtype, tmp_path):
    pixels = np.ones((11, 19), dtype)
    with pytest.raises(UnreadableFrameError, match=f"one: has pixels of type {np.dtype(dtype)}"):
        frame_of(tmp_path, by_tifffile(pixels))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (by_tifffile(noise((16, 16)), compression="jpeg2000"), "JPEG2000"),
        (by_tifffile(noise((11, 19, 5)), photometric="rgb", planarconfig="contig"), "5 channels"),
        (by_tifffile(noise((11, 19, 4)), photometric="separated"), "SEPARATED"),
        (by_tifffile(noise((11, 19), np.float32), photometric="miniswhite"), "white"),
        (by_tifffile(noise((16, 32, 32)), volumetric=True, tile=(16, 16, 16)), "volume"),
        (by_tifffile(noise((11, 19)) >> 3, bitspersample=5), "5-bit"),
        (by_tifffile(noise((11, 19)), extratags=[(50706, "B", 4, (1, 4, 0, 0), True)]), "LibRaw"),
    ],
)
def test_unsupported_kinds_of_tiff(data, what, tmp_path):
    with pytest.raises(UnreadableFrameError, match=what):
        frame_of(tmp_path, data)


def test_twelve_bit_jpeg_is_unsupported(tmp_path):
    data = bytearray(by_pillow(smooth(), "JPEG"))
    data[data.index(b"\xff\xc0") + 4] = 12
    with pytest.raises(UnreadableFrameError, match="12 bits"):
        frame_of(tmp_path, bytes(data))


def test_bmp_that_pillow_would_misread(tmp_path):
    """Eight bits with a palette of black and white: Pillow takes it for one bit."""
    data = bytearray(by_pillow(noise((8, 8)), "BMP"))
    struct.pack_into("<I", data, 46, 2)
    data[54:62] = b"\0\0\0\0\xff\xff\xff\0"
    with pytest.raises(UnreadableFrameError, match="8 bits with a palette"):
        frame_of(tmp_path, bytes(data))


def test_too_large_double_is_reported_as_infinite(tmp_path):
    pixels = np.full((11, 19), 1e300)
    with pytest.raises(NotFiniteError):
        read_stack(write(tmp_path, by_tifffile(pixels))).read(0)


def test_tolerance_set_in_pillow_does_not_matter(tmp_path, monkeypatch):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    data = by_pillow(noise((64, 64, 3)), "JPEG")
    for cut in (len(data) // 2, len(data) - 2, len(data) - 1):
        with pytest.raises(UnreadableFrameError):
            frame_of(tmp_path, data[:cut]).read()
    data = SAMPLES["BMP-rle8"].data
    with pytest.raises(UnreadableFrameError):
        frame_of(tmp_path, data[:-20]).read()
