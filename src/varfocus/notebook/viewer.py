"""The viewer in a notebook cell: Python's half, which decodes, reconstructs and measures.

The other half, `viewer.js`, draws. Between them go requests (`Viewer.hear`) and answers, whose
pictures travel as bytes.
"""

from __future__ import annotations

import io
import threading
from importlib.resources import files
from typing import Any

import anywidget
import numpy as np
import traitlets
from numpy.typing import NDArray
from PIL import Image

from varfocus.app.schema import methods
from varfocus.depth import index_to_depth
from varfocus.errors import VarfocusError
from varfocus.export.figures import DEPTH_COLOURS, colour_range
from varfocus.export.images import eight_bit
from varfocus.params import Params, Resources
from varfocus.pipeline import Kept, run
from varfocus.progress import throttled
from varfocus.result import Result
from varfocus.stack import FocusStack
from varfocus.units import symbol

SIDE = 900
"""Longest side in pixels of the pictures sent to the notebook."""

MAPS = ("fused", "depth", "confidence", "uncertainty")
_WEB = files("varfocus.notebook")


class _CancelledError(Exception):
    """The user does not want the result any more."""


class Viewer(anywidget.AnyWidget):
    """A stack in a notebook cell, its result once there is one, and what a pixel rests on.

    Parameters
    ----------
    stack : FocusStack
        Frames.

    Attributes
    ----------
    result : Result or None
        What the last run found.
    """

    _esm = _WEB.joinpath("viewer.js").read_text(encoding="utf-8")
    _css = _WEB.joinpath("viewer.css").read_text(encoding="utf-8")
    about = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, stack: FocusStack) -> None:
        height, width = stack.shape
        knobs = [
            next(p for p in method["parameters"] if p["name"] == method["knob"])
            | {"method": method["name"]}
            for method in methods()
        ]
        about = {"names": list(stack.names), "width": width, "height": height, "knobs": knobs}
        super().__init__(about=about, state={"busy": False, "maps": []})
        self.stack = stack
        self.result: Result | None = None
        self._kept = Kept()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.on_msg(self.hear)

    def run(self, method: str = "auto", **parameters: Any) -> None:
        """Reconstruct, wait for it, and show the result.

        Parameters
        ----------
        method, **parameters
            As for `varfocus.reconstruct`.

        Raises
        ------
        VarfocusError
            If something is wrong with the frames or the parameters.
        """
        self._reconstruct(Params.from_keywords(method, **parameters))

    def hear(self, _: Any, asked: Any, __: Any = None) -> None:
        """Answer the notebook: it wants a picture, a curve, a run, or none any more."""
        try:
            want = asked.get("want")
            if want == "frame":
                frame = self.stack.read(int(asked["number"]))
                self._send_picture(asked, frame, self.stack.shape)
            elif want == "map":
                self._send_map(asked)
            elif want == "curve":
                self._send_curve(int(asked["x"]), int(asked["y"]))
            elif want == "cancel":
                self._stop.set()
            elif want == "run":
                self.start(str(asked["method"]), **asked["parameters"])
        except VarfocusError as error:
            self.state = self.state | {"error": str(error)}

    def start(self, method: str = "auto", **parameters: Any) -> None:
        """Reconstruct in the background; the cell shows how far it is."""
        if self._thread is not None and self._thread.is_alive():
            return
        params = Params.from_keywords(method, **parameters)
        self._thread = threading.Thread(target=self._quietly, args=(params,), daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait for a run in the background to end."""
        if self._thread is not None:
            self._thread.join()

    def _quietly(self, params: Params) -> None:
        try:
            self._reconstruct(params)
        except _CancelledError:
            pass
        except VarfocusError as error:
            self.state = self.state | {"error": str(error)}

    def _reconstruct(self, params: Params) -> None:
        self._stop.clear()
        self.state = {"busy": True, "maps": self.state["maps"]}

        def listen(stage: str, done: int, total: int) -> None:
            self.state = self.state | {"stage": stage, "done": done, "total": total}

        report = throttled(listen, 0.2)

        def progress(stage: str, done: int, total: int) -> None:
            if self._stop.is_set():
                raise _CancelledError
            report(stage, done, total)

        try:
            result = run(self.stack, params, progress, Resources(), kept=self._kept)
            there = [name for name in MAPS if getattr(result, name) is not None]
        finally:
            self.state = {"busy": False, "maps": self.state["maps"]}
        self.result = result
        low, high = colour_range([result.depth])
        self.state = {
            "busy": False,
            "maps": there,
            "words": f"depth from {low:.4g} to {high:.4g} {symbol(result.unit)}, method "
            f"{result.params.method}",
            "warnings": list(result.warnings),
        }

    def _send_map(self, asked: dict[str, Any]) -> None:
        name = asked.get("name")
        if self.result is None or name not in MAPS:
            return
        image = getattr(self.result, name)
        if image is None:
            return
        shape = self.result.index.shape
        if name == "fused":
            self._send_picture(asked, image, shape)
            return
        low, high = (0.0, 1.0) if name == "confidence" else colour_range([image])
        colours = "gray" if name == "confidence" else DEPTH_COLOURS
        unit = "" if name == "confidence" else symbol(self.result.unit)
        legend = {"low": low, "high": high, "unit": unit, "colours": colours}
        self._send_picture(asked, _coloured(image, low, high, colours), shape, legend)

    def _send_picture(
        self,
        asked: dict[str, Any],
        image: NDArray[Any],
        shape: tuple[int, ...],
        legend: dict[str, Any] | None = None,
    ) -> None:
        height, width = shape
        file = io.BytesIO()
        if legend is None:
            picture = Image.fromarray(eight_bit(image))
            picture.thumbnail((SIDE, SIDE), reducing_gap=2.0)
            picture.save(file, "JPEG", quality=88)
        else:
            Image.fromarray(image).save(file, "PNG")
        answer = {"kind": "picture", "id": asked.get("id"), "width": width, "height": height}
        answer |= {"legend": legend, "type": "image/png" if legend else "image/jpeg"}
        self.send(answer, [file.getvalue()])

    def _send_curve(self, x: int, y: int) -> None:
        result = self.result
        if result is None:
            return
        seen = result.curve(x, y)
        alignment, stack = result.alignment, result.stack
        positions = stack.depths if alignment is None else alignment.depths(stack)

        def at(index: Any) -> list[float]:
            found: list[float] = index_to_depth(np.asarray(index, np.float32), positions).tolist()
            return found

        model = np.empty((0, 2)) if seen.model is None else seen.model
        values = {
            name: float(image[y, x]) if image is not None and np.isfinite(image[y, x]) else None
            for name, image in (
                ("depth", result.depth),
                ("confidence", result.confidence),
                ("uncertainty", result.uncertainty),
            )
        }
        self.send(
            {
                "kind": "curve",
                "x": x,
                "y": y,
                "unit": symbol(result.unit),
                "focus": at(range(len(stack))),
                "contrast": seen.contrast.tolist(),
                "model_focus": at(model[:, 0]),
                "model": model[:, 1].tolist(),
                "chosen": at([seen.index])[0],
                "values": values,
            }
        )


def _coloured(
    image: NDArray[np.float32], low: float, high: float, colours: str
) -> NDArray[np.uint8]:
    """Return a map as colours and opacity, unknown pixels transparent, in no more than is shown."""
    from matplotlib import colormaps

    step = -(-max(image.shape) // SIDE)
    small = image[::step, ::step]
    painted: NDArray[np.uint8] = colormaps[colours](
        np.clip((np.nan_to_num(small) - low) / (high - low), 0, 1), bytes=True
    )
    painted[..., 3] = np.where(np.isfinite(small), 255, 0)
    return painted
