"""
Frames that breathe and shake
=============================

When a lens is focused nearer, its picture grows: it breathes. A stand moves, a lamp flickers.
Frames are brought to the middle one before anything else; ``result.alignment`` says how far each
had moved.
"""

import matplotlib.pyplot as plt
import numpy as np

import varfocus
from varfocus.simulation import simulate, unsteady
from varfocus.studies.metrics import rmse

steady = simulate("slants", shape=(240, 300), n=9, noise=0.02)
moved = unsteady(steady, breathing=0.04, shift=3, rotation=0.3, flicker=0.1).simulation
left_alone = varfocus.reconstruct(moved.frames, align="none")
aligned = varfocus.reconstruct(moved.frames)

part = aligned.extent.window
truth = moved.truth_index
figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
axes[0].imshow(left_alone.index[part], vmin=0, vmax=8)
axes[0].set_title(f"align='none': {rmse(left_alone.index[part], truth[part]):.2f} frames")
axes[1].imshow(aligned.index, vmin=0, vmax=8)
axes[1].set_title(f"aligned: {rmse(aligned.index, truth[part]):.2f} frames")
for axis in axes[:2]:
    axis.set_axis_off()
centre = np.array([truth.shape[1] / 2, truth.shape[0] / 2, 1])
corner = np.array([0, 0, 1])
for name, point in (("centre", centre), ("corner", corner)):
    way = [
        np.hypot(*((M @ point)[:2] / (M @ point)[2] - point[:2]))
        for M in aligned.alignment.matrices
    ]
    axes[2].plot(way, "o-", label=name)
axes[2].set(xlabel="frame", ylabel="moved by (px)")
axes[2].legend()
