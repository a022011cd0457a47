"""
Three methods
=============

The windowed maximum of contrast, as it has been done for thirty years; the paper's variational
method; and the default. The number is the root-mean-square error in frames.
"""

import matplotlib.pyplot as plt

import varfocus
from varfocus.studies.metrics import rmse

scene = varfocus.simulate("discs", n=15)
names = ("classic", "paper", "robust")
found = {name: varfocus.reconstruct(scene.stack, name).index for name in names}

figure, axes = plt.subplots(2, 2, figsize=(9, 7.2), layout="constrained")
axes[0, 0].imshow(scene.truth_index, vmin=0, vmax=14)
axes[0, 0].set_title("truth")
for axis, (name, index) in zip(axes.flat[1:], found.items(), strict=True):
    shown = axis.imshow(index, vmin=0, vmax=14)
    axis.set_title(f"{name}: {rmse(index, scene.truth_index):.2f}")
for axis in axes.flat:
    axis.set_axis_off()
figure.colorbar(shown, ax=axes, label="frame", shrink=0.7)
