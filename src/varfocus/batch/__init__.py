"""Many stacks: on this machine or on a Dask cluster, unattended, to be continued at any time.

>>> import varfocus
>>> summary = varfocus.batch.run("plates/", "results/")  # doctest: +SKIP
>>> summary = varfocus.batch.run("plates/", "results/", client=client)  # doctest: +SKIP
>>> summary.counts  # doctest: +SKIP
{'done': 198, 'kept': 0, 'failed': 2, 'waiting': 0}
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
