"""Stacks for judging alignment: many scenes, apertures, sweeps and noises, steady or moved.

Scenes come in two halves that share no picture: `dev`, which constants may be fitted on, and
`test`, which only results are reported of. Needs a folder of pictures with disparities and the
renderer beside it (``DATA/rgbd/SCENE/picture.png``, ``disparity.npz``; ``DATA/../tools/
render_stack.py``); stacks that need what is not there are left out.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from lens import focus_coordinate, rays
from PIL import Image
from scipy import fft, ndimage

from varfocus import read_stack
from varfocus.simulation import Unsteady, simulate, unsteady
from varfocus.simulation.simulation import Simulation

SIZE = (320, 400)
"""Largest height and width of rendered frames in pixels; larger pictures are cut, not shrunk."""

LAYERS = 24
KINDS = ("layers", "rays", "shapes", "shapes-rays", "own", "real")
APERTURES = ("disc", "gauss", "square", "hexagon", "bubble")
DIOPTRES = (0.0, 0.1, 0.3)
BREATHING = (0.0, 0.02, 0.05, 0.1, 0.15)
SHIFTS = (1.0, 0.3, 4.0, 2.0)
"""Standard deviation of the shift from frame to frame in pixels: a stand, a lens, a hand."""

NOISES = (0.0, 0.005, 0.01, 0.03, 0.05)
PICTURES = {
    "dev": ("boardgames", "bull", "dishes", "greek", "kitchen", "venus"),
    "test": ("medieval2", "museum", "poster", "tomb", "tsukuba", "vinyl", "motorcycle"),
}
LIGHT_FIELDS = {
    "dev": ("boardgames", "dishes", "greek", "kitchen"),
    "test": ("medieval2", "museum", "tomb", "vinyl"),
}
GENERATED = {"dev": ("gt_1",), "test": ("gt_2", "gt_4")}
SHAPES = ("plane", "cone", "cosine", "sphere")
LAYERED = ("steps", "slants", "discs", "textureless", "wire")


@dataclass(frozen=True)
class Scene:
    """A stack that nobody moved, without noise where we add it.

    Attributes
    ----------
    name : str
        What it is, in words.
    kind : {"layers", "shapes", "rays", "shapes-rays", "own", "real"}
        Who made it: the other renderer, from pictures or shapes; rays through a lens, of pictures
        or shapes; our own simulator; or another (light fields refocused, generated surfaces).
    frames : ndarray of shape (n, H, W) or (n, H, W, 3), uint8
        Pixels.
    noise : float
        Standard deviation at mid grey of the noise to be added, white being 1.
    seed : int
        Of noise and motion.
    """

    name: str
    kind: str
    frames: np.ndarray
    noise: float
    seed: int

    def noisy(self) -> np.ndarray:
        """Return the frames with noise that grows with the root of the light."""
        return with_noise(self.frames, self.noise, np.random.default_rng(self.seed))


def with_noise(frames: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Return uint8 frames with shot noise of a standard deviation at mid grey."""
    if noise == 0.0:
        return frames
    out = np.empty_like(frames)
    for k, frame in enumerate(frames):
        light = frame.astype(np.float32) / 255
        seen = light + noise * np.sqrt(0.2 + light) * rng.standard_normal(light.shape, np.float32)
        out[k] = np.clip(seen * 255 + 0.5, 0, 255)
    return out


def scenes(part: str, data: Path | None, cache: Path | None, kinds: set[str]) -> Iterator[Scene]:
    """Yield the steady stacks of some kinds of one half, again and again the same."""
    offset = 0 if part == "dev" else 500
    tool = _tool(data)
    if data is not None and tool is not None:
        for number, name in enumerate(PICTURES[part] if "layers" in kinds else ()):
            for variant in range(4):
                yield from _rendered(name, offset + 20 * number + variant, data, cache, tool)
        for number, name in enumerate(PICTURES[part] if "rays" in kinds else ()):
            for variant in range(4):
                yield _through_a_lens(name, offset + 700 + 20 * number + variant, data, cache, tool)
        for number, name in enumerate(SHAPES if "shapes-rays" in kinds else ()):
            for variant in range(5):
                yield _through_a_lens(name, offset + 900 + 20 * number + variant, data, cache, tool)
        for number, name in enumerate(SHAPES if "shapes" in kinds else ()):
            for variant in range(5):
                yield from _rendered(name, offset + 300 + 20 * number + variant, data, cache, tool)
    for number, name in enumerate((*SHAPES, *LAYERED) if "own" in kinds else ()):
        for variant in range(5):
            yield _simulated(name, offset + 10 * number + variant, cache)
    if data is not None and "real" in kinds:
        folders = [data / "lightfield" / name / "frames" for name in LIGHT_FIELDS[part]]
        folders += [data / name / "frames" for name in GENERATED[part]]
        for number, folder in enumerate(folders):
            if folder.is_dir():
                stack = read_stack(folder)
                frames = np.stack([stack.read(k) for k in range(len(stack))])
                words = "/".join(folder.parts[-3:-1])
                yield Scene(words, "real", frames, 0.0, offset + number)
                noisy = f"{words}, noise {NOISES[3]:.1%}"
                yield Scene(noisy, "real", frames, NOISES[3], offset + number + 50)


