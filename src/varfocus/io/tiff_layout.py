"""Ask ImageJ's and OME's notes in a TIFF whether its pages are focus steps at all.

Microscopes store channels and time points as pages, too. Taken for focus steps, they would give
a depth map that looks plausible and means nothing.
"""

from __future__ import annotations

import re

from varfocus.io.border import RefusedError, unsupported


def check_pages_are_steps(description: str, samples: int) -> None:
    """Refuse files whose pages run over channels, or over time as well as focus.

    Parameters
    ----------
    description : str
        ImageDescription of the first page.
    samples : int
        Channels stored within a page.
    """
    channels, slices, times = _ome_sizes(description, samples) or _imagej_sizes(description)
    if channels > 1:
        raise _refusal(f"its pages are {channels} channels of {slices * times} images")
    if slices > 1 and times > 1:
        raise _refusal(f"its pages are {slices} slices at {times} times")


def imagej_images(description: str) -> int:
    """Return how many images ImageJ says the file has, 1 if it says nothing."""
    return _imagej_number(description, "images")


def _refusal(what: str) -> RefusedError:
    return unsupported(what, "expected one page per focus step, grey or RGB")


def _imagej_sizes(description: str) -> tuple[int, int, int]:
    channels, slices, times = (
        _imagej_number(description, key) for key in ("channels", "slices", "frames")
    )
    return channels, slices, times


def _imagej_number(description: str, key: str) -> int:
    if not description.startswith("ImageJ="):
        return 1
    found = re.search(rf"^{key}=(\d{{1,9}})$", description, re.MULTILINE)
    return int(found[1]) if found else 1


def _ome_sizes(description: str, samples: int) -> tuple[int, int, int] | None:
    pixels = re.search(r"<(?:\w+:)?Pixels\b[^>]*>", description)
    if pixels is None or "OME" not in description:
        return None
    sizes = {key: int(n) for key, n in re.findall(r'\bSize([CZT])="(\d{1,9})"', pixels[0])}
    return max(sizes.get("C", 1) // samples, 1), sizes.get("Z", 1), sizes.get("T", 1)
