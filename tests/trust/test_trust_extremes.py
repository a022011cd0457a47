"""The smallest frames, and focus positions of any size: a result that can be used, or words."""

import numpy as np
import pytest

import varfocus
from varfocus.errors import FocusPositionsError, NoContrastError, ParameterError
from varfocus.stack import FINEST_STEP, FocusStack
from varfocus.units import LENGTHS, PixelSize, parse_length

SIZES = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (1, 9), (9, 1), (5, 1, 3), (1, 1, 3)]
LONG = [(2, 1200), (1200, 1), (1, 1300), (700, 2, 3)]
pytestmark = pytest.mark.filterwarnings("ignore::varfocus.errors.VarfocusWarning")


def used(result, folder):
    """Make sure that a result is finite and, where it matters, that it can be saved and read."""
    assert np.isfinite(result.depth).all()
    assert (result.confidence >= 0).all()
    assert (result.confidence <= 1).all()
    assert result.fused.shape[:2] == result.depth.shape
    if folder is None:
        return
    result.save(folder)
    saved = varfocus.load_result(folder)
    assert saved.depth.tobytes() == result.depth.tobytes()
    assert saved.fused.shape == result.fused.shape


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
@pytest.mark.parametrize("method", ["robust", "paper", "classic"])
@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_the_smallest_frames(shape, method, dtype, rng, tmp_path):
    frames = rng.random((4, *shape))
    frames = frames.astype("f4") if dtype == "f4" else (frames * np.iinfo(dtype).max).astype(dtype)
    try:
        result = varfocus.reconstruct(frames, method)
    except NoContrastError:
        assert shape[:2] == (1, 1)  # a pixel has no neighbours to differ from
    else:
        used(result, tmp_path / "out" if method == "classic" else None)  # what is written is alike


@pytest.mark.parametrize("shape", LONG, ids=str)
def test_the_narrowest_frames(shape, rng, tmp_path):
    frames = (rng.random((3, *shape)) * 255).astype(np.uint8)
    used(varfocus.reconstruct(frames, "classic"), tmp_path / "out")


@pytest.mark.parametrize("method", ["robust", "paper", "classic"])
@pytest.mark.parametrize("crop", ["3,3,1,1", "0,0,1,2", "19,19,1,1", "0,5,20,1"])
def test_the_smallest_rectangles(crop, method, rng, tmp_path):
    frames = (rng.random((4, 20, 20)) * 255).astype(np.uint8)
    try:
        result = varfocus.reconstruct(frames, method, crop=crop)
    except NoContrastError:
        assert crop.endswith(",1,1")
    else:
        used(result, tmp_path / "out" if method == "classic" else None)


LAYOUTS = {
    "columns first": np.asfortranarray,
    "upside down": lambda a: a[:, ::-1].copy()[:, ::-1],
    "mirrored": lambda a: a[:, :, ::-1].copy()[:, :, ::-1],
    "every other": lambda a: np.repeat(np.repeat(a, 2, axis=1), 2, axis=2)[:, ::2, ::2],
    "broadcast": lambda a: np.broadcast_to(a[:, :1], a.shape),
    "transposed": lambda a: np.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2),
}


@pytest.mark.parametrize("method", ["robust", "paper", "classic"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_layout_in_memory_changes_anything(layout, method, rng):
    """Down to one pixel, where an axis of length 1 may have any stride."""
    images = (rng.random((4, 9, 8)) * 255).astype(np.uint8)
    odd = LAYOUTS[layout](images)
    plain = odd.copy()
    for crop in (None, "0,0,1,1", "2,1,1,5", "2,1,5,1"):
        made = []
        for frames in (odd, plain):
            try:
                made.append(varfocus.reconstruct(frames, method, crop=crop).index.tobytes())
            except NoContrastError:
                made.append(b"nothing")
        assert made[0] == made[1], crop


@pytest.mark.parametrize("largest", [LENGTHS.low, 1e-6, 1.0, 1e6, LENGTHS.high])
def test_focus_positions_up_to_their_bounds(largest, rng, tmp_path):
    frames = (rng.random((4, 8, 9)) * 255).astype(np.uint8)
    for positions in ([0.25, 0.5, 0.75, 1.0], [-0.1, -0.5, -0.75, -1.0], [0.0, 1e-6, 0.5, 1.0]):
        focus = largest * np.array(positions)
        result = varfocus.reconstruct(frames, "robust", focus=focus)
        slack = 1e-6 * largest
        assert (result.depth >= focus.min() - slack).all()
        assert (result.depth <= focus.max() + slack).all()
        assert len(np.unique(focus.astype(np.float32))) == 4  # a depth map tells them apart
    used(result, tmp_path / "out")


@pytest.mark.parametrize("largest", [1e300, 1e30, 1.1e12, 0.9e-12, 1e-300, 5e-324, np.inf])
def test_focus_positions_beyond_their_bounds(largest, rng):
    frames = (rng.random((3, 8, 9)) * 255).astype(np.uint8)
    with np.errstate(invalid="ignore"), pytest.raises(FocusPositionsError) as caught:
        varfocus.reconstruct(frames, focus=[0.0, 0.5 * largest, largest])
    assert caught.value.expected.startswith("expected")


def test_steps_that_a_depth_map_cannot_hold(rng):
    frames = (rng.random((3, 8, 9)) * 255).astype(np.uint8)
    FocusStack.from_array(frames, [1e6, 1e6 + 1, 1e6 + 2])
    for step in (0.9 * FINEST_STEP, 1e-9, 1e-15):
        with pytest.raises(FocusPositionsError, match="differ by"):
            FocusStack.from_array(frames, [1.0 - step, 1.0, 2.0])


@pytest.mark.parametrize("value", ["1e300", "1e13", "1e-13", "1e-300", "inf", "nan", "1" * 400])
def test_lengths_have_bounds(value):
    for sign in ("", "-"):
        with pytest.raises(ParameterError):
            parse_length(f"{sign}{value}um")
    with pytest.raises(ParameterError):
        PixelSize(float(value), 1.0, "um")
