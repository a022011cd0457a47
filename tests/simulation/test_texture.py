"""The built-in texture offers every window something to focus on."""

import numpy as np
import pytest
from scipy import ndimage

from varfocus.simulation import make_texture


def modified_laplacian(image: np.ndarray) -> np.ndarray:
    return sum(
        np.abs(ndimage.correlate1d(image, [1.0, -2.0, 1.0], axis=axis, mode="nearest"))
        for axis in (0, 1)
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_contrast_is_that_of_a_good_print(seed: int) -> None:
    texture = make_texture((200, 200), seed)
    contrast = modified_laplacian(texture)
    # Pertuz's rings: median .18, and .15 to .18 in 9×9 windows.
    assert np.median(contrast) == pytest.approx(0.18, abs=0.03)
    windows = ndimage.uniform_filter(contrast, 9)
    weak, typical = np.quantile(windows, [0.01, 0.5])
    assert 0.03 < weak < 0.5 * typical
    assert texture.min() >= 0
    assert texture.max() <= 1


def test_detail_at_all_scales() -> None:
    texture = make_texture((256, 256), 0)
    previous = texture
    for sigma in (1, 2, 4, 8):
        smooth = ndimage.gaussian_filter(texture, sigma)
        assert (previous - smooth).std() > 0.02
        previous = smooth


def test_colour_and_determinism() -> None:
    colour = make_texture((30, 40), 3, colour=True)
    assert colour.shape == (30, 40, 3)
    assert colour.dtype == np.float32
    assert np.ptp(colour, axis=2).mean() > 0.1
    assert np.array_equal(colour, make_texture((30, 40), 3, colour=True))
    assert not np.array_equal(colour, make_texture((30, 40), 4, colour=True))


@pytest.mark.parametrize("shape", [(2, 2), (3, 50)])
def test_small_sizes(shape: tuple[int, int]) -> None:
    assert np.isfinite(make_texture(shape, 0, colour=True)).all()


def test_inks_differ() -> None:
    means = [make_texture((40, 40), 0, colour=True, ink=k).mean(axis=(0, 1)) for k in range(6)]
    gaps = [np.abs(a - b).max() for i, a in enumerate(means) for b in means[:i]]
    assert min(gaps) > 0.03
