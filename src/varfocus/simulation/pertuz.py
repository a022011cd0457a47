"""Pertuz's simulator: a texture draped over a surface and blurred by the depth of each pixel.

frame_k(p) = Σ_q G_σ(q) texture(p + q),  σ = κ|1/z(p) − 1/F_k|

The σ is that of the receiving pixel, so nothing hides anything: a simulator without occlusion.
Then noise, then 8 bits.

References
----------
Pertuz, Puig, Garcia: Analysis of focus measure operators for shape-from-focus, Pattern
Recognition 46, 2013.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varfocus.progress import Progress, silent, track
from varfocus.ranges import real
from varfocus.simulation.aperture import Aperture
from varfocus.simulation.blur import RADIUS, blur
from varfocus.simulation.camera import (
    KAPPA,
    PERTUZ,
    Camera,
    PixelType,
    Spacing,
    blur_sigma,
    chosen_focus,
    expose,
)
from varfocus.simulation.checks import (
    BLUR,
    centre_crop,
    checked_picture,
    checked_shape,
)
from varfocus.simulation.shapes import FAR, NEAR, shape_depth
from varfocus.simulation.simulation import Simulation, index_of_depth
from varfocus.simulation.texture import make_texture

Array = NDArray[np.float32]

_AT_ONCE = 16
"""Frames blurred together: they share the sums over the window; more would only take memory."""


def defocus(
    picture: Array,
    depth: Array,
    focus: NDArray[np.float64],
    kappa: float = KAPPA,
    aperture: Aperture = "gauss",
) -> Array:
    """Blur a picture as a camera without occlusion would see it.

    Parameters
    ----------
    picture : ndarray of float32, shape (H, W) or (H, W, 3)
        The texture in [0, 1].
    depth : ndarray of float32, shape (H, W)
        Depth in metres.
    focus : ndarray of shape (n,)
        Focus distances in metres.
    kappa : float
        Camera constant in px·m.
    aperture : str
        Shape of the blur.

    Returns
    -------
    ndarray of float32, shape (n, H, W) or (n, H, W, 3)
        Frames in [0, 1], without noise.
    """
    return blur(picture, blur_sigma(depth, focus, kappa), RADIUS, aperture)


def simulate_shape(
    name: str,
    *,
    shape: tuple[int, int] | None = None,
    n: int | None = None,
    seed: int = 0,
    noise: float = 0.05,
    texture: ArrayLike | None = None,
    focus: ArrayLike | None = None,
    spacing: Spacing = "distance",
    colour: bool = False,
    kappa: float = KAPPA,
    dtype: PixelType = "uint8",
    camera: Camera = PERTUZ,
    progress: Progress = silent,
) -> Simulation:
    """Simulate a focus stack of one of Pertuz's four shapes.

    Parameters
    ----------
    name : {"cone", "plane", "cosine", "sphere"}
        The surface, 0.05 to 0.5 m away.
    shape : (int, int), optional
        Height and width in pixels; default that of the texture, or 360×360.
    n : int, optional
        Number of frames; default 15.
    seed : int
        Seed of the noise and of the built-in texture.
    noise : float
        Noise level q ≥ 0; 0 for none.
    texture : array_like of shape (H, W) or (H, W, 3), optional
        8 bit, 16 bit, or float in [0, 1]; its middle is used. Default: the built-in texture.
    focus : array_like of shape (n,), optional
        Focus distances in metres instead of `n` from 0.05 to 0.5.
    spacing : {"distance", "dioptre"}
        Even steps of F (Pertuz) or of 1/F.
    colour : bool
        Whether the built-in texture is in colour.
    kappa : float
        Camera constant in px·m.
    dtype : {"uint8", "uint16", "float32"}
        Number type of the frames.
    camera : Camera
        Aperture, light, grain and compression.
    progress : callable
        Listener.

    Returns
    -------
    Simulation
        Frames and truth.
    """
    distances = chosen_focus(focus, NEAR, FAR, n, spacing)
    kappa = real("kappa", kappa, BLUR)
    if texture is None:
        picture = make_texture(checked_shape((360, 360) if shape is None else shape), seed, colour)
    else:
        picture = checked_picture(texture)
        picture = centre_crop(picture, checked_shape(picture.shape[:2] if shape is None else shape))
    depth = shape_depth(name, checked_shape(picture.shape[:2]))
    batches = [distances[k : k + _AT_ONCE] for k in range(0, len(distances), _AT_ONCE)]
    clean = np.concatenate(
        [
            defocus(camera.light(picture), depth, batch, kappa, camera.aperture)
            for batch in track(batches, "blur", len(batches), progress)
        ]
    )
    return Simulation(
        name=name,
        frames=expose(clean, noise, seed, dtype, camera),
        focus=distances,
        truth_index=index_of_depth(depth, distances),
        truth_depth=depth,
        sharp=np.array(picture),
    )
