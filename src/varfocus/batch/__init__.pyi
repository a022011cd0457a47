from .dispatch import Listener
from .stacks import Stack
from .summary import Summary
from .work import run

__all__ = ["Listener", "Stack", "Summary", "run"]
