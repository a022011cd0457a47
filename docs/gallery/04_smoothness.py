"""
The one knob
============

``smoothness`` says how strongly neighbours are made to agree. 1 suits most stacks: look at 2 if
the map is noisy, at ½ if detail is missing. Here the frames are very noisy.
"""

import matplotlib.pyplot as plt

import varfocus

scene = varfocus.simulate("slants", shape=(160, 200), n=9, noise=3.0, seed=3)

figure, axes = plt.subplots(1, 4, figsize=(12, 2.9), layout="constrained")
axes[0].imshow(scene.frames[4])
axes[0].set_title("a frame")
for axis, smoothness in zip(axes[1:], (0.1, 1, 6), strict=True):
    result = varfocus.reconstruct(scene.frames, smoothness=smoothness)
    axis.imshow(result.index, vmin=0, vmax=8)
    axis.set_title(f"smoothness = {smoothness}")
for axis in axes:
    axis.set_axis_off()
