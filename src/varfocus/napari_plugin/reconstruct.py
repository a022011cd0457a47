"""The widget that turns a layer of frames into layers of depth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import napari
from magicgui.widgets import (
    CheckBox,
    Container,
    FileEdit,
    FloatSpinBox,
    LineEdit,
    PushButton,
    create_widget,
)
from napari.layers import Image, Layer
from napari.utils.notifications import show_error, show_info, show_warning

from varfocus.errors import ParameterError, VarfocusError
from varfocus.napari_plugin.form import Form
from varfocus.napari_plugin.layers import frame_spacing, layer_stack, result_layers, surface_layer
from varfocus.napari_plugin.work import Work
from varfocus.params import Params
from varfocus.pipeline import run
from varfocus.progress import Progress
from varfocus.result import Result

OBLIQUE = (0.0, -15.0, -35.0)
"""Angles in degrees from which a surface is seen first."""


class ReconstructWidget(Container):
    """Depth, confidence, standard error and all-in-focus image of a layer of frames.

    Parameters
    ----------
    napari_viewer : napari.Viewer
        Where the layers are.

    Attributes
    ----------
    result : Result or None
        What the last run found.
    """

    def __init__(self, napari_viewer: napari.Viewer) -> None:
        self._viewer = napari_viewer
        self.frames: Any = create_widget(annotation=Image, label="frames")
        self.z_step = FloatSpinBox(
            value=0.0,
            min=-1e6,
            max=1e6,
            step=0.0001,
            label="z step",
            tooltip="Distance of the frames; 0 for depth in frames, or as the sample data say.",
        )
        self.unit = LineEdit(value="", label="unit", tooltip="Of the z step: um, mm, …")
        self.invert = CheckBox(
            text="heights, not distances", label="", tooltip="Count depth towards the lens."
        )
        self.form = Form()
        self.work = Work("Reconstruct", self._prepared, self._show)
        self.surface = PushButton(text="Surface in 3-D", enabled=False)
        self.folder = FileEdit(mode="d", label="folder", value=Path.cwd() / "varfocus-result")
        self.save = PushButton(text="Save results into the folder", enabled=False)
        super().__init__(
            widgets=[
                self.frames,
                self.z_step,
                self.unit,
                self.invert,
                self.form,
                self.work,
                self.surface,
                self.folder,
                self.save,
            ],
        )
        self.result: Result | None = None
        self._made_from: Image | None = None
        self.frames.changed.connect(self._read_calibration)
        self.surface.changed.connect(self._add_surface)
        self.save.changed.connect(self._save)

    def _read_calibration(self, layer: Image | None) -> None:
        """Show what the layer says about its frames."""
        if layer is None:
            return
        spacing, unit = frame_spacing(layer)
        self.z_step.value, self.unit.value = spacing or 0.0, unit

    def _prepared(self) -> Callable[[Progress], Result]:
        layer = self.frames.value
        if layer is None:
            raise ParameterError("no layer of frames is chosen", "expected an image layer")
        params = Params.from_keywords(self.form.method.value, **self.form.parameters())
        step = self._viewer.dims.current_step
        stack = layer_stack(layer, step, self.z_step.value or None, self.unit.value or None)
        if self.invert.value:
            stack = replace(stack, inverted=True)
        self._made_from = layer

        def work(progress: Progress) -> Result:
            result = run(stack, params, progress)
            result.fused, result.confidence, result.uncertainty  # noqa: B018  made here, not later
            return result

        return work

    def _show(self, result: Result) -> None:
        self.result = result
        for data in result_layers(result, self._source()):
            self._viewer.add_layer(Layer.create(*data))
        for warning in result.warnings:
            show_warning(warning)
        self.surface.enabled = self.save.enabled = True

    def _source(self) -> Image | None:
        """Return the layer of the frames, if it is still there."""
        return self._made_from if self._made_from in self._viewer.layers else None

    def _add_surface(self) -> None:
        if self.result is None:
            return
        try:
            data = surface_layer(self.result, self._source())
        except VarfocusError as error:
            show_error(str(error))
            return
        for layer in self._viewer.layers:
            layer.visible = False
        self._viewer.add_layer(Layer.create(*data))
        self._viewer.dims.ndisplay = 3
        self._viewer.reset_view()
        if hasattr(self._viewer.camera, "orientation"):  # near things in front, since napari 0.6
            self._viewer.camera.orientation = ("towards", "down", "right")
        self._viewer.camera.angles = OBLIQUE

    def _save(self) -> None:
        if self.result is None:
            return
        try:
            self.result.save(self.folder.value)
        except VarfocusError as error:
            show_error(str(error))
        else:
            show_info(f"The results are in {self.folder.value}.")
