"""Microscope files: LIF and CZI written here byte by byte, ND2 by the library's own objects."""

import pickle
from types import MappingProxyType

import numpy as np
import pytest

from extra_samples import write_czi, write_lif
from image_samples import noise
from varfocus.errors import AmbiguousInputError, UnreadableFrameError
from varfocus.io import read_stack
from varfocus.units import PixelSize

T, Z, C, Y, X = 2, 5, 3, 11, 19
STEP, PIXEL = 2.0, PixelSize(0.5, 0.25, "um")


def check(path, array):
    """A stack of array (T, Z, C, Y, X) comes back exactly, with its sizes, and on threads."""
    stack = read_stack(path, channel=1, time=1)
    np.testing.assert_array_equal(np.stack(list(stack)), array[1, :, 1])
    np.testing.assert_array_equal(np.stack(list(stack.ahead())), array[1, :, 1])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(stack)).read(3), array[1, 3, 1])
    assert stack.focus == pytest.approx(STEP * np.arange(Z))
    assert stack.unit == "um"
    assert (stack.pixel_size.x, stack.pixel_size.y) == pytest.approx((PIXEL.x, PIXEL.y))
    with pytest.raises(AmbiguousInputError, match="3 channels"):
        read_stack(path, time=0)
    with pytest.raises(AmbiguousInputError, match="2 times"):
        read_stack(path, channel=0)
    return stack


def check_truncated(path, ends):
    data = path.read_bytes()
    for end in ends:
        path.write_bytes(data[: int(end * len(data))])
        with pytest.raises(UnreadableFrameError, match=path.name):
            list(read_stack(path, channel=0, time=0))


def test_lif(tmp_path):
    pytest.importorskip("liffile", reason="needs varfocus[microscopy]")
    array = noise((T, Z, C, Y, X), np.uint16)
    path = write_lif(tmp_path / "a.bin", {"overview": array[:1, :1, :1], "sample": array})
    assert check(path, array).focus_origin == "LIF dimensions"
    check_truncated(path, [0.01, 0.5])


def test_lif_with_several_images(tmp_path):
    pytest.importorskip("liffile", reason="needs varfocus[microscopy]")
    left, right = noise((1, Z, 1, Y, X)), noise((1, 4, 1, Y, X))[..., ::-1]
    path = write_lif(tmp_path / "a.lif", {"left": left, "right": right})
    stack = read_stack(path, series="right")
    np.testing.assert_array_equal(np.stack(list(stack)), right[0, :, 0])
    with pytest.raises(AmbiguousInputError, match=r"2 series: 0 left \(5 slices\), 1 right"):
        read_stack(path)


def test_czi_with_tiles(tmp_path):
    """Each plane is two tiles that lie anywhere on the stage."""
    pytest.importorskip("czifile", reason="needs varfocus[microscopy]")
    array = noise((T, Z, C, Y, X), np.uint16)
    blocks = []
    for t, z, c in np.ndindex(T, Z, C):
        for tile, (left, right) in enumerate([(0, 8), (8, X)]):
            where = [("X", left - 40, right - left), ("Y", 100, Y), ("C", c, 1), ("Z", z, 1)]
            where += [("T", t, 1), ("S", 0, 1), ("M", tile, 1)]
            blocks.append((where, np.ascontiguousarray(array[t, z, c, :, left:right])))
    path = write_czi(tmp_path / "a.bin", blocks, 1)
    assert check(path, array).focus_origin == "CZI scaling"
    np.testing.assert_array_equal(read_stack(path, channel="blue", time=0).read(2), array[0, 2, 2])
    check_truncated(path, [0.001, 0.01, 0.5])


def test_czi_in_colour(tmp_path):
    pytest.importorskip("czifile", reason="needs varfocus[microscopy]")
    array = noise((Z, Y, X, 3))
    blocks = [
        ([("X", 0, X), ("Y", 0, Y), ("Z", z, 1), ("C", 0, 1)], array[z, ..., ::-1].copy())
        for z in range(Z)
    ]
    stack = read_stack(write_czi(tmp_path / "a.czi", blocks, 3))
    np.testing.assert_array_equal(np.stack(list(stack.ahead())), array)


# ND2: nobody but Nikon writes it, so the library's objects are filled here


def nd2_metadata(structures):
    volume = structures.Volume(
        axesCalibrated=(True, True, True),
        axesCalibration=(PIXEL.x, PIXEL.y, STEP),
        axesInterpretation=("distance",) * 3,
        bitsPerComponentInMemory=16,
        bitsPerComponentSignificant=16,
        cameraTransformationMatrix=(1.0, 0.0, 0.0, 1.0),
        componentCount=1,
        componentDataType="unsigned",
        voxelCount=(X, Y, Z),
    )
    names = ["red", "green", "blue"]
    return structures.Metadata(
        channels=[
            structures.Channel(
                channel=structures.ChannelMeta(name=name, index=k, color=None),
                loops=None,
                microscope=None,
                volume=volume,
            )
            for k, name in enumerate(names)
        ]
    )


def test_nd2(tmp_path, monkeypatch):
    nd2 = pytest.importorskip("nd2", reason="needs varfocus[microscopy]")
    array = noise((T, Z, C, Y, X), np.uint16)
    used = ("sizes", "dtype", "loop_indices", "metadata", "read_frame", "__enter__", "__exit__")
    assert all(hasattr(nd2.ND2File, name) for name in used)

    class File:
        """What `nd2.ND2File` shows of a file with these pixels."""

        sizes = MappingProxyType({"T": T, "Z": Z, "C": C, "Y": Y, "X": X})
        dtype = array.dtype
        loop_indices = tuple({"T": t, "Z": z} for t, z in np.ndindex(T, Z))
        metadata = nd2_metadata(nd2.structures)

        def __init__(self, path):
            assert path.read_bytes().startswith(b"\xda\xce\xbe\n")

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def read_frame(self, k):
            return array.reshape(T * Z, C, Y, X)[k]

    path = tmp_path / "a.nd2"
    path.write_bytes(b"\xda\xce\xbe\n" + b"\0" * 100)
    with pytest.raises(UnreadableFrameError, match=r"a\.nd2: cannot be decoded \(nd2"):
        read_stack(path)
    monkeypatch.setattr(nd2, "ND2File", File)
    assert check(path, array).focus_origin == "ND2 z-calibration"
    np.testing.assert_array_equal(read_stack(path, channel="blue", time=0).read(2), array[0, 2, 2])
