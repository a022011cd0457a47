"""The command line: a thin layer that reads, calls the pipeline, and writes.

Exit codes: 0 done, 1 a bug of varfocus, 2 usage, 3 unreadable or inconsistent input, 4 too large,
5 solver failed, 6 batch with failures, 130 interrupted, 143 terminated, 129 terminal closed.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, get_args

from cyclopts import App, ArgumentCollection, CycloptsError, Parameter
from rich.console import Console
from rich.markup import escape

import varfocus
from varfocus.bugs import ours
from varfocus.errors import UsageError

COMMANDS = {
    "depth": "Turn a focus stack into a depth map and an all-in-focus image.",
    "fuse": "Make one picture with everything in focus, and nothing else.",
    "app": "Open a page in the browser to see, probe and steer a reconstruction.",
    "batch": "Process many stacks unattended, here or on a cluster.",
    "export": "Make meshes, depth maps and metrology files from a result.",
    "measure": "Measure roughness, profiles and steps of a result.",
    "animate": "Make a rocking or stereo view of a result, or a sweep through focus.",
    "align": "Align the frames of a focus stack and write them.",
    "compare": "Show the paper's comparison of methods on a focus stack.",
    "simulate": "Make a focus stack with known depth.",
    "reproduce": "Repeat the experiments of the paper.",
    "evaluate": "Measure the accuracy of every method where the depth is known.",
    "info": "Show what a focus stack consists of, without decoding it.",
    "demo": "Simulate a scene, reconstruct it, and show how well that went.",
    "doctor": "Check that varfocus and what it needs are in order.",
}
"""Every command, those used most first: the module of its name, loaded when it is called."""

EXAMPLES = {
    "depth": (
        "varfocus depth shots/ -o out/",
        "varfocus depth zstack.tif -o out/ --z-step 2um --alpha 1/16",
        "varfocus depth incoming/ -o out/ --follow --frames 30",
    ),
    "batch": (
        "varfocus batch plates/ -o results/",
        "varfocus batch manifest.csv -o results/ --dry-run",
        "varfocus batch plates/ -o results/ --cluster tcp://head:8786",
        "varfocus batch incoming/ -o results/ --watch --frames 20",
    ),
    "export": (
        "varfocus export out/ -o part.glb part.stl",
        "varfocus export out/ -o part.x3p --pixel-size 0.5um",
        "varfocus export out/ -o print.stl --solid --print-size 80",
    ),
    "measure": (
        "varfocus measure out/",
        "varfocus measure out/ --line 10,200,900,200 --width 5",
        "varfocus measure out/ --step 10,10,80,80 200,10,80,80",
        "varfocus measure out/ --shapes shapes.json -o table.csv",
    ),
    "animate": (
        "varfocus animate out/ -o rocking.webp",
        "varfocus animate shots/ -o sweep.mp4 --seconds 4",
        "varfocus animate out/ -o anaglyph.png",
    ),
    "fuse": (
        "varfocus fuse shots/ -o fused.jpg",
        "varfocus fuse infrared/ -o infrared.png --apply-depth out/",
        "varfocus fuse shots/ -o slabs/ --slab-size 10 --slab-overlap 3",
    ),
    "align": (
        "varfocus align shots/ --dry-run",
        "varfocus align shots/ -o aligned/",
        "varfocus align infrared/ -o aligned_ir/ --transforms-from aligned/",
    ),
    "compare": ('varfocus compare "shots/*.jpg" -o comparison.png --alpha 1/12 1/4 1/28',),
    "simulate": (
        "varfocus simulate cone --texture photo.png -o stack/",
        "varfocus simulate photo/ -o stack/ --aperture hexagon --grain 0.01 --jpeg 90",
    ),
    "reproduce": ("varfocus reproduce --quick", "varfocus reproduce table1 --texture rings.tif"),
    "evaluate": (
        "varfocus evaluate --quick",
        'varfocus evaluate --scenes "cone*" steps --methods robust',
        "varfocus evaluate my_stack/ --scenes none -o mine/",
        "varfocus evaluate --pictures pictures/ --split test --crop 256",
        "varfocus evaluate --benchmark lightfield 4d-light-fields/",
    ),
    "info": ("varfocus info shots/",),
    "app": ("varfocus app shots/", "varfocus app result/", "varfocus app"),
}

READING = ("depth", "batch", "fuse", "align", "compare", "evaluate", "info", "app")
"""Commands that are given frames."""

INTERRUPTED_EXIT_CODE = 130


LEAST_WIDTH = 24
"""Columns of help: in one or two, rich would break words for ever."""


class Terminated(BaseException):
    """The system, a job scheduler or a closed terminal asked the process to end."""


def _terminate(signum: int, frame: object) -> NoReturn:
    del frame
    signal.signal(signum, signal.SIG_IGN)  # once is enough: let it clean up
    raise Terminated(128 + signum)


@contextmanager
def _ends_tidily() -> Iterator[None]:
    """Turn a request to end into an exception, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    requests = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
        requests.append(signal.SIGHUP)
    before = {request: signal.signal(request, _terminate) for request in requests}
    try:
        yield
    finally:
        for request, handler in before.items():
            signal.signal(request, handler)


