"""One stack, from files to a folder of results: ``varfocus depth``, and each stack of a batch."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from varfocus import export
from varfocus.bugs import guarded
from varfocus.errors import OutputError
from varfocus.export.atomic import prepare_folder
from varfocus.export.result_files import TiledFormat
from varfocus.export.tiled import check_format
from varfocus.files import resolved
from varfocus.io.calibration import Focus, open_stack
from varfocus.params import DEFAULT_METHOD, Limits, Params, Resources
from varfocus.pipeline import run
from varfocus.plan import Plan, plan
from varfocus.progress import Progress, silent
from varfocus.ranges import path as as_path
from varfocus.result import Written
from varfocus.stack import FocusStack


@dataclass(frozen=True)
class Job:
    """What was asked for.

    Attributes
    ----------
    source : tuple of str
        One folder, pattern or file that holds a stack, or several files.
    params : Params
        Parameters of the reconstruction.
    focus : Focus
        What the user says about the frames.
    report : bool
        Write ``report.html``.
    keep_gps : bool
        Keep in the fused image where the frames were taken.
    tiled_format : {"tiff", "zarr"}
        Format of maps that do not fit into memory.
    """

    source: tuple[str, ...]
    params: Params = field(default_factory=Params)
    focus: Focus = field(default_factory=Focus)
    report: bool = True
    keep_gps: bool = False
    tiled_format: TiledFormat = "tiff"

    def open(self) -> FocusStack:
        """Return the frames, not yet decoded."""
        return open_stack(self.source, self.focus)

    def plan(self, stack: FocusStack, resources: Resources) -> Plan:
        """Return how the job will be done, given its frames and what it may use."""
        return plan(stack, self.params, resources, self.focus.limits)

    def asked(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, by name, as plain data."""
        options = self.params.changes() | self.focus.asked()
        if not self.report:
            options["report"] = False
        if self.keep_gps:
            options["keep_gps"] = True
        if self.tiled_format != "tiff":
            options["tiled_format"] = self.tiled_format
        return {k: str(v) if isinstance(v, Path) else v for k, v in options.items()}

    def as_data(self) -> dict[str, Any]:
        """Return what `from_data` needs to make the same job, as plain data for JSON."""
        focus = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(self.focus).items()}
        return {
            "source": list(self.source),
            "params": self.params.as_keywords(),
            "focus": focus,
            "report": self.report,
            "keep_gps": self.keep_gps,
            "tiled_format": self.tiled_format,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Job:
        """Return the job that `as_data` described."""
        focus = dict(data["focus"])
        for name in ("focus_distances", "dark", "flat"):
            if focus[name] is not None:
                focus[name] = Path(focus[name])
        focus["limits"] = Limits(**focus["limits"])
        return cls(
            tuple(data["source"]),
            Params.from_keywords(**data["params"]),
            Focus(**focus),
            data["report"],
            data["keep_gps"],
            data["tiled_format"],
        )


def to_command(job: Job, output: str) -> str:
    """Return the command line that does a job, as people would type it.

    Parameters
    ----------
    job : Job
        What was asked for; options at their defaults are left out.
    output : str
        Folder for the results.

    Returns
    -------
    str
        Such as ``varfocus depth shots -o result --smoothness 2.0 --no-report``, quoted for a shell.
    """
    words = ["varfocus", "depth", *job.source, "-o", output]
    for name, value in job.asked().items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif str(value).startswith("-"):  # or it would be taken for another option
            words.append(f"--{flag}={value}")
        else:
            words += [f"--{flag}", str(value)]
    return shlex.join(words)


def produce(
    job: Job,
    stack: FocusStack,
    output: Path,
    *,
    overwrite: bool = False,
    command: str = "",
    timed: bool = True,
    resources: Resources = Resources(),
    progress: Progress = silent,
    say: Callable[[str], None] = lambda _: None,
    planned: Plan | None = None,
) -> Written:
    """Reconstruct a stack, in tiles if it does not fit into memory, and write its results.

    Parameters
    ----------
    job : Job
        What was asked for.
    stack : FocusStack
        Its frames: `Job.open`.
    output : Path
        Folder for the results, made if missing.
    overwrite : bool
        Replace the results of an earlier run.
    command : str
        The command that asked for it, for the record.
    timed : bool
        Record the time it took. Without it the same job leaves the same bytes every time.
    resources : Resources
        Threads and memory it may use.
    progress : callable
        Listener.
    say : callable
        Called with one line of text before work begins, if the stack is processed in tiles.
    planned : Plan, optional
        From `Job.plan`; by default it is made here.

    Returns
    -------
    Written
        Files and record.

    Raises
    ------
    VarfocusError
        If the input cannot be used, does not fit, or the output cannot be written.
    """
    keep_apart(output, stack)
    planned = planned or job.plan(stack, resources)
    tiled = None if planned.side is None else job.tiled_format
    if tiled is not None:
        check_format(tiled)
        say(f"{planned.words}.")
    prepare_folder(output, export.file_names(stack.dtype, tiled).values(), overwrite)
    result = run(stack, job.params, progress, resources, planned=planned, folder=output)
    return result.write(
        output,
        overwrite=overwrite,
        command=command,
        asked=job.asked(),
        timed=timed,
        report=job.report,
        keep_gps=job.keep_gps,
        tiled_format=job.tiled_format,
    )


@guarded
def reconstruct_into(
    folder: str | Path,
    stack: FocusStack | ArrayLike,
    method: str = DEFAULT_METHOD,
    *,
    focus: ArrayLike | None = None,
    unit: str | None = None,
    threads: int | None = None,
    max_memory: str | None = None,
    tiled_format: TiledFormat = "tiff",
    overwrite: bool = False,
    progress: Progress = silent,
    **parameters: Any,
) -> dict[str, Path]:
    """Reconstruct a stack of any size, and write the result into a folder.

    Parameters
    ----------
    folder : path
        Created if missing.
    stack, method, focus, unit, threads, max_memory, progress, **parameters
        As for `varfocus.reconstruct`.
    tiled_format : {"tiff", "zarr"}
        Format of maps that do not fit into memory: tiled BigTIFF or OME-Zarr.
    overwrite : bool
        Replace the results of an earlier run.

    Returns
    -------
    dict of str to Path
        What was written, by product.
    """
    params = Params.from_keywords(method, **parameters)
    if not isinstance(stack, FocusStack):
        stack = FocusStack.from_array(stack)
    written = produce(
        Job((), params, tiled_format=tiled_format),
        stack.with_focus(focus, unit),
        as_path("folder", folder),
        overwrite=overwrite,
        resources=Resources(threads, max_memory),
        progress=progress,
    )
    return dict(written.files)


def keep_apart(output: Path, stack: FocusStack) -> None:
    """Refuse to write results beside the frames."""
    keep_apart_from(output, {resolved(path).parent for path in stack.files})


def keep_apart_from(output: Path, folders: Iterable[Path]) -> None:
    """Refuse to write results into one of the folders that frames are in."""
    if resolved(output) in {resolved(folder) for folder in folders}:
        raise OutputError(
            f"received the folder of the frames as output: {output}",
            "expected another folder, or the next run would take the results for frames",
            f"For example -o {output / 'result'}",
        )
