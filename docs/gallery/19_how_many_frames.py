"""
How many frames?
================

More frames than contrast peaks need cost time and disk, fewer cost accuracy: here the error over
the number of frames that divide the same range.
"""

import matplotlib.pyplot as plt

import varfocus
from varfocus.studies.metrics import rmse

numbers = (4, 6, 9, 13, 21)
errors: dict[str, list[float]] = {"robust": [], "classic": []}
for n in numbers:
    scene = varfocus.simulate("cosine", shape=(128, 128), n=n)
    for method, list_of_errors in errors.items():
        index = varfocus.reconstruct(scene.frames, method, align="none").index
        share = rmse(index, scene.truth_index) / (n - 1)  # of the range of focus
        list_of_errors.append(100 * share)

figure, axis = plt.subplots(figsize=(8, 3.8), layout="constrained")
for method, list_of_errors in errors.items():
    axis.plot(numbers, list_of_errors, "o-", label=method)
axis.set(xlabel="frames", ylabel="RMSE (% of the range)", xticks=numbers, ylim=(0, None))
axis.legend()
