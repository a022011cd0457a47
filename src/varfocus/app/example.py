"""The example that the page offers: a simulated scene, as files like any other."""

from __future__ import annotations

from pathlib import Path

from varfocus.export import images
from varfocus.simulation import simulate

SIZE = 512, 384
"""Width and height of its frames."""


def recipe() -> str:
    """Return the command that makes the same."""
    return "varfocus simulate table -o example --size {} {}".format(*SIZE)


def write_example(folder: Path) -> None:
    """Write a simulated scene as ``varfocus simulate`` does."""
    folder.mkdir()
    scene = simulate("table", shape=SIZE[::-1], n=15)
    for k, frame in enumerate(scene.frames):
        (folder / f"frame_{k:02d}.png").write_bytes(images.picture(frame)[1])
