"""
The contrast of one pixel
=========================

Everything begins with this curve: how sharp a pixel is in each frame. A textured pixel has one
clear peak. A pixel beside the cord has two, because the blurred cord in front leaks over it. A
plain pixel has none, and its depth comes from its neighbours.
"""

import matplotlib.pyplot as plt
import numpy as np

import varfocus

scene = varfocus.simulate("table", n=21)
stack = scene.stack
sharpness = np.stack(
    [
        varfocus.contrast.gaussian(varfocus.contrast.mlap(stack.read_unit(k)), 1.25)
        for k in range(len(stack))
    ]
)
result = varfocus.reconstruct(stack)

places = {"on the card": (60, 90), "beside the cord": (78, 25), "on plain paper": (228, 235)}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.imshow(scene.sharp)
left.set_axis_off()
for name, (y, x) in places.items():
    (line,) = right.plot(sharpness[:, y, x] / sharpness.max(axis=0).mean(), "o-", ms=3, label=name)
    right.axvline(result.index[y, x], color=line.get_color(), ls=":")
    left.plot(x, y, "o", mfc="none", mew=2, ms=12, color=line.get_color())
right.set(xlabel="frame", ylabel="contrast", title="dotted: the depth that was found")
right.legend()
