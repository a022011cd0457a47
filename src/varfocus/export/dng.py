"""Linear DNG: a fused image in the colours of the camera, for RAW converters to develop.

After the Digital Negative Specification 1.4 (Adobe, 2012): LinearRaw, three samples of 16 bits,
uncompressed, black at 0, white at 65535.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus.clean import CleanFrame
from varfocus.errors import OutputError
from varfocus.io.frames import FileFrame
from varfocus.io.readers.raw import CameraColour, decode_linear
from varfocus.stack import FocusStack, Frame

LINEAR_RAW = 34892
DENOMINATOR = 10_000

GAMMA = 1.0 / 0.45
"""Exponent of the tone curve (BT.709) that frames are developed with for everything else."""

_EXIF_IFD = 0x8769
_KEPT = {33434: "2I", 33437: "2I", 34855: "H", 37386: "2I"}
"""Exposure time, f-number, ISO and focal length, which the first directory may hold as well."""
_TEXTS = (271, 272, 306, 315, 33432)
"""Maker, model, date, artist, copyright."""


def linear_stack(stack: FocusStack) -> FocusStack:
    """Return the frames of camera RAW files as the camera saw them, see `decode_linear`.

    Raises
    ------
    OutputError
        If they are anything else.
    """
    frames: list[Frame] = []
    for given in stack.frames:
        frame = given.frame if isinstance(given, CleanFrame) else given
        if not isinstance(frame, FileFrame) or frame.format != "RAW":
            raise OutputError(
                f"received {frame.name} for a DNG",
                "expected camera RAW files: other pictures have lost what a DNG is for",
                "Write .tif, which keeps 16 bits and the colour profile.",
            )
        linear = replace(frame, decode=partial(decode_linear, frame.path))
        if isinstance(given, CleanFrame):
            if given.sensor.flat is not None:
                raise OutputError(
                    "received --flat for a DNG",
                    "expected none: the flat field is developed, the DNG is not",
                    "RAW converters correct dust and vignetting of the DNG.",
                )
            frames.append(CleanFrame(linear, given.sensor))
        else:
            frames.append(linear)
    return replace(stack, frames=frames)


def linear_gains(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return factors on linear light that do what these do after the tone curve."""
    return np.asarray(gains**GAMMA)


def linear_dng(image: NDArray[np.uint16], colour: CameraColour, exif: bytes = b"") -> bytes:
    """Return the bytes of a DNG.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint16
        Camera RGB, linear, without white balance, upright; 65535 is where the sensor saturates.
    colour : CameraColour
        How the camera sees colours.
    exif : bytes
        EXIF block of a frame; camera, date and exposure are kept.

    Returns
    -------
    bytes
        The file.
    """
    import tifffile

    texts, numbers = _told(exif)
    model = " ".join(texts.get(tag, "") for tag in (271, 272)).strip() or "varfocus fused image"
    tags: list[tuple[int, str, int, Any, bool]] = [
        (254, "I", 1, 0, True),  # the picture itself, not a preview
        (274, "H", 1, 1, True),  # upright
        (50706, "B", 4, (1, 4, 0, 0), True),
        (50707, "B", 4, (1, 1, 0, 0), True),
        (50708, "s", 0, model, True),
        (50714, "H", 3, (0, 0, 0), True),
        (50717, "I", 3, (65535, 65535, 65535), True),
        (50721, "2i", 9, _rationals(colour.matrix.ravel()), True),
        (50728, "2I", 3, _rationals(colour.neutral), True),
        (50778, "H", 1, colour.light, True),
    ]
    tags += [(tag, "s", 0, text, True) for tag, text in texts.items()]
    tags += [(tag, kind, 1, value, True) for tag, kind, value in numbers]
    file = io.BytesIO()
    tifffile.imwrite(
        file,
        np.ascontiguousarray(image),
        photometric=LINEAR_RAW,
        planarconfig="contig",
        byteorder="<",
        extratags=sorted(tags),
        metadata=None,
        software="varfocus",
    )
    return file.getvalue()


def _told(exif: bytes) -> tuple[dict[int, str], list[tuple[int, str, Any]]]:
    """Return texts and numbers of an EXIF block that are carried over."""
    from PIL import Image

    if not exif:
        return {}, []
    known = Image.Exif()
    known.load(b"Exif\0\0" + exif)
    texts = {
        tag: str(known[tag]).encode("ascii", "replace").decode() for tag in _TEXTS if tag in known
    }
    shot, numbers = known.get_ifd(_EXIF_IFD), []
    for tag, kind in _KEPT.items():
        value: Any = shot.get(tag)
        value = value[0] if isinstance(value, tuple) and value else value
        try:
            number = float(value)
        except (TypeError, ValueError, ZeroDivisionError):
            continue
        if 0 < number < 60_000:
            numbers.append((tag, kind, int(number) if kind == "H" else _rationals([number], 10**6)))
    return texts, numbers


def _rationals(values: Iterable[float], most: int = DENOMINATOR) -> tuple[int, ...]:
    """Return numerators and denominators in turn."""
    fractions = [Fraction(float(value)).limit_denominator(most) for value in values]
    return tuple(part for f in fractions for part in (f.numerator, f.denominator))
