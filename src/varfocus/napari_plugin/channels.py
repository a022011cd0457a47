"""The widget that fuses other channels with a depth that is known already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import napari
from magicgui.widgets import ComboBox, Container, Select
from napari.layers import Image, Layer

from varfocus.errors import ParameterError
from varfocus.napari_plugin.layers import KEY, LayerData, layer_stack, result_layers
from varfocus.napari_plugin.work import Work
from varfocus.progress import Progress


class ChannelsWidget(Container):
    """All-in-focus images of other channels of a scene, all with the same depth.

    Parameters
    ----------
    napari_viewer : napari.Viewer
        Where the layers are.
    """

    def __init__(self, napari_viewer: napari.Viewer) -> None:
        self._viewer = napari_viewer
        self.depth = ComboBox(label="depth", choices=self._depths, nullable=False)
        self.channels = Select(label="channels", choices=self._stacks)
        self.work = Work("Apply", self._prepared, self._show)
        super().__init__(widgets=[self.depth, self.channels, self.work])

    def _depths(self, _: Any) -> list[tuple[str, Image]]:
        return [(x.name, x) for x in self._viewer.layers if KEY in getattr(x, "metadata", {})]

    def _stacks(self, _: Any) -> list[tuple[str, Image]]:
        return [
            (layer.name, layer)
            for layer in self._viewer.layers
            if isinstance(layer, Image) and layer.ndim >= 3
        ]

    def _prepared(self) -> Callable[[Progress], list[LayerData]]:
        if self.depth.value is None or not self.channels.value:
            raise ParameterError(
                "received no depth, or no channels",
                "expected a depth layer of varfocus, and stacks of the same scene",
                "Reconstruct one channel first, or open a result folder.",
            )
        found = self.depth.value.metadata[KEY]
        step = self._viewer.dims.current_step
        stacks = [(layer, layer_stack(layer, step)) for layer in self.channels.value]

        def work(progress: Progress) -> list[LayerData]:
            made = []
            for layer, stack in stacks:
                image = found.fuse_channel(stack, progress=progress).image
                about = result_layers(found, layer)[0][1] | {"name": f"{layer.name} in focus"}
                about["rgb"] = image.ndim == 3
                if image.ndim == 2:
                    about |= {"colormap": layer.colormap, "blending": layer.blending}
                made.append((image, about, "image"))
            return made

        return work

    def _show(self, made: list[LayerData]) -> None:
        for data in made:
            self._viewer.add_layer(Layer.create(*data))
