"""The all-in-focus image: interpolation between frames, in their own number type."""

import numpy as np
import pytest

from varfocus.errors import NotFiniteError
from varfocus.fuse import fuse
from varfocus.stack import FocusStack

DTYPES = [np.uint8, np.uint16, np.float32]


def frames(rng, dtype, shape=(5, 6, 7)):
    if dtype == np.float32:
        return rng.normal(size=shape).astype(np.float32)
    return rng.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [(), (3,)])
def test_a_constant_index_picks_that_frame_bit_by_bit(rng, dtype, channels):
    images = frames(rng, dtype, (5, 6, 7, *channels))
    stack = FocusStack.from_array(images)
    for k in range(5):
        fused = fuse(stack, np.full((6, 7), k, np.float32))
        assert fused.dtype == dtype
        np.testing.assert_array_equal(fused, images[k])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_varying_index_picks_pixel_by_pixel(rng, dtype):
    images = frames(rng, dtype)
    index = rng.integers(0, 5, (6, 7))
    fused = fuse(FocusStack.from_array(images), index.astype(np.float32))
    np.testing.assert_array_equal(fused, np.take_along_axis(images, index[None], axis=0)[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_half_way_is_the_average(rng, dtype):
    images = frames(rng, dtype)
    fused = fuse(FocusStack.from_array(images), np.full((6, 7), 2.5, np.float32))
    mean = 0.5 * (images[2].astype(np.float64) + images[3])
    if dtype == np.float32:
        np.testing.assert_allclose(fused, mean, rtol=1e-6, atol=1e-7)
    else:
        assert np.abs(fused - mean).max() <= 0.5


def test_between_frames_the_weights_are_linear(rng):
    images = frames(rng, np.float32)
    fused = fuse(FocusStack.from_array(images), np.full((6, 7), 1.25, np.float32))
    np.testing.assert_allclose(fused, 0.75 * images[1] + 0.25 * images[2], rtol=1e-5, atol=1e-6)


def test_white_stays_white():
    images = np.full((3, 4, 5), 65535, np.uint16)
    index = np.linspace(0, 2, 20, dtype=np.float32).reshape(4, 5)
    np.testing.assert_array_equal(fuse(FocusStack.from_array(images), index), 65535)


def test_progress_and_bad_pixels(rng):
    images = frames(rng, np.float32)
    seen = []
    fuse(
        FocusStack.from_array(images),
        np.full((6, 7), 0.5, np.float32),
        lambda *step: seen.append(step),
    )
    assert seen == [("fusing", k, 5) for k in range(6)]
    images[1, 0, 0] = np.nan
    with pytest.raises(NotFiniteError, match="frame 1"):
        fuse(FocusStack.from_array(images), np.full((6, 7), 0.5, np.float32))
