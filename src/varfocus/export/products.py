"""Files for other programs, made from a result: meshes, depth maps, metrology formats."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from varfocus.errors import OutputError, ParameterError
from varfocus.export import fields, images, meshes
from varfocus.export.images import eight_bit
from varfocus.export.result_files import every_name
from varfocus.export.saved import SavedResult, fused_metadata
from varfocus.io.metadata import Metadata
from varfocus.ranges import Checked, Range
from varfocus.stack import FRAMES
from varfocus.surface import Mesh, height_mesh, height_points, solid_mesh
from varfocus.units import PixelSize, parse_length

UNCALIBRATED_WIDTH = 0.1
"""Longer side in metres of a model whose true size is unknown: fits a desk, and a printer."""


@dataclass(frozen=True)
class Calibration(Checked):
    """What the numbers of a result mean in the scene.

    Parameters
    ----------
    pixel_size
        Size of a pixel in the scene, such as 0.5um; by default what run.json says.
    z_step
        Distance between frames, such as 2um, for a result whose depth is in frames.
    """

    pixel_size: str | None = None
    z_step: str | None = None


@dataclass(frozen=True)
class Shape(Checked):
    """How surfaces are made into triangles.

    Parameters
    ----------
    triangles
        Largest number of triangles; the map is coarsened to fit. Textures keep their detail.
    jump
        Surfaces are torn where neighbours differ by more than this many frame distances, beyond
        four times what is usual around them; "inf" tears nothing.
    relief
        Where pixel size or unit are unknown: the range of heights as a share of the longer side
        of the picture.
    solid
        Make .stl a closed body with walls and a floor, to be printed; nothing is torn.
    base
        Thickness in millimetres of that body where it is lowest.
    print_size
        Its longer side in millimetres; by default the true size.
    """

    triangles: Annotated[int, Range(2, 2**31)] = 500_000
    jump: Annotated[float, Range(1e-6, math.inf)] = 1.0
    relief: Annotated[float, Range(1e-6, 1e6)] = 0.25
    solid: bool = False
    base: Annotated[float, Range(1e-6, 1e6)] = 2.0
    print_size: Annotated[float | None, Range(1e-6, 1e6)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.print_size is not None and not self.solid:
            raise ParameterError(
                f"received print_size = {self.print_size} without solid",
                "expected it for a body that is printed",
            )


@dataclass(frozen=True)
class PictureShape(Checked):
    """How the all-in-focus image is written.

    Parameters
    ----------
    quality
        Of .jpg, from 1 to 100.
    """

    quality: Annotated[int, Range(1, 100)] = 92


@dataclass(frozen=True)
class Scale:
    """Metres for pixels and depth.

    Attributes
    ----------
    pitch : tuple of float
        Metres between columns, and between rows.
    metres : float
        Metres in one unit of depth.
    true : bool
        False if the shape is only made to look plausible.
    words : str
        How it was found.
    """

    pitch: tuple[float, float]
    metres: float
    true: bool
    words: str


def find_scale(saved: SavedResult, calibration: Calibration, relief: float) -> Scale:
    """Return how large a result is, or a plausible size where that is unknown.

    Parameters
    ----------
    saved : SavedResult
        The result.
    calibration : Calibration
        What the user adds to it.
    relief : float
        Range of heights over the longer side, for results without a true size.

    Returns
    -------
    Scale
        With `words` that say so if it is only plausible.
    """
    size, metres = saved.pixel_size, saved.metres
    if calibration.pixel_size is not None:
        given = parse_length(calibration.pixel_size, "--pixel-size")
        size = PixelSize(given.value, given.value, given.unit)
    if calibration.z_step is not None:
        if saved.unit != FRAMES:
            raise ParameterError(
                f"received --z-step {calibration.z_step} for depth in {saved.unit}",
                "expected it only for depth in frames",
                "Leave it out: the depth has its unit already.",
            )
        metres = abs(parse_length(calibration.z_step, "--z-step").to("m"))
        if metres == 0.0:
            raise ParameterError(
                f"received --z-step {calibration.z_step}", "expected a distance other than zero"
            )
    if size is not None and metres is not None:
        step = "" if calibration.z_step is None else f" of {calibration.z_step}"
        words = f"true size: pixels of {size}, depth in {saved.unit}{step}"
        pitch = size.to("m")
        return Scale((pitch.x, pitch.y), metres, True, words)
    side = max(saved.depth.shape)
    known = saved.depth[np.isfinite(saved.depth)]
    low, high = np.percentile(known, [1, 99]) if known.size else (0.0, 0.0)
    pixel = UNCALIBRATED_WIDTH / side
    height = relief * UNCALIBRATED_WIDTH / (high - low) if high > low else pixel
    lacking = " and ".join(
        option for option, value in (("--pixel-size", size), ("--z-step", metres)) if value is None
    )
    words = (
        f"the true size is unknown: the longer side is set to {UNCALIBRATED_WIDTH * 1e3:g} mm and "
        f"the range of heights to {relief:g} of it. {lacking} would give the true size."
    )
    return Scale((pixel, pixel), float(height), False, words)


@dataclass(frozen=True)
class _Job:
    """Everything a writer may need."""

    saved: SavedResult
    scale: Scale
    shape: Shape
    look: PictureShape

    @property
    def note(self) -> str:
        saved = self.saved
        unknown = int((~np.isfinite(saved.depth)).sum())
        return f"varfocus {saved.record.get('varfocus', '')}; {self.scale.words}; " + (
            f"{unknown} unknown pixels"
        )

    def height(self, unit_metres: float) -> NDArray[np.float32]:
        return self.saved.height * np.float32(self.scale.metres / unit_metres)

    def pitch(self, unit_metres: float) -> tuple[float, float]:
        x, y = self.scale.pitch
        return x / unit_metres, y / unit_metres

    @property
    def metadata(self) -> Metadata:
        """EXIF and profile of the all-in-focus image, which say what was to be kept."""
        channels = 1 if self.saved.fused.ndim == 2 else self.saved.fused.shape[2]
        return fused_metadata(self.saved.folder, channels)

    def solid(self) -> Mesh:
        """Return the body to print, in millimetres."""
        x, y = self.pitch(1e-3)
        rows, columns = self.saved.depth.shape
        size = self.shape.print_size
        grown = 1.0 if size is None else size / max(rows * y, columns * x)
        mesh = solid_mesh(
            self.height(1e-3) * np.float32(grown),
            (x * grown, y * grown),
            base=self.shape.base,
            triangles=self.shape.triangles,
        )
        return self._checked(mesh)

    def mesh(self, unit_metres: float) -> Mesh:
        mesh = height_mesh(
            self.height(unit_metres),
            self.pitch(unit_metres),
            jump=self.shape.jump * self.saved.frame_distance * self.scale.metres / unit_metres,
            triangles=self.shape.triangles,
        )
        return self._checked(mesh)

    def _checked(self, mesh: Mesh) -> Mesh:
        if not len(mesh.faces):
            raise OutputError(
                f"{self.saved.folder}: the depth map has no three adjacent known pixels",
                "expected a surface",
            )
        return mesh


def _glb(job: _Job) -> bytes:
    return meshes.glb(job.mesh(1.0), eight_bit(job.saved.fused), job.note)


def _stl(job: _Job) -> bytes:
    mesh = job.solid() if job.shape.solid else job.mesh(1e-3)
    return meshes.stl(mesh, f"varfocus, millimetres; {job.scale.words}")


def _obj(job: _Job) -> bytes:
    mesh, picture = job.mesh(1e-3), eight_bit(job.saved.fused)
    rows, columns = picture.shape[:2]
    column = np.minimum(mesh.places[:, 0] * columns, columns - 1).astype(np.intp)
    row = np.minimum(mesh.places[:, 1] * rows, rows - 1).astype(np.intp)
    return meshes.obj(mesh, picture[row, column], f"millimetres; {job.note}")


def _ply(job: _Job) -> bytes:
    height = job.height(1e-3)
    colours = eight_bit(job.saved.fused)[np.isfinite(height)]
    points = height_points(height, job.pitch(1e-3))
    return meshes.ply_points(points, colours, f"millimetres; {job.note}")


def _png(job: _Job) -> bytes:
    return fields.png16(job.saved.depth, job.saved.unit)


def _pfm(job: _Job) -> bytes:
    return fields.pfm(job.saved.depth)


def _exr(job: _Job) -> bytes:
    maps = {"Z": job.saved.depth, "confidence": job.saved.confidence}
    if job.saved.uncertainty is not None:
        maps["uncertainty"] = job.saved.uncertainty
    return fields.exr(maps, f"Z in {job.saved.unit}, NaN = unknown")


def _npz(job: _Job) -> bytes:
    saved = job.saved
    arrays: dict[str, NDArray[Any]] = {
        "depth": saved.depth,
        "confidence": saved.confidence,
        "fused": saved.fused,
    }
    if saved.uncertainty is not None:
        arrays["uncertainty"] = saved.uncertainty
    return fields.npz(arrays, saved.record)


def _gsf(job: _Job) -> bytes:
    return fields.gsf(job.height(1.0), job.pitch(1.0), "height by varfocus")


def _x3p(job: _Job) -> bytes:
    return fields.x3p(job.height(1.0), job.pitch(1.0), job.note)


def _jpg(job: _Job) -> bytes:
    about = job.metadata
    return images.jpeg(job.saved.fused, job.look.quality, about.exif, about.icc)


def _tif(job: _Job) -> bytes:
    about = job.metadata
    return images.tiff16(job.saved.fused, about.exif, about.icc)


def _zip(job: _Job) -> bytes:
    """Return the result folder and what is made of it most often, in one file."""
    shape = replace(job.shape, solid=True)
    made: dict[str, bytes] = {
        "picture.jpg": _jpg(job),
        "model.glb": _glb(job),
        "points.ply": _ply(job),
        "print.stl": _stl(replace(job, shape=shape)),
    }
    names = set(every_name()) | {"measurements.csv", "measurements-profiles.csv", "shapes.json"}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        for path in sorted(job.saved.folder.iterdir()):
            if path.name in names and path.is_file() and not path.is_symlink():
                archive.write(path, path.name)
        for name, content in made.items():
            archive.writestr(name, content)
    return file.getvalue()


@dataclass(frozen=True)
class Product:
    """One kind of file.

    Attributes
    ----------
    make : callable
        Returns its bytes.
    words : str
        What it is, for people.
    stem : str
        What such a file is called where nobody says otherwise.
    sized : bool
        Its coordinates depend on `Scale`.
    measured : bool
        Makes no sense without the true size.
    """

    make: Callable[[_Job], bytes]
    words: str
    stem: str
    sized: bool = False
    measured: bool = False


PRODUCTS: Mapping[str, Product] = {
    ".jpg": Product(_jpg, "everything in focus, 8 bit", "picture"),
    ".tif": Product(_tif, "everything in focus, 16 bit", "picture"),
    ".glb": Product(_glb, "textured mesh in metres, y up", "model", sized=True),
    ".stl": Product(_stl, "mesh in millimetres, or a body to print", "mesh", sized=True),
    ".obj": Product(_obj, "mesh with colours in millimetres", "mesh", sized=True),
    ".ply": Product(_ply, "coloured points in millimetres", "points", sized=True),
    ".png": Product(_png, "16-bit depth, 0 = unknown; scale and offset in its text", "depth"),
    ".pfm": Product(_pfm, "32-bit depth, portable float map", "depth"),
    ".exr": Product(_exr, "32-bit depth as Z, with confidence", "depth"),
    ".npz": Product(_npz, "all maps and the record for NumPy", "result"),
    ".x3p": Product(_x3p, "heights in metres, ISO 25178-72", "surface", sized=True, measured=True),
    ".gsf": Product(_gsf, "heights in metres for Gwyddion", "surface", sized=True, measured=True),
    ".zip": Product(
        _zip, "the whole result, with picture, model, points and body", "everything", sized=True
    ),
}
"""What can be made, by the suffix that asks for it."""


def product_of(path: Path) -> Product:
    """Return the kind of file that the suffix of a name asks for."""
    product = PRODUCTS.get(path.suffix.lower())
    if product is None:
        raise OutputError(
            f"received the name {path}",
            "expected one that ends in " + ", ".join(PRODUCTS),
            "The suffix chooses the format.",
        )
    return product


def make_product(
    saved: SavedResult,
    path: Path,
    calibration: Calibration = Calibration(),
    shape: Shape = Shape(),
    look: PictureShape = PictureShape(),
) -> tuple[bytes, Scale | None]:
    """Return the file that a name asks for.

    Parameters
    ----------
    saved : SavedResult
        The result.
    path : Path
        Its suffix chooses the format, see `PRODUCTS`.
    calibration : Calibration
        Pixel size and frame distance, where the result lacks them.
    shape : Shape
        How surfaces are made.
    look : PictureShape
        How pictures are written.

    Returns
    -------
    tuple of bytes and Scale or None
        The file, and the size that its coordinates were given, for formats that have one.

    Raises
    ------
    OutputError
        If the suffix is unknown.
    ParameterError
        If a metrology format is asked for and the true size is unknown.
    """
    product = product_of(path)
    scale = find_scale(saved, calibration, shape.relief)
    if product.measured and not scale.true:
        raise ParameterError(
            f"received {path.name} for a result whose true size is unknown",
            "expected pixel size and unit of depth, which this format requires",
            "Add --pixel-size 0.5um and, for depth in frames, --z-step 2um.",
        )
    content = product.make(_Job(saved, scale, shape, look))
    return content, scale if product.sized else None
