"""A window of a frame is what the whole frame has there, whatever the file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tifffile

from varfocus.io import read_stack
from varfocus.stack import FocusStack, WindowedFrame

WINDOWS = [
    (slice(0, 7), slice(0, 9)),
    (slice(30, 53), slice(17, 70)),
    (slice(60, 61), slice(0, 90)),
    (slice(0, 61), slice(89, 90)),
]
TIFFS: dict[str, dict[str, Any]] = {
    "tiles": {"tile": (16, 32)},
    "deflated tiles": {"tile": (16, 32), "compression": "zlib", "predictor": True},
    "jpeg tiles": {"tile": (32, 32), "compression": "jpeg"},
    "strips": {"rowsperstrip": 8, "compression": "lzw"},
    "one strip": {},
    "big-endian": {"byteorder": ">"},
    "bigtiff": {"bigtiff": True, "tile": (16, 16)},
}


@pytest.mark.parametrize("kind", TIFFS)
@pytest.mark.parametrize("shape", [(3, 61, 90), (3, 61, 90, 3)], ids=["grey", "colour"])
def test_window_of_a_tiff(tmp_path, rng, kind, shape):
    dtype = np.uint8 if "jpeg" in kind else np.uint16
    frames = rng.integers(0, 255, shape).astype(dtype)
    photometric = "rgb" if len(shape) == 4 else "minisblack"
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, frames, photometric=photometric, metadata=None, **TIFFS[kind])
    stack = read_stack(path)
    assert stack.windowed
    _same_everywhere(stack)


def test_window_of_a_zarr(tmp_path, rng):
    zarr = pytest.importorskip("zarr")
    frames = rng.integers(0, 2**16, (5, 61, 90)).astype(np.uint16)
    zarr.save_array(tmp_path / "stack.zarr", frames)
    stack = read_stack(tmp_path / "stack.zarr")
    assert stack.windowed
    _same_everywhere(stack)


def test_chunks_over_several_frames(tmp_path, rng):
    zarr = pytest.importorskip("zarr")
    frames = rng.random((5, 61, 90), np.float32)
    array = zarr.create_array(
        tmp_path / "s.zarr", shape=frames.shape, chunks=(2, 16, 16), dtype="f4"
    )
    array[:] = frames
    _same_everywhere(read_stack(tmp_path / "s.zarr"))


def test_window_of_what_can_only_be_decoded_whole(tmp_path, rng):
    from PIL import Image

    for k in range(3):
        Image.fromarray(rng.integers(0, 255, (61, 90)).astype(np.uint8)).save(tmp_path / f"{k}.png")
    stack = read_stack(tmp_path)
    assert not stack.windowed
    _same_everywhere(stack)


def test_turned_frames_are_decoded_whole(tmp_path, rng):
    frames = rng.integers(0, 255, (3, 61, 90)).astype(np.uint8)
    turned = [(274, "H", 1, 6, False)]
    tifffile.imwrite(
        tmp_path / "s.tif",
        frames,
        tile=(16, 16),
        metadata=None,
        extratags=turned,
        photometric="minisblack",
    )
    stack = read_stack(tmp_path / "s.tif")
    assert stack.shape == (90, 61)
    assert not stack.windowed
    part = stack.window(slice(80, 90), slice(3, 61)).read(1)
    np.testing.assert_array_equal(part, stack.read(1)[80:90, 3:61])


def test_a_window_decodes_only_what_it_touches(tmp_path, rng):
    """All tiles but one are damaged after the file was looked at."""
    path = tmp_path / "stack.tif"
    frames = rng.integers(0, 255, (3, 64, 64)).astype(np.uint8)
    tifffile.imwrite(
        path, frames, tile=(16, 16), compression="zlib", metadata=None, photometric="minisblack"
    )
    stack = read_stack(path)
    with tifffile.TiffFile(path) as tif:
        page = tif.pages[0]
        keep = page.dataoffsets[5], page.databytecounts[5]
        spoil = zip(page.dataoffsets, page.databytecounts, strict=True)
    content = bytearray(path.read_bytes())
    for offset, count in spoil:
        if offset != keep[0]:
            content[offset : offset + count] = bytes(count)
    path.write_bytes(content)
    part = stack.window(slice(16, 32), slice(16, 32)).read(0)
    np.testing.assert_array_equal(part, frames[0, 16:32, 16:32])


def test_frames_beyond_the_limit_open_if_they_come_in_parts(tmp_path):
    """900 megapixels of which no chunk was ever written."""
    from varfocus.errors import TooLargeError

    zarr = pytest.importorskip("zarr")
    zarr.create_array(
        tmp_path / "m.zarr", shape=(3, 30_000, 30_000), chunks=(1, 1024, 1024), dtype="u1"
    )
    stack = read_stack(tmp_path / "m.zarr")
    assert stack.shape == (30_000, 30_000)
    assert stack.window(slice(29_990, 30_000), slice(0, 5)).read(2).shape == (10, 5)
    with pytest.raises(TooLargeError, match="30000×30000"):
        stack.read(0)


def _same_everywhere(stack: FocusStack) -> None:
    for rows, columns in WINDOWS:
        part = stack.window(rows, columns)
        assert part.shape == (rows.stop - rows.start, columns.stop - columns.start)
        for k, frame in enumerate(part.ahead()):
            np.testing.assert_array_equal(frame, stack.read(k)[rows, columns])
    assert all(isinstance(frame, WindowedFrame) for frame in stack.frames)
