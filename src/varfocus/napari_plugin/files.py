"""Result folders opened in napari, and stacks to try."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from varfocus.export import RUN_RECORD
from varfocus.export.saved import load_result
from varfocus.napari_plugin.layers import LayerData, result_layers
from varfocus.simulation import simulate


def get_reader(
    path: str | Sequence[str],
) -> Callable[[str | Sequence[str]], list[LayerData]] | None:
    """Return a reader of result folders, or None if this is none."""
    if not isinstance(path, str | Path) or _folder(path) is None:
        return None
    return read_result


def read_result(path: str | Sequence[str]) -> list[LayerData]:
    """Return the maps in a folder that ``varfocus depth`` wrote, as layers."""
    folder = _folder(str(path))
    assert folder is not None
    return result_layers(load_result(folder))


def _folder(path: str | Path) -> Path | None:
    folder = Path(path)
    folder = folder.parent if folder.name == RUN_RECORD else folder
    return folder if (folder / RUN_RECORD).is_file() else None


def discs() -> list[LayerData]:
    """Return a simulated stack of discs that hide one another."""
    return _simulated("discs")


def cone() -> list[LayerData]:
    """Return a simulated stack of a cone, as in the paper."""
    return _simulated("cone")


def _simulated(name: str) -> list[LayerData]:
    scene = simulate(name)
    about = {
        "name": f"{name} (frames)",
        "rgb": scene.frames.ndim == 4,
        "metadata": {"focus": scene.focus.tolist(), "unit": scene.stack.unit},
    }
    return [(scene.frames, about, "image")]
