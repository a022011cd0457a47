"""
From frames to depth
====================

One call: frames in; picture, depth and confidence out.
"""

import matplotlib.pyplot as plt

import varfocus

scene = varfocus.simulate("table", n=15)
result = varfocus.reconstruct(scene.stack)

figure, axes = plt.subplots(2, 2, figsize=(9, 7.2), layout="constrained")
axes[0, 0].imshow(scene.frames[4])
axes[0, 0].set_title("one of 15 frames")
axes[0, 1].imshow(result.fused)
axes[0, 1].set_title("everything in focus")
depth = axes[1, 0].imshow(result.depth, cmap="viridis")
axes[1, 0].set_title("depth")
figure.colorbar(depth, ax=axes[1, 0], label=result.unit)
sure = axes[1, 1].imshow(result.confidence, cmap="gray", vmin=0, vmax=1)
axes[1, 1].set_title("confidence")
figure.colorbar(sure, ax=axes[1, 1])
for axis in axes.flat:
    axis.set_axis_off()
