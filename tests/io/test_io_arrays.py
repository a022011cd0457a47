"""Stacks in NumPy, Zarr and video files come back bit by bit."""

import itertools
import json
import pickle
import sys
import zipfile

import numpy as np
import pytest
import tifffile

from command_line import write_pictures
from extra_samples import write_video
from image_samples import noise
from varfocus.errors import (
    AmbiguousInputError,
    InputError,
    MissingExtraError,
    NoFramesError,
    ParameterError,
    UnreadableFrameError,
)
from varfocus.io import read_stack
from varfocus.units import PixelSize

SHAPES = [(5, 11, 19), (5, 11, 19, 1), (5, 11, 19, 3), (5, 11, 19, 4)]
DTYPES = [np.uint8, np.uint16, np.float32, np.float64, np.float16, np.bool_, ">u2"]


def pixels(shape=(5, 11, 19), dtype=np.uint16):
    if np.dtype(dtype) == np.bool_:
        return noise(shape) > 127
    if np.dtype(dtype).kind == "f":
        return (noise(shape, np.uint16) / 256).astype(dtype)
    return noise(shape, np.dtype(dtype).newbyteorder("=").type).astype(dtype)


def expected(array):
    """Return the frames as a stack in memory would show them."""
    array = array.astype(np.uint8) * 255 if array.dtype == np.bool_ else array
    if array.ndim == 4:
        array = array[..., :3] if array.shape[-1] > 2 else array[..., 0]
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def save_npy(path, array):
    np.save(path.with_suffix(".npy"), array)
    return path.with_suffix(".npy").rename(path)


def save_npz(path, array):
    np.savez(path.with_suffix(".npz"), frames=array, focus=np.arange(len(array)))
    return path.with_suffix(".npz").rename(path)


def save_compressed(path, array):
    np.savez_compressed(path.with_suffix(".npz"), frames=array)
    return path.with_suffix(".npz").rename(path)


def save_zarr(path, array):
    zarr = pytest.importorskip("zarr", reason="needs varfocus[zarr]")
    chunks = (2, 8, 8, *array.shape[3:])[: array.ndim]
    zarr.create_array(path, data=array, chunks=chunks)
    return path


WRITERS = [save_npy, save_npz, save_compressed, save_zarr]


@pytest.mark.parametrize("save", WRITERS)
@pytest.mark.parametrize(("shape", "dtype"), list(itertools.product(SHAPES, DTYPES)))
def test_arrays_are_exact(save, shape, dtype, tmp_path):
    array = pixels(shape, dtype)
    stack = read_stack(save(tmp_path / "stack.dat", array))  # whatever the name says
    frames = expected(array)
    assert (stack.dtype, len(stack)) == (frames.dtype.newbyteorder("="), 5)
    np.testing.assert_array_equal(np.stack(list(stack)), frames)
    np.testing.assert_array_equal(np.stack(list(stack.ahead())), frames)
    np.testing.assert_array_equal(np.stack(list(stack.reversed().ahead())), frames[::-1])


@pytest.mark.parametrize("save", WRITERS)
@pytest.mark.parametrize(
    "array",
    [pixels(dtype=np.int16), pixels((11, 19)), pixels((2, 3, 4, 11, 19)), pixels((5, 11, 19, 7))],
)
def test_what_is_no_stack(save, array, tmp_path):
    with pytest.raises(InputError):
        read_stack(
            save(tmp_path / "a", array) if array.ndim > 2 else save_npy(tmp_path / "a", array)
        )


