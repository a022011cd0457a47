"""Many stacks: on this machine or on a Dask cluster, unattended, to be continued at any time.

>>> import varfocus.batch
>>> summary = varfocus.batch.run("plates/", "results/")              # doctest: +SKIP
>>> summary = varfocus.batch.run("plates/", "results/", client=client)  # doctest: +SKIP
>>> summary.counts                                                   # doctest: +SKIP
{'done': 198, 'kept': 0, 'failed': 2, 'waiting': 0}
"""

from varfocus.batch.conduct import Listener
from varfocus.batch.stacks import Stack
from varfocus.batch.summary import Summary
from varfocus.batch.work import run

__all__ = ["Listener", "Stack", "Summary", "run"]
