#@ ImagePlus (label="Focus stack") imp
#@ String (label="Program", value="varfocus", persist=true) program
#@ Double (label="Distance of slices (0: as the stack says)", value=0) step
#@ String (label="Unit of it", value="um") unit
#@ String (label="Options of varfocus depth", value="", required=false) options
"""varfocus for Fiji, as a script: depth, confidence and all-in-focus image of a stack.

Install: copy this file into Fiji's folder plugins/Scripts/ and restart; or drop it onto Fiji and run it. Unlike the
macro it can be called from other scripts, with its five parameters by name, and it shows what varfocus says
while it works. Written for Jython, which is Python 2.7.
"""

import os
import shlex
import subprocess
import tempfile

from ij import IJ, ImagePlus
from ij.plugin import Duplicator


def one_channel(image):
    """Return the stack over focus of the channel and time that are shown."""
    channels, slices, frames = image.getNChannels(), image.getNSlices(), image.getNFrames()
    if slices == 1 and frames == 1:
        raise ValueError("the image is one picture, not a stack over focus")
    channel = image.getC()
    if slices == 1:  # a stack over time alone is taken for one over focus
        copy = Duplicator().run(image, channel, channel, 1, 1, 1, frames)
        copy.setDimensions(1, frames, 1)
        return copy
    frame = image.getT()
    return Duplicator().run(image, channel, channel, 1, slices, frame, frame)


def command(image, folder):
    """Return the command line as a list of words."""
    words = [
        program,
        "depth",
        os.path.join(folder, "stack.tif"),
        "-o",
        os.path.join(folder, "result"),
    ]
    if step:
        words += ["--z-step", "%r%s" % (step, unit)]
    return words + ["--no-report"] + shlex.split(str(options or ""))


def shown(folder, what, title):
    """Open one of the results."""
    path = os.path.join(folder, "result", what + ".tif")
    if not os.path.exists(path):
        path = os.path.join(folder, "result", what + ".png")
    image = ImagePlus(path)
    image.setTitle(what + " of " + title)
    if what == "depth":
        least, most = image.getStatistics().min, image.getStatistics().max
        image.setDisplayRange(least, most)
    elif what == "confidence":
        image.setDisplayRange(0, 1)
    image.show()
    if what == "depth":
        IJ.run(image, "mpl-viridis" if "mpl-viridis" in list(IJ.getLuts()) else "Fire", "")
    return image


folder = tempfile.mkdtemp(prefix="varfocus-")
IJ.saveAsTiff(one_channel(imp), os.path.join(folder, "stack.tif"))
words = command(imp, folder)
IJ.log(" ".join(words))
working = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
for line in iter(working.stdout.readline, b""):
    IJ.log(line.decode("utf-8", "replace").rstrip())
if working.wait() != 0:
    IJ.error("varfocus", "It did not finish; the log tells why.")
else:
    fused, confidence, depth = [
        shown(folder, what, imp.getTitle()) for what in ("fused", "confidence", "depth")
    ]
