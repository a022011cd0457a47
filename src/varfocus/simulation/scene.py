"""Layered scenes with true occlusion: what is near covers what is far, blurred edge included.

Near to far, with h_k the blur of the layer in frame k, m its mask and A its texture:
frame_k ← frame_k + T_k · (h_k * mA),  T_k ← T_k · (1 − h_k * m),  T_k = 1 at the start.

A focused foreground thus keeps its edge whatever lies behind, and a defocused one lays its veil
over the background. One full layer is exactly Pertuz's simulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import ParameterError
from varfocus.progress import Progress, silent, track
from varfocus.simulation.aperture import REACH, Aperture
from varfocus.simulation.blur import RADIUS, blur
from varfocus.simulation.camera import PERTUZ, Camera, PixelType, blur_sigma, expose
from varfocus.simulation.simulation import Simulation, index_of_depth

Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Layer:
    """A surface: its depth, its extent, and what is printed on it.

    Parameters
    ----------
    texture : ndarray of float32, shape (H, W) or (H, W, 3)
        Brightness in [0, 1].
    depth : ndarray of float32, shape (H, W), or float
        Distance in metres, also next to the mask where the blurred edge falls.
    mask : ndarray of float32, shape (H, W), optional
        Opacity in [0, 1]; None for a surface that fills the picture.
    """

    texture: Array
    depth: Array | float
    mask: Array | None = None


def compose(
    layers: Sequence[Layer],
    focus: NDArray[np.float64],
    kappa: float,
    progress: Progress = silent,
    aperture: Aperture = "gauss",
) -> Array:
    """Render clean frames of layers.

    Parameters
    ----------
    layers : sequence of Layer
        Near to far; the last must fill the picture.
    focus : ndarray of shape (n,)
        Focus distances in metres.
    kappa : float
        Camera constant in px·m.
    progress : callable
        Listener; called after every layer.
    aperture : str
        Shape of the blur.

    Returns
    -------
    ndarray of float32, shape (n, H, W) or (n, H, W, 3)
        Frames in [0, 1].
    """
    _check_layers(layers)
    picture = layers[-1].texture
    height, width = picture.shape[:2]
    channels = 1 if picture.ndim == 2 else picture.shape[2]
    frames = np.zeros((len(focus), height, width, channels), dtype=np.float32)
    through = np.ones((len(focus), height, width, 1), dtype=np.float32)
    for layer in track(layers, "render", len(layers), progress):
        reach = RADIUS
        if aperture != "gauss":
            widest = blur_sigma(np.atleast_2d(layer.depth), focus, kappa).max()
            reach = int(np.ceil(REACH[aperture] * widest)) + 1
        # The cat's eye depends on the place in the picture.
        mask = None if aperture == "cats-eye" else layer.mask
        box = _box(mask, (height, width), reach)
        if box is None:
            continue
        colour, cover = _defocused(layer, box, focus, kappa, aperture)
        frames[:, *box] += through[:, *box] * colour
        through[:, *box] *= 1 - cover
    return frames[..., 0] if picture.ndim == 2 else frames


def flatten(layers: Sequence[Layer]) -> tuple[Array, Array]:
    """Return what a perfect camera sees.

    Parameters
    ----------
    layers : sequence of Layer
        Near to far; the last must fill the picture.

    Returns
    -------
    sharp : ndarray of float32, shape (H, W) or (H, W, 3)
        All-in-focus picture in [0, 1].
    depth : ndarray of float32, shape (H, W)
        Depth in metres of the nearest layer that is at least half opaque.
    """
    _check_layers(layers)
    sharp = np.array(layers[-1].texture, dtype=np.float32)
    depth = np.empty(sharp.shape[:2], dtype=np.float32)
    depth[:] = layers[-1].depth
    for layer in reversed(layers[:-1]):
        if layer.mask is None:
            sharp[:], depth[:] = layer.texture, layer.depth
            continue
        alpha = layer.mask if sharp.ndim == 2 else layer.mask[..., None]
        sharp += alpha * (layer.texture - sharp)
        np.copyto(depth, layer.depth, where=layer.mask >= 0.5)
    return sharp, depth


def render_layers(
    name: str,
    layers: Sequence[Layer],
    focus: NDArray[np.float64],
    kappa: float,
    *,
    noise: float = 0.05,
    seed: int = 0,
    dtype: PixelType = "uint8",
    camera: Camera = PERTUZ,
    progress: Progress = silent,
) -> Simulation:
    """Render layers and return frames and truth; parameters as in `compose` and `expose`."""
    lit = [replace(layer, texture=camera.light(layer.texture)) for layer in layers]
    sharp, depth = flatten(lit)
    clean = compose(lit, focus, kappa, progress, camera.aperture)
    return Simulation(
        name=name,
        frames=expose(clean, noise, seed, dtype, camera),
        focus=focus,
        truth_index=index_of_depth(depth, focus),
        truth_depth=depth,
        sharp=camera.stored(sharp),
    )


def _check_layers(layers: Sequence[Layer]) -> None:
    if not layers or layers[-1].mask is not None:
        raise ParameterError(
            f"layers: received {len(layers)} layer(s)"
            + (", the last with a mask" if layers else ""),
            "expected layers from near to far, the last without a mask",
            "Add a background that fills the picture.",
        )
    shape = layers[-1].texture.shape
    for layer in layers:
        shapes = {layer.texture.shape[:2], np.shape(layer.depth) or shape[:2]}
        if layer.mask is not None:
            shapes.add(layer.mask.shape)
        if layer.texture.shape != shape or shapes != {shape[:2]}:
            raise ParameterError(
                f"layers: received arrays of shapes {sorted(shapes)} next to {shape}",
                "expected texture, depth and mask of equal height and width in every layer",
            )


def _box(mask: Array | None, shape: tuple[int, int], reach: int) -> tuple[slice, slice] | None:
    """Rows and columns that the blurred mask can reach; None if the mask is empty."""
    if mask is None:
        return slice(0, shape[0]), slice(0, shape[1])
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if len(rows) == 0:
        return None
    return (
        slice(max(int(rows[0]) - reach, 0), int(rows[-1]) + reach + 1),
        slice(max(int(columns[0]) - reach, 0), int(columns[-1]) + reach + 1),
    )


def _defocused(
    layer: Layer,
    box: tuple[slice, slice],
    focus: NDArray[np.float64],
    kappa: float,
    aperture: Aperture,
) -> tuple[Array, Array | float]:
    """Blurred premultiplied colour, shape (n, h, w, C), and blurred mask, (n, h, w, 1)."""
    texture = layer.texture[box]
    texture = texture[..., None] if texture.ndim == 2 else texture
    depth = np.atleast_2d(np.asarray(layer.depth, dtype=np.float64))
    depth = depth[:1, :1] if np.ptp(depth) == 0 else depth[box]
    sigma = blur_sigma(depth, focus, kappa)
    if layer.mask is None:
        return blur(texture, sigma, aperture=aperture), 1.0
    mask = layer.mask[box][..., None]
    blurred = blur(np.concatenate([mask * texture, mask], axis=2), sigma, aperture=aperture)
    return blurred[..., :-1], blurred[..., -1:]
