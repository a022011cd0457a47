"""Focus stacks with known truth: Pertuz's shapes, layered scenes, and any picture with a depth."""

from varfocus.simulation.aperture import APERTURES, Aperture
from varfocus.simulation.camera import Camera, PixelType
from varfocus.simulation.checks import centre_crop
from varfocus.simulation.entry import kappa_of, simulate
from varfocus.simulation.picture import render_picture
from varfocus.simulation.scene import Layer, render_layers
from varfocus.simulation.scenes import SCENES
from varfocus.simulation.shapes import SHAPES, shape_depth
from varfocus.simulation.simulation import Simulation
from varfocus.simulation.texture import make_texture
from varfocus.simulation.unsteady import Unsteady, unsteady

__all__ = [
    "APERTURES",
    "SCENES",
    "SHAPES",
    "Aperture",
    "Camera",
    "Layer",
    "PixelType",
    "Simulation",
    "Unsteady",
    "centre_crop",
    "kappa_of",
    "make_texture",
    "render_layers",
    "render_picture",
    "shape_depth",
    "simulate",
    "unsteady",
]
