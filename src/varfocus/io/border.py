"""The border between files, libraries and users: every failure is translated here.

Readers know what is wrong but not what the file is called; libraries fail in their own ways.
`border` knows the file and turns both into errors of `varfocus.errors`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from varfocus.errors import InputError, TooLargeError, UnreadableFrameError, VarfocusError


class RefusedError(Exception):
    """What a reader says about a file; `border` adds the name.

    Parameters
    ----------
    kind : type of VarfocusError
        The error it becomes.
    received, expected, remedy : str
        As in `VarfocusError`, without the name of the file.
    """

    def __init__(
        self, kind: type[VarfocusError], received: str, expected: str, remedy: str
    ) -> None:
        super().__init__(received)
        self.kind, self.received, self.expected, self.remedy = kind, received, expected, remedy


def damaged(what: str) -> RefusedError:
    """Return the refusal of a file whose content is broken or incomplete."""
    return RefusedError(
        UnreadableFrameError,
        what,
        "expected a complete, undamaged image",
        "Copy or export the file again, or leave it out.",
    )


def unsupported(what: str, expected: str = "") -> RefusedError:
    """Return the refusal of a file that is fine but of a kind that is not read."""
    return RefusedError(
        UnreadableFrameError,
        what,
        expected or "expected grey or RGB pixels of 8 or 16 bits or floating point",
        "Convert the frames, for example to 16-bit TIFF or PNG.",
    )


def too_large(what: str, limit: str, option: str = "") -> RefusedError:
    """Return the refusal of a file that exceeds a limit, and the option that raises it."""
    return RefusedError(
        TooLargeError,
        what,
        f"expected at most {limit}",
        f"Crop or scale the frames down{f', or raise {option}' if option else ''}; if they are "
        "not that large, the file is damaged.",
    )


def too_many(what: str, limit: int) -> RefusedError:
    """Return the refusal of a file with more frames than a stack may have."""
    return RefusedError(
        TooLargeError,
        what,
        f"expected at most {limit} frames",
        "Take a part of them, or raise --max-frames; if there are not that many, the file is "
        "damaged.",
    )


def exactly(file: IO[bytes], n: int) -> bytes:
    """Read `n` bytes, or refuse the file because it ends early."""
    content = file.read(n)
    if len(content) < n:
        raise damaged("ends early")
    return content


@contextmanager
def library(name: str) -> Iterator[None]:
    """Refuse the file if the library called inside fails, in whatever way.

    Decoders given broken files raise nearly anything (``struct.error``, ``KeyError``,
    ``ZeroDivisionError``, their own classes), hence the wide net; only calls into the library
    belong inside.

    Parameters
    ----------
    name : str
        What to call the library in the message.
    """
    try:
        yield
    except (RefusedError, VarfocusError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise damaged(f"cannot be decoded ({name}: {reason})") from error


@contextmanager
def border(path: Path) -> Iterator[None]:
    """Turn failures inside into errors that name `path`."""
    try:
        yield
    except RefusedError as refused:
        raise refused.kind(f"{path}: {refused.received}", refused.expected, refused.remedy) from (
            refused.__cause__ or refused
        )
    except FileNotFoundError as error:
        from varfocus.io.formats import readable  # which has the readers, which have this

        raise UnreadableFrameError(
            f"{path}: no such file or folder",
            f"expected a {readable()} file, or a folder of such",
            "Check the name; it may have been moved or deleted.",
        ) from error
    except PermissionError as error:
        raise UnreadableFrameError(
            f"{path}: permission denied",
            "expected a file or folder that you may read",
            "Change its permissions, or copy it to a place of your own.",
        ) from error
    except MemoryError as error:
        raise TooLargeError(
            f"{path}: not enough memory to decode it",
            "expected a file that fits into memory",
            "Crop or scale the frames down, or use a machine with more memory.",
        ) from error
    except OSError as error:
        raise InputError(
            f"{str(path)[:300]}: cannot be opened ({error.strerror or error})",
            "expected a readable file or folder",
            "Check the name and the device it is on.",
        ) from error
