"""The folder that ``varfocus simulate`` writes: ``frames/``, and the truth beside it."""

from __future__ import annotations

from pathlib import Path

FRAMES_FOLDER = "frames"
"""Where the frames are."""

FOCUS_FILE = "focus.csv"
"""One focus position per frame."""

TRUTH_INDEX = "truth_index.tif"
"""The frame in focus at each pixel."""


def is_simulated(folder: Path) -> bool:
    """Tell whether ``varfocus simulate`` wrote a folder: its pictures are then no frames."""
    return (folder / FRAMES_FOLDER).is_dir() and all(
        (folder / name).is_file() for name in (FOCUS_FILE, TRUTH_INDEX)
    )


def simulation_of(frames: Path) -> Path | None:
    """Return the folder that ``varfocus simulate`` wrote, of which this holds the frames."""
    written = frames.name == FRAMES_FOLDER and is_simulated(frames.parent)
    return frames.parent if written else None
