"""
A scene of your own
===================

To try something out, render it: any picture with any depth becomes a focus stack with known
truth, near things hiding far ones.
"""

import matplotlib.pyplot as plt
import numpy as np

import varfocus
from varfocus.simulation import make_texture, render_picture
from varfocus.studies.metrics import rmse

y, x = np.mgrid[:160, :220]
depth = 0.5 + 0.002 * y[::-1]  # a floor, in metres
letter = (abs(x - 110) < 12) & (abs(y - 85) < 55) | (abs(x - 110) < 50) & (abs(y - 42) < 12)
depth[letter] = 0.42
picture = make_texture((160, 220), colour=True)
picture[letter] = make_texture((160, 220), seed=5, colour=True)[letter] ** 0.6

scene = render_picture(picture, depth, n=13)
result = varfocus.reconstruct(scene.stack)

figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
axes[0].imshow(scene.frames[-1])
axes[0].set_title("focused on the floor")
axes[1].imshow(result.fused)
axes[1].set_title("everything in focus")
shown = axes[2].imshow(100 * result.depth)
axes[2].set_title(f"depth, error {rmse(result.index, scene.truth_index):.2f} frames")
figure.colorbar(shown, ax=axes[2], label="cm")
for axis in axes:
    axis.set_axis_off()
