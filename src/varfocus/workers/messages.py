"""Messages between a worker and its supervisor: pickles, each preceded by its length in bytes.

Both ends are the same program of the same user, so a pickle cannot make either of them do anything
that it could not do by itself.
"""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any

LENGTH = struct.Struct("<Q")


def packed(message: Any) -> bytes:
    """Return a message as bytes; whatever cannot be pickled raises before anything is sent."""
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(content)) + content


def read(stream: IO[bytes]) -> bytes:
    """Return the content of the next message, for `pickle.loads`.

    Parameters
    ----------
    stream : binary file
        The end of a pipe.

    Raises
    ------
    EOFError
        If the other end is gone.
    """
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], count: int) -> bytes:
    content = bytearray()
    while len(content) < count:  # a pipe gives what is there
        piece = stream.read(count - len(content))
        if not piece:
            raise EOFError
        content += piece
    return bytes(content)
