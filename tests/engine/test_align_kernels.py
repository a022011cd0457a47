"""The kernels of the alignment do what the array code says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from varfocus import engine
from varfocus.align.cells import EDGE, feature_products
from varfocus.align.warp import shrink


def pairs(count, height, width, seed):
    """Smooth images, and the same with another blur and other light."""
    rng = np.random.default_rng(seed)
    fixed = ndimage.gaussian_filter(rng.random((count, height, width)), (0, 1, 1))
    moving = 0.98 * ndimage.gaussian_filter(fixed, (0, 0.6, 0.6)) + 0.01
    return fixed.astype(np.float32), moving.astype(np.float32)


@given(
    st.integers(1, 3),
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(1, 17),
    st.integers(1, 3),
    st.integers(0, 99),
)
def test_products_of_cells(count, taller, wider, side, threads, seed):
    least = side + 2 * EDGE
    F, M = pairs(count, least + taller, least + wider, seed)
    with engine.switched_off():
        expected = feature_products(F, M, side)
    with engine.use_threads(threads):
        found = feature_products(F, M, side)
    assert found.shape == expected.shape
    # Where a feature is the same everywhere, only rounding remains.
    size = np.sqrt(np.einsum("qmaa->qma", expected)) + 1e-6
    np.testing.assert_allclose(
        found / (size[..., None] * size[..., None, :]),
        expected / (size[..., None] * size[..., None, :]),
        atol=1e-4,
    )


@pytest.mark.parametrize("factor", [1, 2, 3, 7])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_block_means(factor, channels, dtype):
    frame = (255 * np.random.default_rng(factor).random((29, 37, channels))).astype(dtype)
    with engine.switched_off():
        expected = shrink(frame, factor, 1 / 255)
    np.testing.assert_allclose(shrink(frame, factor, 1 / 255), expected, rtol=3e-7)


def test_bad_cells_are_refused_by_the_kernel_itself():
    F, M = pairs(2, 20, 24, 0)
    out = np.empty((2, 4, 8, 8))
    engine.kernels.cell_products(F, M, 8, out, 1)
    for arguments in (
        (F, M[:1], 8, out, 1),
        (F, M, 0, out, 1),
        (F, M, 17, out, 1),
        (F, M, 8, out[:, :3].copy(), 1),
        (F, M, 8, out, 0),
        (F[:, :4].copy(), M[:, :4].copy(), 8, out, 1),
    ):
        with pytest.raises(ValueError, match="received"):
            engine.kernels.cell_products(*arguments)
