"""The streamed front end against `varfocus.curve.frame_pass.ContrastPass`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds, shapes, threads, windows

from varfocus import engine
from varfocus.contrast import box_mean, mlap
from varfocus.curve import frame_pass as front
from varfocus.errors import ParameterError

TYPES = {np.uint8: 1 / 255, np.uint16: 1 / 65535, np.float32: 1.0}


def frames_of(seed, n, shape, channels, dtype):
    rng = np.random.default_rng(seed)
    full = (n, *shape) if channels == 0 else (n, *shape, channels)
    values = rng.random(full) * rng.random((n, 1, 1) if channels == 0 else (n, 1, 1, 1))
    if dtype == np.float32:
        return values.astype(np.float32)
    return np.rint(values * np.iinfo(dtype).max).astype(dtype)


def strided(frames, kind):
    """Return equal frames that lie differently in memory."""
    if kind == "rows apart":
        wide = np.zeros((*frames.shape[:2], frames.shape[2] + 3, *frames.shape[3:]), frames.dtype)
        wide[:, :, : frames.shape[2]] = frames
        return wide[:, :, : frames.shape[2]]
    if kind == "upside down":
        return np.ascontiguousarray(frames[:, ::-1])[:, ::-1]
    if kind == "mirrored":
        return np.ascontiguousarray(frames[:, :, ::-1])[:, :, ::-1]
    if kind == "transposed":
        return np.ascontiguousarray(frames.swapaxes(1, 2)).swapaxes(1, 2)
    if kind == "channels first" and frames.ndim == 4:
        return np.ascontiguousarray(np.moveaxis(frames, 3, 1)).transpose(0, 2, 3, 1)
    return frames


KINDS = ["plain", "rows apart", "upside down", "mirrored", "transposed", "channels first"]


@given(
    seeds,
    shapes,
    st.integers(3, 20),
    st.sampled_from([0, 1, 3, 4]),
    st.sampled_from(list(TYPES)),
    st.sampled_from(KINDS),
    windows,
    threads,
)
def test_front_end_equals_the_array_code(
    seed, shape, n, channels, dtype, kind, window, thread_count
):
    frames = strided(frames_of(seed, n, shape, channels, dtype), kind)
    degree, scale = min(8, (n + 1) // 2), TYPES[dtype]
    reference = front.ContrastPass(n, degree, window, scale)
    fast = front.contrast_pass(frames[0], n, degree, window, scale)
    assert type(fast).__module__ == "varfocus.curve.kernel_pass"
    with engine.use_threads(thread_count):
        for k, frame in enumerate(frames):
            fast.add(k, frame)
            with engine.switched_off():
                reference.add(k, frame)
    np.testing.assert_allclose(fast.peak, reference.peak, rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(fast.coefficients, reference.coefficients, rtol=1e-5, atol=3e-6)
    # Where two frames are as good as equal, either may win.
    with engine.switched_off():
        values = np.stack([box_mean(_contrast(f, scale), window) for f in frames])
    chosen = np.take_along_axis(values, fast.index.astype(int)[None], axis=0)[0]
    assert (chosen >= values.max(axis=0) * (1 - 1e-5) - 1e-6).all()


def _contrast(frame, scale):
    return mlap(frame[..., :3].astype(np.float32) * np.float32(scale) if frame.ndim == 3
                else frame.astype(np.float32) * np.float32(scale))  # fmt: skip


def test_ties_stay_with_the_earlier_frame():
    frame = np.arange(60, dtype=np.uint8).reshape(6, 10) % 7
    fast = front.contrast_pass(frame, 12, 3, 3, 1 / 255)
    for k in range(12):
        fast.add(k, frame)
    assert not fast.index.any()


@pytest.mark.parametrize("dtype", TYPES)
def test_thread_count_does_not_change_a_bit(dtype):
    frames = frames_of(5, 11, (211, 77), 3, dtype)
    seen = []
    for count in (1, 2, 3, 4):
        fast = front.contrast_pass(frames[0], 11, 5, 15, TYPES[dtype])
        with engine.use_threads(count):
            for k, frame in enumerate(frames):
                fast.add(k, frame)
            seen.append((fast.coefficients, fast.peak, fast.index))
    for other in seen[1:]:
        for ours, first in zip(other, seen[0], strict=True):
            np.testing.assert_array_equal(ours, first)


def test_alpha_is_not_a_colour():
    frames = frames_of(1, 3, (4, 5), 4, np.uint8)
    opaque = frames.copy()
    opaque[..., 3] = 255
    results = []
    for stack in (frames, opaque, frames[..., :3], np.ascontiguousarray(frames[..., :3])):
        fast = front.contrast_pass(stack[0], 3, 2, 3, 1 / 255)
        for k, frame in enumerate(stack):
            fast.add(k, frame)
        results.append(fast.coefficients)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_frames_that_do_not_belong_are_refused():
    first = np.zeros((4, 5, 3), np.uint8)
    fast = front.contrast_pass(first, 3, 2, 3)
    fast.add(0, first)
    for wrong in (first[:3], first[..., 0], first.astype(np.uint16)):
        with pytest.raises(ParameterError, match="expected frames like the first"):
            fast.add(1, wrong)
    with pytest.raises(ParameterError, match="frame number 3"):
        fast.add(3, first)


@pytest.mark.parametrize(
    "frame",
    [
        np.zeros((4, 5), np.float64),
        np.zeros((4, 5, 2), np.uint8),
        np.zeros((0, 5), np.uint8),
        np.zeros((4, 5), ">u2"),
    ],
)
def test_what_the_kernels_do_not_know_goes_to_the_array_code(frame):
    assert type(front.contrast_pass(frame, 3, 2, 3)) is front.ContrastPass


def test_a_window_wider_than_the_kernels_accept_goes_to_the_array_code():
    assert type(front.contrast_pass(np.zeros((4, 5), np.uint8), 3, 2, 2001)) is front.ContrastPass


def test_the_array_code_is_used_when_the_engine_is_switched_off():
    with engine.switched_off():
        assert type(front.contrast_pass(np.zeros((4, 5), np.uint8), 3, 2, 3)) is front.ContrastPass