def _simulated(name: str, seed: int, cache: Path | None) -> Scene:
    """Return a stack of our own simulator."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 31))
    noise = NOISES[int(rng.integers(len(NOISES)))]
    frames = _kept(
        cache,
        f"own_{name}_{seed}",
        lambda: simulate(name, shape=SIZE, n=n, seed=seed, noise=0.0).frames,
    )
    return Scene(f"own {name} {seed}, {n} frames, noise {noise:.1%}", "own", frames, noise, seed)


def _kept(cache: Path | None, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
    """Return frames from the cache, or make them and put them there."""
    path = None if cache is None else cache / f"{name}.npy"
    if path is not None and path.is_file():
        return np.asarray(np.load(path))
    frames = make()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, frames)
    return frames


def moved(scene: Scene) -> Unsteady:
    """Return a scene as a breathing lens, an unsteady stand or a hand would show it."""
    n, height, width = scene.frames.shape[:3]
    plain = np.zeros((height, width), np.float32)
    steady = Simulation(
        scene.name, scene.frames, np.arange(n, dtype=float), plain, plain, scene.frames[0] / 255.0
    )
    return unsteady(
        steady,
        breathing=BREATHING[scene.seed % len(BREATHING)],
        shift=SHIFTS[scene.seed % len(SHIFTS)],
        rotation=0.1 * (scene.seed % 4),
        flicker=(0.0, 0.03, 0.08)[scene.seed % 3],
        noise=min(scene.noise, 0.03) * 0.7,
        margin=0.12,
        seed=scene.seed,
    )


def _tool(data: Path | None) -> ModuleType | None:
    path = None if data is None else data.parent / "tools" / "render_stack.py"
    if path is None or not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location("render_stack", path)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def _rendered(
    name: str, seed: int, data: Path, cache: Path | None, tool: ModuleType
) -> Iterator[Scene]:
    """Yield a rendered stack twice, with little and with much noise."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 41))
    blur = float(rng.uniform(4, 14))
    kind = APERTURES[seed % len(APERTURES)]
    dioptre = DIOPTRES[int(rng.integers(len(DIOPTRES)))]
    noises = NOISES[int(rng.integers(3))], NOISES[int(rng.integers(3, 5))]
    words = f"{name}, {kind} {blur:.1f} px, dioptre {dioptre}, {n} frames"
    frames = _kept(
        cache,
        f"{name}_{seed}",
        lambda: render(
            *_picture_part(name, seed, rng, n, data, tool), n, blur, kind, dioptre, tool
        ),
    )
    who = "shapes" if name in SHAPES else "layers"
    for noise in noises:
        yield Scene(f"{words}, noise {noise:.1%}", who, frames, noise, seed)


