"""The kernels of the fusion do what the array code says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from varfocus import engine
from varfocus.fuse import fuse, pyramid
from varfocus.simulation import simulate
from varfocus.stack import FocusStack

SIDES = st.integers(1, 41)


@given(SIDES, SIDES, st.sampled_from([1, 3]), st.integers(1, 3), st.integers(0, 99))
def test_pyramid(height, width, channels, threads, seed):
    image = np.random.default_rng(seed).normal(size=(height, width, channels)).astype(np.float32)
    with engine.switched_off():
        small = pyramid.reduce(image)
        large = image - pyramid.expand(small, image.shape)
    with engine.use_threads(threads):
        np.testing.assert_allclose(pyramid.reduce(image), small, atol=1e-6)
        pyramid.add_expanded(image, small, -1.0)
    np.testing.assert_allclose(image, large, atol=2e-6)


@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
def test_whole_fusion(colour, threads):
    made = simulate("wire", shape=(67, 90), n=7, colour=colour, dtype="float32")
    stack = FocusStack.from_array(made.frames)
    with engine.switched_off():
        expected = fuse(stack, made.truth_index)
    with engine.use_threads(threads):
        found = fuse(stack, made.truth_index)
    np.testing.assert_allclose(found.image, expected.image, atol=1e-4)
    assert (found.source == expected.source).mean() > 0.999


def test_bad_arguments_are_refused_by_the_kernels_themselves():
    image = np.zeros((4, 6, 3), np.float32)
    for coarse in (np.zeros((2, 2, 3), np.float32), np.zeros((2, 3, 1), np.float32)):
        with pytest.raises(ValueError, match="received coarse"):
            engine.kernels.reduce(image, coarse, 1)
        with pytest.raises(ValueError, match="received coarse"):
            engine.kernels.add_expanded(coarse, image, 1.0, 1)
    flat, whole = np.zeros((4, 6), np.float32), np.zeros((4, 6), np.uint16)
    arrays = [
        image,
        flat,
        whole,
        whole,
        image.copy(),
        image.copy(),
        flat.copy(),
        flat.copy(),
        whole,
    ]
    for k in range(1, len(arrays)):
        wrong = [*arrays[:k], arrays[k][:3], *arrays[k + 1 :]]
        with pytest.raises(ValueError, match="received"):
            engine.kernels.fusion_level(*wrong[:2], 0, 1.0, *wrong[2:], 1)
    with pytest.raises(ValueError, match="frame number"):
        engine.kernels.fusion_level(*arrays[:2], -1, 1.0, *arrays[2:], 1)
