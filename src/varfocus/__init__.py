"""Depth maps, all-in-focus images and measurable surfaces from focus stacks.

>>> import varfocus
>>> scene = varfocus.simulate("cone", shape=(64, 64))
>>> result = varfocus.reconstruct(scene.stack)
>>> result.depth.shape
(64, 64)
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)

__version__ = "0.1.0"
