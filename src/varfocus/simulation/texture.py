"""A procedural texture in place of a printed one: detail at all scales, some areas weaker.

value = mean + amplitude · strength · tanh(blots + grain) + slow shading

*grain* is noise in half-octave bands from 1 to 16 pixels, evened out to the same contrast
everywhere; *blots* are ink spots with a firm edge, about 8 pixels from one to the next, which
survive wider blur; *strength* is close to 1 with smooth dips to about a quarter, so that some
areas are weak but none is empty.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from varfocus.simulation.checks import checked_seed, checked_shape

Array = NDArray[np.float32]
Colour = tuple[float, float, float]

_INKS: tuple[Colour, ...] = (
    (0.86, 0.30, 0.20),
    (0.22, 0.55, 0.42),
    (0.55, 0.33, 0.62),
    (0.95, 0.71, 0.22),
    (0.20, 0.42, 0.72),
    (0.60, 0.57, 0.50),
)
_TONES = (-0.12, 0.06, -0.06, 0.12, 0.0, 0.03)
"""What each ink adds to the brightness of a grey picture."""


def make_texture(
    shape: tuple[int, int], seed: int = 0, colour: bool = False, ink: int | None = None
) -> Array:
    """Return the built-in texture.

    Parameters
    ----------
    shape : (int, int)
        Height and width in pixels.
    seed : int
        Another seed gives another picture of the same kind; the same seed the same picture.
    colour : bool
        Whether the ink changes its hue over the picture.
    ink : int, optional
        Let one of six inks, or brightnesses of a grey picture, prevail: this one, counted
        cyclically. Surfaces of one scene then differ as real objects do.

    Returns
    -------
    ndarray of float32, shape (H, W) or (H, W, 3)
        Values in [0, 1].
    """
    shape = checked_shape(shape)
    rng = np.random.default_rng(checked_seed(seed))
    grey = _grey(shape, rng)
    if not colour:
        lift = 0.0 if ink is None else _TONES[ink % len(_TONES)]
        lifted: Array = np.clip(grey + np.float32(lift), 0, 1)
        return lifted
    hues = _hues(shape, rng)
    if ink is not None:
        hues = 0.3 * hues + 0.7 * np.array(_INKS[ink % len(_INKS)], dtype=np.float32)
    return tinted(grey, hues)


def band_noise(shape: tuple[int, int], scale: float, rng: np.random.Generator) -> Array:
    """Return noise of zero mean and unit variance with detail of about `scale` pixels.

    Parameters
    ----------
    shape : (int, int)
        Height and width in pixels.
    scale : float
        Standard deviation, in pixels, of the narrower of the two Gaussians whose difference
        selects the band.
    rng : numpy.random.Generator
        Where the noise comes from.

    Returns
    -------
    ndarray of float32, shape (H, W)
        The noise; zero where the picture is too small to hold any.
    """
    white = rng.standard_normal(shape, dtype=np.float32)
    band = ndimage.gaussian_filter(white, scale) - ndimage.gaussian_filter(white, 1.6 * scale)
    band -= band.mean()
    spread = float(band.std())
    result: Array = band / np.float32(spread) if spread > 1e-6 else np.zeros(shape, np.float32)
    return result


def tinted(grey: Array, ink: ArrayLike, paper: float = 0.93) -> Array:
    """Print a grey picture in colour: 0 becomes the ink darkened, 1 the paper.

    Parameters
    ----------
    grey : ndarray of float32, shape (H, W)
        Values in [0, 1].
    ink : array_like of shape (H, W, 3) or (3,)
        Colour of the mid-tones.
    paper : float
        Brightness of the paper.

    Returns
    -------
    ndarray of float32, shape (H, W, 3)
        Values in [0, 1].
    """
    g = np.clip(grey, 0, 1)[..., None]
    colour = np.asarray(ink, dtype=np.float32)
    dark = np.float32(0.18) * colour
    below = dark + (colour - dark) * np.minimum(2 * g, 1)
    printed: Array = below + (np.float32(paper) - colour) * np.maximum(2 * g - 1, 0)
    result: Array = np.clip(printed, 0, 1)
    return result


def _grey(shape: tuple[int, int], rng: np.random.Generator) -> Array:
    scales = 0.8 * np.sqrt(2.0) ** np.arange(9)
    grain = np.zeros(shape, dtype=np.float32)
    for scale in scales:
        grain += band_noise(shape, float(scale), rng)
    # Evening out is what keeps every 9×9 window informative, as in a real print.
    grain /= np.sqrt(ndimage.gaussian_filter(grain**2, 6.0)) + np.float32(1e-3)
    blots = np.tanh(2.5 * band_noise(shape, 1.9, rng))
    dips = ndimage.gaussian_filter(band_noise(shape, 14.0, rng), 2.0)
    strength = 1 - 0.75 / (1 + np.exp(-6 * (dips - 1.2)))
    shade = 0.04 * band_noise(shape, 30.0, rng)
    value = 0.45 + 0.36 * strength * np.tanh(0.8 * blots + 0.55 * grain) + shade
    result: Array = np.clip(value, 0.02, 0.98).astype(np.float32)
    return result


def _hues(shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Patches of the six inks, blended where they meet; shape (H, W, 3)."""
    fields = np.stack([band_noise(shape, 9.0, rng) for _ in _INKS])
    share = np.exp(3 * (fields - fields.max(axis=0)))
    share /= share.sum(axis=0)
    result: Array = np.einsum("khw,kc->hwc", share, np.array(_INKS, dtype=np.float32))
    return result
