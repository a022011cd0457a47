"""
Roughness of a surface (ISO 25178)
==================================

The surface is levelled first, then measured; every figure comes with the standard error that
follows from the error of the depth. The true Sq of these ridges is √2 µm: what smoothing takes
from them is not in the standard error.
"""

import matplotlib.pyplot as plt
import numpy as np

import varfocus
from varfocus.simulation import make_texture, render_picture

y, x = np.mgrid[:200, :240]
ridges = 2.0 * np.sin(2 * np.pi * x / 40) + 0.02 * y  # micrometres, on a tilted sample
depth = 10 + ridges - ridges.min()
scene = render_picture(
    make_texture((200, 240)), depth, focus=np.linspace(8, 20, 25), spacing="distance", noise=0.1
)
result = varfocus.reconstruct(scene.frames, focus=scene.focus, unit="um", coordinate="position")

heights = varfocus.measure.level(-result.depth, 1)  # towards the lens, less a plane
figures = varfocus.measure.height_parameters(heights, result.uncertainty)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.7), layout="constrained")
shown = left.imshow(heights, cmap="viridis")
left.set_axis_off()
figure.colorbar(shown, ax=left, label="height above the plane (µm)")
falling = np.sort(heights[np.isfinite(heights)])[::-1]
right.plot(np.linspace(0, 100, falling.size), falling)
right.set(xlabel="share of the surface above (%)", ylabel="height (µm)", title="material ratio")
words = "\n".join(f"{name}  {figures[name].words('µm')}" for name in ("Sa", "Sq", "Sz"))
right.text(0.97, 0.95, words, transform=right.transAxes, ha="right", va="top", family="monospace")
