"""
Areas that nothing determines
=============================

A plain area is equally blurred in every frame. By default its depth continues that of its
surroundings; ``unknown="nan"`` leaves it out.
"""

import matplotlib.pyplot as plt

import varfocus

scene = varfocus.simulate("textureless", n=15, seed=1)
filled = varfocus.reconstruct(scene.stack)
honest = varfocus.reconstruct(scene.stack, unknown="nan")

figure, axes = plt.subplots(1, 3, figsize=(11, 3.1), layout="constrained")
axes[0].imshow(filled.fused)
axes[0].set_title("everything in focus")
axes[1].imshow(filled.depth)
axes[1].set_title('unknown="fill"')
axes[2].imshow(honest.depth)
axes[2].set_title('unknown="nan"')
for axis in axes:
    axis.set_axis_off()
