"""Worker processes: started, fed, watched, limited and killed in one way for the page and batches.

Files are foreign and decoders have bugs, so whatever opens or decodes a file runs in a process of
its own. `Worker` is such a process seen from its supervisor, `Watch` holds it to its `Limits`, and
`varfocus.workers.child` is the other end of the line. Which work is handed out, and what becomes
of work that is lost, is up to the page (`varfocus.app.queue`) and the batch
(`varfocus.batch.pool`).
"""

from varfocus.workers.process import Worker
from varfocus.workers.watch import Limits, Lost, Watch

__all__ = ["Limits", "Lost", "Watch", "Worker"]
