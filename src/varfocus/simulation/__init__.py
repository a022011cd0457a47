"""Focus stacks with known truth: Pertuz's shapes, layered scenes, and any picture with a depth."""

from varfocus.simulation.entry import simulate
from varfocus.simulation.picture import render_picture
from varfocus.simulation.scene import Layer, render_layers
from varfocus.simulation.scenes import SCENES
from varfocus.simulation.shapes import SHAPES, shape_depth
from varfocus.simulation.simulation import Simulation
from varfocus.simulation.texture import make_texture
from varfocus.simulation.unsteady import Unsteady, unsteady

__all__ = [
    "SCENES",
    "SHAPES",
    "Layer",
    "Simulation",
    "Unsteady",
    "make_texture",
    "render_layers",
    "render_picture",
    "shape_depth",
    "simulate",
    "unsteady",
]
