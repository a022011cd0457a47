"""
Heights with error bars
=======================

A stage that moves by 2 µm per frame, and a profile across a ball. The band is two standard errors
of the depth, which the default method knows for every pixel.
"""

import matplotlib.pyplot as plt
import numpy as np

import varfocus

scene = varfocus.simulate("sphere", shape=(200, 200), focus=np.linspace(0.03, 0.52, 25), noise=0.5)
z = 2.0 * np.arange(len(scene.frames))
result = varfocus.reconstruct(scene.frames, focus=z, unit="um")
truth = np.interp(scene.truth_index, np.arange(z.size), z)

row, x = 100, np.arange(200)
height, error = result.depth[row], 2 * result.uncertainty[row]
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 3.6), layout="constrained", width_ratios=(1, 2)
)
shown = left.imshow(result.depth)
left.axhline(row, color="w", lw=1)
left.set_axis_off()
figure.colorbar(shown, ax=left, label="depth (µm)")
right.fill_between(x, height - error, height + error, alpha=0.3, label="± 2 standard errors")
right.plot(x, height, lw=1, label="found")
right.plot(x, truth[row], "k:", lw=1, label="truth")
right.set(xlabel="pixel", ylabel="depth (µm)")
right.legend()
