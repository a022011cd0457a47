"""
Stairs, and how to avoid them
=============================

Total variation prefers flat pieces, so a slope becomes stairs. TGV allows slopes for nothing;
Huber's variant forgives gentle ones.
"""

import matplotlib.pyplot as plt

import varfocus

scene = varfocus.simulate("plane", shape=(120, 160), n=15, noise=0.5, spacing="dioptre")
variants = {"tv": {}, "huber": {"huber_slope": 0.1}, "tgv": {"tgv_ratio": 4}}

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 3.6), layout="constrained", width_ratios=(1, 2)
)
for name, options in variants.items():
    result = varfocus.reconstruct(scene.frames, "paper", alpha=1 / 4, regulariser=name, **options)
    right.plot(result.index[90], label=name)
    if name == "tv":
        left.imshow(result.index)
        left.axhline(90, color="w", lw=1)
        left.set_title("tv")
        left.set_axis_off()
right.plot(scene.truth_index[90], "k:", label="truth")
right.set(xlabel="pixel", ylabel="depth (frames)")
right.legend()
