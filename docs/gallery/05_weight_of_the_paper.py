"""
The weight α of the paper's method
==================================

.. math:: E(d) = -\\sum c_{ij}(d_{ij}) + α \\lVert Kd \\rVert_{2,1}

Without a weight every pixel decides for itself. With a large one the map becomes a cartoon. The
best value depends on the scene and on its size, which the default method avoids.
"""

import matplotlib.pyplot as plt

import varfocus
from varfocus.studies.metrics import rmse

scene = varfocus.simulate("slants", shape=(160, 200), n=15)
weights = (0, 1 / 32, 1 / 8, 1 / 2)

figure, axes = plt.subplots(1, 4, figsize=(12, 2.9), layout="constrained")
for axis, alpha in zip(axes, weights, strict=True):
    result = varfocus.reconstruct(scene.frames, "paper", alpha=alpha)
    axis.imshow(result.index, vmin=0, vmax=14)
    axis.set_title(f"α = {alpha:g}: {rmse(result.index, scene.truth_index):.2f} frames")
    axis.set_axis_off()
