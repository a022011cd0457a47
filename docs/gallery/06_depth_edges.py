"""
Where one object hides another
==============================

A blurred foreground leaks contrast over the background, so contrast alone draws its outline too
far out (left). The edge stage renders what the camera should have seen and moves the border to
where that explains the frames (middle).
"""

import matplotlib.pyplot as plt

import varfocus

scene = varfocus.simulate("wire", n=15, seed=1)
alone = varfocus.reconstruct(scene.stack, edges="off")
rendered = varfocus.reconstruct(scene.stack)

window = (slice(70, 190), slice(90, 250))
maps = {
    "contrast alone": alone.index,
    "with the edge stage": rendered.index,
    "truth": scene.truth_index,
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
for axis, (name, index) in zip(axes, maps.items(), strict=True):
    axis.imshow(index[window], vmin=0, vmax=14)
    axis.set_title(name)
    axis.set_axis_off()
