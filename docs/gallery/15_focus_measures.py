"""
Focus measures
==============

How sharpness is measured is up to you: five measures by name, or any function of an image. All
constants were fitted for ``mlap``, which is also the fastest.
"""

import matplotlib.pyplot as plt
import numpy as np

import varfocus
from varfocus.studies.metrics import rmse

scene = varfocus.simulate("cosine", shape=(140, 140), n=13, noise=0.8)


def local_range(image):
    """Return the difference of the four neighbours of each pixel: a measure of one's own."""
    padded = np.pad(image if image.ndim == 2 else image.mean(axis=2), 1, mode="edge")
    four = np.stack([padded[1:-1, 2:], padded[1:-1, :-2], padded[2:, 1:-1], padded[:-2, 1:-1]])
    return np.ptp(four, axis=0)


measures = [
    "mlap",
    "sum-modified-laplacian",
    "tenengrad",
    "ring-difference",
    "wavelet",
    local_range,
]
figure, axes = plt.subplots(2, 3, figsize=(9, 6.4), layout="constrained")
for axis, measure in zip(axes.flat, measures, strict=True):
    result = varfocus.reconstruct(scene.frames, measure=measure)
    name = measure if isinstance(measure, str) else "your own"
    axis.imshow(result.index, vmin=0, vmax=12)
    axis.set_title(f"{name}\n{rmse(result.index, scene.truth_index):.2f} frames", fontsize=10)
    axis.set_axis_off()
