"""Everything that can go wrong for a user, as one tree of exceptions.

Each error says what was received, what was expected and what to do about it, and carries the
exit code of the command line. Anything else that escapes is a bug of varfocus (exit code 1).
"""

from __future__ import annotations

from varfocus.text import harmless


class VarfocusError(Exception):
    """Base of all errors a user can cause.

    Parameters
    ----------
    received : str
        What varfocus was given, naming the file or parameter. Like the others, on one line.
    expected : str, optional
        What it needs instead.
    remedy : str, optional
        What the user can do.
    """

    exit_code = 1

    def __init__(self, received: str, expected: str = "", remedy: str = "") -> None:
        # Names in them are foreign: none may break a line, or steer the terminal it is printed to.
        self.received, self.expected, self.remedy = map(harmless, (received, expected, remedy))
        super().__init__(self.received, self.expected, self.remedy)

    def __reduce__(self) -> tuple[object, ...]:  # some of them are made of other things
        return _again, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        return "\n".join(line for line in (self.received, self.expected, self.remedy) if line)


class UsageError(VarfocusError):
    """The request itself does not make sense."""

    exit_code = 2


class ParameterError(UsageError, ValueError):
    """A parameter is unknown, out of range, or does not belong to the chosen method."""


class OutputError(UsageError):
    """The output cannot be written where it was asked for."""


class OutputExistsError(OutputError):
    """The output exists already, and overwriting was not requested."""


class MissingExtraError(UsageError):
    """Something optional was asked for that needs a library which is not installed.

    Parameters
    ----------
    what : str
        What was asked for, such as "EXR files".
    library : str
        The library it needs.
    extra : str
        The extra of varfocus that installs it.
    """

    def __init__(self, what: str, library: str, extra: str) -> None:
        super().__init__(
            f"{what} need the library {library}, which is not installed",
            remedy=f'Install it: pip install "varfocus[{extra}]"',
        )


class InputError(VarfocusError):
    """The input cannot be read, or its parts do not belong together."""

    exit_code = 3


class NoFramesError(InputError):
    """Nothing at the given place can be read as a frame."""


class TooFewFramesError(InputError):
    """There are frames, but too few to determine focus."""


class UnreadableFrameError(InputError):
    """A file is missing, damaged, or not an image of a supported kind."""


class AmbiguousInputError(InputError):
    """A file holds several stacks, and none of them was chosen."""


class MixedFramesError(InputError):
    """Frames differ in size, channels or number type."""


class NotFiniteError(InputError):
    """Pixels are NaN or infinite."""


class NoContrastError(InputError):
    """No frame shows any structure, so nothing can be in focus."""

    def __init__(
        self,
        received: str = "received frames that are constant: no pixel differs from its neighbours",
        expected: str = "expected frames that show some structure when in focus",
        remedy: str = "Check that the frames are not all black or saturated.",
    ) -> None:
        super().__init__(received, expected, remedy)


class FocusPositionsError(InputError):
    """Focus positions do not fit the frames, or are not in order."""


class TooLargeError(VarfocusError):
    """The job exceeds a limit on size or memory."""

    exit_code = 4


class SolverError(VarfocusError):
    """The minimisation failed; the last good iterate is kept as ``state``.

    Parameters
    ----------
    received, expected, remedy : str
        As in `VarfocusError`.
    state : object, optional
        The solver's last finite state.
    """

    exit_code = 5

    def __init__(
        self, received: str, expected: str = "", remedy: str = "", state: object = None
    ) -> None:
        super().__init__(received, expected, remedy)
        self.state = state


class BatchError(VarfocusError):
    """A batch has finished, but some of its stacks failed."""

    exit_code = 6


class InternalError(VarfocusError):
    """A bug of varfocus.

    Parameters
    ----------
    error : Exception
        What was raised.
    trace : str
        File with its trace; empty if none could be written.
    """

    exit_code = 1

    def __init__(self, error: BaseException, trace: str = "") -> None:
        self.trace = trace
        where = f", with the file {trace}" if trace else ""
        super().__init__(
            f"This is a bug in varfocus: {type(error).__name__}: {str(error)[:200]}",
            "Nothing half-written was left behind.",
            f"Please report it{where}.",
        )


class VarfocusWarning(UserWarning):
    """Something was adjusted or looks doubtful, but the result stands."""


def _again(
    kind: type[VarfocusError], parts: tuple[str, ...], state: dict[str, object]
) -> VarfocusError:
    """Return a copy of an error that was sent from another process."""
    error = kind.__new__(kind, *parts)
    error.args = parts
    error.__dict__.update(state)
    return error
