"""Camera RAW: every frame developed alike. The files are DNG, made here."""

import sys

import numpy as np
import pytest

from extra_samples import patches, write_dng
from varfocus.errors import MissingExtraError, UnreadableFrameError
from varfocus.io import read_stack


def linear(pixels):
    """Undo the tone curve of BT.709."""
    v = pixels / 65535
    return np.where(v < 0.081, v / 4.5, ((v + 0.099) / 1.099) ** (1 / 0.45))


def test_neither_brightness_nor_balance_follow_the_frame(tmp_path):
    pytest.importorskip("rawpy", reason="needs varfocus[raw]")
    write_dng(tmp_path / "1.dng", patches())
    write_dng(tmp_path / "2.dng", patches(), neutral=(0.5, 1.0, 0.4))
    write_dng(tmp_path / "3.dng", patches(2000, 8000))
    stack = read_stack(tmp_path)
    assert (stack.channels, stack.dtype, stack.frames[0].format) == (3, np.uint16, "RAW")
    first, tinted, darker = (linear(frame) for frame in stack.ahead())
    np.testing.assert_array_equal(first, tinted)
    assert first[24, 48, 1] == pytest.approx(32000 / 65535, rel=2e-3)
    assert first[24, 16, 1] == pytest.approx(8000 / 65535, rel=2e-3)
    assert darker[24, 48] == pytest.approx(first[24, 16], rel=2e-3)


def test_frames_are_turned(tmp_path):
    pytest.importorskip("rawpy", reason="needs varfocus[raw]")
    for k, orientation in enumerate((6, 6, 8)):
        write_dng(tmp_path / f"{k}.dng", patches(), orientation=orientation)
    stack = read_stack(tmp_path)
    assert stack.shape == (64, 48)
    right, _, left = stack
    assert right[48, 24, 0] > right[16, 24, 0]
    assert left[48, 24, 0] < left[16, 24, 0]


def test_half_a_file(tmp_path):
    pytest.importorskip("rawpy", reason="needs varfocus[raw]")
    for k in range(3):
        write_dng(tmp_path / f"{k}.dng", patches())
    data = (tmp_path / "1.dng").read_bytes()
    (tmp_path / "1.dng").write_bytes(data[: len(data) // 2])
    with pytest.raises(UnreadableFrameError, match=r"1\.dng"):
        list(read_stack(tmp_path))


@pytest.mark.parametrize(
    "head",
    [b"II*\0\x10\0\0\0CR\x02\0", b"\0\0\0\x18ftypcrx ", b"FUJIFILMCCD-RAW ", b"IIRO\x08\0\0\0"],
)
def test_damaged_files_of_known_cameras(head, tmp_path):
    pytest.importorskip("rawpy", reason="needs varfocus[raw]")
    (tmp_path / "a").write_bytes(head + b"\0" * 100)
    with pytest.raises(UnreadableFrameError, match="LibRaw"):
        read_stack([tmp_path / "a"] * 3)


def test_without_the_library_its_extra_is_named(tmp_path, monkeypatch):
    write_dng(tmp_path / "1.dng", patches())
    monkeypatch.setitem(sys.modules, "rawpy", None)
    with pytest.raises(MissingExtraError, match=r'pip install "varfocus\[raw\]"'):
        read_stack(tmp_path)