def _fractions(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Let people write 1/8 where a number is expected, as the paper does."""
    del app, commands
    for argument in arguments:
        if argument.hint not in (float, float | None, list[float] | None):
            continue
        for k, token in enumerate(argument.tokens):
            if "/" in token.value:
                try:
                    value = str(float(Fraction(token.value)))
                except (ValueError, ZeroDivisionError):
                    continue  # the ordinary conversion reports it
                argument.tokens[k] = token.evolve(value=value)


def _whole_numbers(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Refuse 5.5 where a whole number is expected; it would be rounded silently."""
    del app, commands
    for argument in arguments:
        if argument.hint in (int, int | None):
            for token in argument.tokens:
                if not re.fullmatch(r"[-+]?[0-9]+", token.value):
                    raise UsageError(
                        f"received {argument.name} {token.value}", "expected a whole number"
                    )


def _named_paths(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Refuse -o "": an empty variable of a script would mean the working directory."""
    del app, commands
    for argument in arguments:
        if Path in (argument.hint, *get_args(argument.hint)):
            for token in argument.tokens:
                if not token.value:
                    raise UsageError(
                        f"received {argument.name} ''", "expected the name of a file or folder"
                    )


def _epilogue(command: str) -> str:
    """Return what the help of a command ends with: what it reads, and examples."""
    paragraphs = []
    if command in READING:
        from varfocus.io.formats import readable

        paragraphs.append(f"Frames are {readable()} files, recognised by their content.")
    if command in EXAMPLES:
        paragraphs.append("Examples:\n" + "".join(f"\n    {line}" for line in EXAMPLES[command]))
    return "\n\n".join(paragraphs)


def _default(value: object) -> str | None:
    """Return how help shows a default: that nothing is set unless given goes without saying."""
    return None if value is False or value is None else str(value)


def build(command: str | None = None) -> App:
    """Return the command-line application; commands are imported when used.

    Parameters
    ----------
    command : str, optional
        The command that will be called: its help is its docstring. The others are only listed,
        with the line in `COMMANDS`.
    """
    app = App(
        name="varfocus",
        help="Depth maps, all-in-focus images and measurable surfaces from focus stacks.",
        version=varfocus.__version__,
        config=(_fractions, _whole_numbers, _named_paths),
        console=Console(width=max(Console().width, LEAST_WIDTH)),
        # Markdown joins wrapped lines of docstrings; the list of commands does not need it.
        help_format="markdown" if command in COMMANDS else "plaintext",
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(show_default=_default),
    )
    for place, (name, summary) in enumerate(COMMANDS.items()):
        about: dict[str, Any] = {"help": summary, "sort_key": place}
        if name == command:
            about = {"help_epilogue": _epilogue(name)}
        app.command(f"varfocus.cli.{name}:{name}", name=name, **about)
    return app


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    arguments : list of str, optional
        What follows the program's name; by default what the shell gave.

    Returns
    -------
    int
        Exit code.
    """
    if arguments is None:
        _open_streams()
        # Figures go to files only; a notebook tells its shell of a backend that we may not have.
        os.environ["MPLBACKEND"] = "agg"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without µ is no reason to fail
            stream.reconfigure(errors="replace")
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    words = sys.argv[1:] if arguments is None else arguments
    if arguments is None and not sys.warnoptions:  # a program of its own: what NumPy notes is ours
        warnings.simplefilter("ignore", RuntimeWarning)
    try:
        with _ends_tidily():
            build(words[0] if words else None)(
                words,
                exit_on_error=False,
                print_error=False,
                result_action="return_value",
            )
            sys.stdout.flush()  # here, where a reader that went away is no failure
    except KeyboardInterrupt:
        console.print("interrupted; nothing half-written was left behind")
        return INTERRUPTED_EXIT_CODE
    except Terminated as request:
        console.print("terminated; nothing half-written was left behind")
        return int(request.args[0])
    except BrokenPipeError:
        # The reader went away; Python would complain again while flushing at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _report(error, console)
    return 0


class _Unheard(io.RawIOBase):
    """A stream for narration: what nobody is there to hear does not stop the work."""

    def __init__(self, told: io.TextIOWrapper, raw: io.RawIOBase) -> None:
        super().__init__()
        self._told, self._raw = told, raw  # the first would close the second when it is let go

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return bool(self._raw.isatty())

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def write(self, data: Any) -> int:
        try:
            return self._raw.write(data) or 0
        except OSError:  # its reader went away, or the disk is full
            return len(data)


def _open_streams() -> None:
    """Make standard streams that can be used, whatever the process was given.

    A closed one is opened on the null device, also because the next file to be opened would get its
    number, and with it what libraries print.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))  # noqa: PTH123, SIM115
    told = sys.stderr
    if isinstance(told, io.TextIOWrapper):
        # Where Python does not buffer (-u), what should be the buffer is the raw stream.
        raw: Any = getattr(told.buffer, "raw", told.buffer)
        buffer = io.BufferedWriter(_Unheard(told, raw))
        sys.stderr = io.TextIOWrapper(
            buffer, told.encoding, told.errors, line_buffering=True, write_through=True
        )


def _report(error: Exception, console: Console) -> int:
    """Print an error, whatever it is, and return its exit code."""
    if isinstance(error, CycloptsError):
        error = UsageError(" ".join(str(error).split()), "", "Try --help.")
    error = ours(error)
    first, *rest = str(error).splitlines()
    console.print(f"[red]error:[/red] {escape(first)}")
    for line in rest:
        console.print(f"       {escape(line)}")
    return error.exit_code