def _through_a_lens(
    name: str, seed: int, data: Path, cache: Path | None, tool: ModuleType
) -> Scene:
    """Return a stack rendered ray by ray."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 22))
    blur = float(rng.uniform(4, 14))
    kind = APERTURES[seed % len(APERTURES)]
    dioptre = DIOPTRES[int(rng.integers(len(DIOPTRES)))]
    noise = NOISES[int(rng.integers(len(NOISES)))]
    words = (
        f"{name} by rays, {kind} {blur:.1f} px, dioptre {dioptre}, {n} frames, noise {noise:.1%}"
    )
    frames = _kept(
        cache,
        f"rays_{name}_{seed}",
        lambda: rays(*_picture_part(name, seed, rng, n, data, tool), n, blur, kind, dioptre),
    )
    return Scene(words, "shapes-rays" if name in SHAPES else "rays", frames, noise, seed)


def _picture_part(
    name: str, seed: int, rng: np.random.Generator, n: int, data: Path, tool: ModuleType
) -> tuple[np.ndarray, np.ndarray]:
    """Return colours and true frames of a part of a picture, no larger than `SIZE`."""
    rgb, disparity = _picture(name, seed, data)
    top = int(rng.integers(max(rgb.shape[0] - SIZE[0], 0) + 1))
    left = int(rng.integers(max(rgb.shape[1] - SIZE[1], 0) + 1))
    part = (slice(top, top + SIZE[0]), slice(left, left + SIZE[1]))
    return rgb[part], tool.truth_of(disparity[part], n)[0]


def _picture(name: str, seed: int, data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return colours in [0, 1] and disparities of a picture, or of a shape with a texture."""
    if name in SHAPES:
        made = simulate(name, shape=SIZE, n=3, seed=seed, noise=0.0, colour=True)
        return made.sharp.astype(float), -made.truth_index.astype(float)
    if name == "motorcycle":
        folder = data / name
        picture, archive = folder / "motorcycle_left.png", folder / "motorcycle_disp.npz"
    else:
        picture, archive = (data / "rgbd" / name / f for f in ("picture.png", "disparity.npz"))
    with Image.open(picture) as image:
        rgb = np.asarray(image.convert("RGB"), float) / 255
    with np.load(archive) as arrays:
        disparity: Any = arrays[arrays.files[0]].astype(float)
    return rgb, np.where(np.isfinite(disparity), disparity, np.nan)


def render(
    rgb: np.ndarray,
    index: np.ndarray,
    n: int,
    blur: float,
    kind: str,
    dioptre: float,
    tool: ModuleType,
) -> np.ndarray:
    """Return what ``render_stack.render`` does with fewer layers, spectra kept from frame to frame.

    Parameters
    ----------
    rgb : ndarray of shape (H, W, 3)
        Sharp colours in [0, 1].
    index : ndarray of shape (H, W)
        Frame in focus at each pixel, 0 the nearest.
    n, blur, kind, dioptre
        As there.
    tool : module
        ``render_stack``: its apertures are used.
    """

    def coordinate(k: float) -> float:
        return float(focus_coordinate(k, n, dioptre))

    bounds = np.linspace(index.min() - 1e-6, index.max() + 1e-6, LAYERS + 1)
    layer = np.clip(np.digitize(index, bounds) - 1, 0, LAYERS - 1)
    pad = int(blur) + 4
    side = [fft.next_fast_len(s + 4 * pad, real=True) for s in index.shape]
    planes, spectra, depths = [], [], []
    for lay in range(LAYERS - 1, -1, -1):
        mine = layer == lay
        if not mine.any():
            continue
        nearest = ndimage.distance_transform_edt(~mine, return_distances=False, return_indices=True)
        colour = np.pad(rgb[tuple(nearest)], ((pad, pad), (pad, pad), (0, 0)), mode="edge")
        first = not planes
        cover = np.ones(colour.shape[:2]) if first else np.pad(1.0 * (layer <= lay), pad, "edge")
        both = np.concatenate([colour * cover[..., None], cover[..., None]], -1).astype(np.float32)
        both = np.moveaxis(both, 2, 0)
        planes.append(both)
        spectra.append(fft.rfft2(both, side))
        depths.append(coordinate(0.5 * (bounds[lay] + bounds[lay + 1])))
    frames = []
    height, width = planes[0].shape[1:]
    for k in range(n):
        seen = np.zeros((3, height, width), np.float32)
        for plane, spectrum, depth in zip(planes, spectra, depths, strict=True):
            r = blur * abs(coordinate(k) - depth)
            if r > 0.3:
                psf = tool.aperture(kind, r).astype(np.float32)
                spread = fft.irfft2(spectrum * fft.rfft2(psf, side), side)
                reach = psf.shape[0] // 2
                plane = spread[:, reach : reach + height, reach : reach + width]
            seen = seen * (1 - np.clip(plane[3], 0, 1)) + plane[:3]
        inner = np.moveaxis(seen[:, pad:-pad, pad:-pad], 0, 2)
        frames.append(np.clip(inner * 255 + 0.5, 0, 255).astype(np.uint8))
    return np.stack(frames)
