"""One entry to all simulations: a name in, a `Simulation` out."""

from __future__ import annotations

from numpy.typing import ArrayLike

from varfocus.bugs import guarded
from varfocus.errors import ParameterError
from varfocus.progress import Progress, silent
from varfocus.ranges import one_of, real
from varfocus.simulation import shapes
from varfocus.simulation.camera import KAPPA, PERTUZ, Camera, PixelType, Spacing, chosen_focus
from varfocus.simulation.canvas import FAR, NEAR, SCENE_KAPPA, Canvas
from varfocus.simulation.checks import (
    BLUR,
    centre_crop,
    checked_picture,
    checked_seed,
    checked_shape,
)
from varfocus.simulation.pertuz import simulate_shape
from varfocus.simulation.scene import render_layers
from varfocus.simulation.scenes import BUILDERS, SCENES
from varfocus.simulation.shapes import SHAPES
from varfocus.simulation.simulation import Simulation

DEFAULT_SHAPE = (256, 320)
"""Height and width of the layered scenes in pixels."""


@guarded
def simulate(
    name: str,
    *,
    shape: tuple[int, int] | None = None,
    n: int | None = None,
    seed: int = 0,
    noise: float = 0.05,
    texture: ArrayLike | None = None,
    focus: ArrayLike | None = None,
    spacing: Spacing | None = None,
    colour: bool | None = None,
    kappa: float | None = None,
    dtype: PixelType = "uint8",
    camera: Camera = PERTUZ,
    progress: Progress = silent,
) -> Simulation:
    """Simulate a focus stack with known truth.

    Parameters
    ----------
    name : str
        One of `SHAPES` (Pertuz's surfaces, no occlusion) or `SCENES` (layers with occlusion).
    shape : (int, int), optional
        Height and width in pixels. Default: that of `texture`; else 360×360 for shapes, 256×320
        for scenes.
    n : int, optional
        Number of frames; default 15.
    seed : int
        Seed of noise, textures and arrangement. The same arguments give the same bits.
    noise : float
        Noise level q ≥ 0 of Pertuz's camera; 0 for none.
    texture : array_like of shape (H, W) or (H, W, 3), optional
        8 bit, 16 bit, or float in [0, 1], at least as large as `shape`. Default: the built-in
        texture. The scene "table" has its own and takes none.
    focus : array_like of shape (n,), optional
        Focus distances in metres, strictly monotone. Default: `n` over the scene's depth.
    spacing : {"distance", "dioptre"}, optional
        Even steps of F (default of shapes) or of 1/F (default of scenes).
    colour : bool, optional
        Whether built-in textures are in colour; default no for shapes, yes for scenes.
    kappa : float, optional
        Camera constant κ in px·m: σ_px = κ|1/z − 1/F|. Default 0.84375 for shapes; for scenes
        about 5, which blurs the far end by σ = 7 px when the near end is in focus.
    dtype : {"uint8", "uint16", "float32"}
        Number type of the frames.
    camera : Camera
        Aperture of the lens, grain, vignetting, gamma, JPEG; default none of that but a Gaussian
        blur. With grain, you may want ``noise=0``.
    progress : callable
        Listener ``progress(stage, done, total)``; may raise to cancel.

    Returns
    -------
    Simulation
        Frames, focus distances, and the truth.

    Raises
    ------
    ParameterError
        If the name is unknown or an argument makes no sense.

    Examples
    --------
    >>> from varfocus.simulation import simulate
    >>> simulate("cone", shape=(40, 50), n=5).frames.shape
    (5, 40, 50)
    """
    one_of("name", name, (*SHAPES, *SCENES))
    if name in SHAPES:
        return simulate_shape(
            name,
            shape=shape,
            n=n,
            seed=seed,
            noise=noise,
            texture=texture,
            focus=focus,
            spacing=spacing or "distance",
            colour=bool(colour),
            kappa=KAPPA if kappa is None else kappa,
            dtype=dtype,
            camera=camera,
            progress=progress,
        )
    return render_layers(
        name,
        BUILDERS[name](_canvas(name, shape, seed, colour, texture)),
        chosen_focus(focus, NEAR, FAR, n, spacing or "dioptre"),
        SCENE_KAPPA if kappa is None else real("kappa", kappa, BLUR),
        noise=noise,
        seed=seed,
        dtype=dtype,
        camera=camera,
        progress=progress,
    )


def kappa_of(name: str, blur: float) -> float:
    """Return the camera constant κ for a blur at the far end of a scene.

    Parameters
    ----------
    name : str
        One of `SHAPES` or `SCENES`.
    blur : float
        σ in pixels of the farthest focus distance in the frame of the nearest.

    Returns
    -------
    float
        κ in px·m.
    """
    near, far = (shapes.NEAR, shapes.FAR) if name in SHAPES else (NEAR, FAR)
    return real("blur", blur, BLUR) / (1 / near - 1 / far)


def _canvas(
    name: str,
    shape: tuple[int, int] | None,
    seed: int,
    colour: bool | None,
    texture: ArrayLike | None,
) -> Canvas:
    seed = checked_seed(seed)
    if texture is None:
        size = checked_shape(DEFAULT_SHAPE if shape is None else shape)
        return Canvas(size, seed, colour is None or bool(colour))
    if name == "table":
        raise ParameterError(
            "texture: received one for the scene 'table'",
            "expected none: this scene has its own",
            "Leave it out, or take another scene.",
        )
    picture = checked_picture(texture)
    size = checked_shape(picture.shape[:2] if shape is None else shape)
    return Canvas(size, seed, picture.ndim == 3, centre_crop(picture, size))