@pytest.mark.parametrize("save", [save_npy, save_npz, save_compressed])
def test_half_an_array(save, tmp_path):
    path = save(tmp_path / "a", pixels())
    data = path.read_bytes()
    for end in (len(data) // 2, 100, 8):
        path.write_bytes(data[:end])
        with pytest.raises(UnreadableFrameError, match="a: "):
            list(read_stack(path))


class Malicious:
    def __reduce__(self):
        return (sys.exit, (17,))


@pytest.mark.parametrize("save", [save_npy, save_npz])
def test_pickles_are_never_loaded(save, tmp_path):
    array = np.empty((3, 4, 5), object)
    array[...] = Malicious()
    with pytest.raises(UnreadableFrameError, match="Python objects" if save is save_npy else "ZIP"):
        read_stack(save(tmp_path / "a", array))


def test_columns_first(tmp_path):
    np.save(tmp_path / "a.npy", np.asfortranarray(pixels()))
    with pytest.raises(UnreadableFrameError, match="ascontiguousarray"):
        read_stack(tmp_path / "a.npy")


def test_several_stacks_in_an_archive(tmp_path):
    left, right = pixels(), pixels((4, 7, 9))
    path = tmp_path / "a.npz"
    np.savez(path, left=left, right=right)
    np.testing.assert_array_equal(np.stack(list(read_stack(path, series="right"))), right)
    with pytest.raises(AmbiguousInputError, match=r"2 series: 0 left \(5 slices\), 1 right"):
        read_stack(path)
    with pytest.raises(ParameterError, match="channel 'red'"):
        read_stack(path, series="left", channel="red")


def test_arrays_in_a_folder_are_not_taken_for_frames(tmp_path):
    np.save(tmp_path / "truth.npy", pixels())
    with pytest.raises(NoFramesError, match="Sub-folders are not searched"):
        read_stack(tmp_path)


def test_other_zip_files(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("text", "words")
    with pytest.raises(UnreadableFrameError, match="ZIP without"):
        read_stack(tmp_path / "a.docx")


def test_pictures_count_more_than_what_lies_beside_them(tmp_path):
    frames = noise((3, 11, 19))
    write_pictures(tmp_path, frames)
    np.save(tmp_path / "other.npy", pixels())
    (tmp_path / "clip.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + b"\0" * 100)
    (tmp_path / "raw.cr2").write_bytes(b"II*\0\x10\0\0\0CR\x02\0")
    np.testing.assert_array_equal(np.stack(list(read_stack(tmp_path))), frames)


@pytest.mark.parametrize("kind", ["NPY", "NPZ", "Zarr", "video", "TIFF"])
def test_stacks_travel_to_other_processes(kind, tmp_path):
    frames, path = pixels((6, 16, 24), np.uint8), tmp_path / "a"
    if kind == "TIFF":
        tifffile.imwrite(path, frames, photometric="minisblack")
    else:
        write = {"NPY": save_npy, "NPZ": save_npz, "Zarr": save_zarr, "video": write_video}[kind]
        write(path, frames)
    stack = read_stack(path)
    assert stack.frames[0].format == kind
    stack.read(1)
    np.testing.assert_array_equal(np.stack(list(pickle.loads(pickle.dumps(stack)))), frames)


# OME-Zarr


def write_ome_zarr(path, array, axes, version, unit="micrometer", depth=1, **more):
    zarr = pytest.importorskip("zarr", reason="needs varfocus[zarr]")
    group = zarr.open_group(path, mode="w", zarr_format=2 if version == "0.4" else 3)
    group.create_array("0", data=array, chunks=(1,) * (array.ndim - 3) + (depth, 8, 8))
    group.create_array("1", data=array[..., ::2, ::2])
    scale = {"x": 0.5, "y": 0.25, "z": 2.0}
    multiscale = {
        "name": "image",
        "axes": [{"name": a} | ({"unit": unit} if a in scale else {}) for a in axes],
        "datasets": [
            {
                "path": level,
                "coordinateTransformations": [
                    {"type": "scale", "scale": [scale.get(a, 1.0) for a in axes]}
                ],
            }
            for level in "01"
        ],
    }
    ome = {"version": version, "multiscales": [multiscale]} | more
    group.attrs.update(ome if version == "0.4" else {"ome": ome})
    return path


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_ome_zarr(version, tmp_path):
    array = pixels((2, 3, 5, 11, 19))
    labels = {"omero": {"channels": [{"label": name} for name in ("a", "b", "c")]}}
    path = write_ome_zarr(tmp_path / "image", array, "tczyx", version, **labels)
    stack = read_stack(path, channel="b", time=1)
    np.testing.assert_array_equal(np.stack(list(stack.ahead())), array[1, 1])
    assert (stack.focus.tolist(), stack.unit) == ([0, 2, 4, 6, 8], "um")
    assert stack.pixel_size == PixelSize(0.5, 0.25, "um")
    assert (stack.focus_origin, stack.frames[0].format) == ("OME-Zarr scale", "Zarr")
    with pytest.raises(AmbiguousInputError, match="3 channels: 0 a, 1 b, 2 c"):
        read_stack(path, time=0)


@pytest.mark.parametrize("axes", ["zyx", "tyx"])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_chunks_over_several_steps(axes, depth, tmp_path):
    array = pixels()
    stack = read_stack(write_ome_zarr(tmp_path / "a", array, axes, "0.5", depth=depth))
    np.testing.assert_array_equal(np.stack(list(stack.ahead())), array)
    np.testing.assert_array_equal(np.stack(list(stack.reversed().ahead())), array[::-1])
    assert (stack.focus is None) == (axes == "tyx")


def test_damaged_zarr(tmp_path):
    path = write_ome_zarr(tmp_path / "image", pixels(), "zyx", "0.5")
    about = json.loads((path / "zarr.json").read_text())
    about["attributes"]["ome"]["multiscales"][0]["axes"].pop()
    (path / "zarr.json").write_text(json.dumps(about))
    with pytest.raises(UnreadableFrameError, match="OME-Zarr metadata"):
        read_stack(path)
    (path / "zarr.json").write_text("{")
    with pytest.raises(UnreadableFrameError, match="zarr"):
        read_stack(path)


# Video


@pytest.mark.parametrize(
    ("shape", "dtype", "codec", "pixel_format", "container"),
    [
        ((9, 16, 24), np.uint8, "ffv1", "gray", "matroska"),
        ((9, 16, 24), np.uint16, "ffv1", "gray16le", "matroska"),
        ((9, 16, 24, 3), np.uint8, "ffv1", "bgr0", "matroska"),
        ((9, 16, 24, 3), np.uint8, "png", "rgb24", "avi"),
        ((9, 16, 24, 3), np.uint8, "qtrle", "rgb24", "mov"),
    ],
)
def test_lossless_video_is_exact(shape, dtype, codec, pixel_format, container, tmp_path):
    frames = pixels(shape, dtype)
    path = write_video(tmp_path / "sweep", frames, codec, pixel_format, container)
    stack = read_stack(path)
    assert (stack.dtype, stack.frames[0].format) == (np.dtype(dtype), "video")
    np.testing.assert_array_equal(np.stack(list(stack.ahead())), frames)
    np.testing.assert_array_equal(np.stack(list(stack.reversed())), frames[::-1])
    np.testing.assert_array_equal(stack.read(2), frames[2])


def test_video_with_frames_that_depend_on_others(tmp_path):
    """Lossy, but in the right order: each frame has a brightness of its own."""
    levels = np.arange(40, 200, 10, dtype=np.uint8)
    frames = np.broadcast_to(levels[:, None, None, None], (len(levels), 32, 48, 3)).copy()
    path = write_video(tmp_path / "a.mp4", frames, "mpeg4", "yuv420p", "mp4")
    stack = read_stack(path)
    assert len(stack) == len(levels)
    means = [frame.mean() for frame in stack.ahead()]
    np.testing.assert_allclose(means, levels, atol=4)


def test_half_a_video(tmp_path):
    path = write_video(tmp_path / "a.mkv", pixels((9, 16, 24), np.uint8))
    data = path.read_bytes()
    for end in (len(data) // 50, 20):
        path.write_bytes(data[:end])
        with pytest.raises(UnreadableFrameError, match=r"a\.mkv"):
            list(read_stack(path))


@pytest.mark.parametrize(
    ("head", "module", "extra"),
    [
        (b"\x1aE\xdf\xa3" + b"\0" * 99, "av", "video"),
        (b"ZISRAWFILE" + b"\0" * 99, "czifile", "microscopy"),
        (b"\xda\xce\xbe\n" + b"\0" * 99, "nd2", "microscopy"),
        (b"\x70\0\0\0\x10\0\0\0\x2a" + b"\0" * 99, "liffile", "microscopy"),
    ],
)
def test_without_the_library_its_extra_is_named(head, module, extra, tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(head)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'pip install "varfocus\[{extra}\]"'):
        read_stack(tmp_path / "a")


def test_zarr_without_its_library(tmp_path, monkeypatch):
    (tmp_path / "zarr.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(MissingExtraError, match=r'pip install "varfocus\[zarr\]"'):
        read_stack(tmp_path)
