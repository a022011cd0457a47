"""What a reconstruction gives back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varfocus import export
from varfocus.minimise import Trace
from varfocus.params import Params
from varfocus.stack import FRAMES, FocusStack


@dataclass(frozen=True)
class Result:
    """Depth and everything that belongs to it.

    Attributes
    ----------
    depth : ndarray of shape (H, W), float32
        In `unit`; NaN where unknown.
    index : ndarray of shape (H, W), float32
        The same as a fractional 0-based frame number.
    confidence : ndarray of shape (H, W), float32
        Estimated probability that the depth is right to within one frame.
    fused : ndarray of shape (H, W) or (H, W, 3)
        All-in-focus image in the dtype of the frames.
    trace : Trace or None
        How the minimisation went; None for methods without one.
    stack : FocusStack
        What it was made from.
    params : Params
        Every parameter as it was used.
    warnings : tuple of str
        What was adjusted or looks doubtful.
    seconds : float
        How long it took.
    uncertainty : ndarray of shape (H, W), float32, or None
        Standard error of the depth in `unit` where it is not grossly wrong (how likely that is,
        `confidence` says); None for methods that do not know it.
    known : ndarray of shape (H, W), bool, or None
        False where no more than noise speaks for the depth; None for methods that cannot tell.
    findings : dict or None
        What the method found out about the stack, such as the focus coordinate.
    """

    depth: NDArray[np.float32]
    index: NDArray[np.float32]
    confidence: NDArray[np.float32]
    fused: NDArray[Any]
    trace: Trace | None
    stack: FocusStack
    params: Params
    warnings: tuple[str, ...]
    seconds: float
    uncertainty: NDArray[np.float32] | None = None
    known: NDArray[np.bool_] | None = None
    findings: dict[str, object] | None = None

    @property
    def unit(self) -> str:
        """Unit of the depth; ``"frames"`` when no focus positions are known."""
        return self.stack.unit if self.stack.focus is not None else FRAMES

    def save(
        self, folder: str | Path, *, overwrite: bool = False, command: str = ""
    ) -> dict[str, Path]:
        """Write all products into a folder.

        ``depth.tif`` (float32, opens calibrated in Fiji), ``confidence.tif``,
        ``uncertainty.tif`` if the method knows it, ``fused.png`` (or ``fused.tif`` for
        floating-point frames), ``preview.png``, and last ``run.json`` with every
        parameter: its presence means that the folder is complete.

        Parameters
        ----------
        folder : path
            Created if missing.
        overwrite : bool
            Replace files of an earlier run.
        command : str
            The command that asked for it, for the record.

        Returns
        -------
        dict of str to Path
            What was written, by product.

        Raises
        ------
        OutputError
            If the folder cannot be written, or holds results already.
        """
        return export.write_result(
            Path(folder),
            depth=self.depth,
            confidence=self.confidence,
            uncertainty=self.uncertainty,
            fused=self.fused,
            unit=self.unit,
            record=self.record(command),
            overwrite=overwrite,
        )

    def record(self, command: str = "") -> dict[str, Any]:
        """Return what run.json says, as plain data."""
        finite = self.depth[np.isfinite(self.depth)]
        return {
            "command": command,
            "parameters": self.params.as_keywords(),
            "input": export.describe_input(self.stack),
            "depth": {
                "unit": self.unit,
                "direction": "grows from the first frame's focus to the last one's"
                if self.stack.focus is None or self.stack.focus[-1] > self.stack.focus[0]
                else "grows from the last frame's focus to the first one's",
                "minimum": float(finite.min()) if finite.size else None,
                "maximum": float(finite.max()) if finite.size else None,
                "unknown_pixels": int(self.depth.size - finite.size),
            },
            "confidence": {"mean": float(self.confidence.mean())},
            "uncertainty": None
            if self.uncertainty is None
            else {"median": float(np.median(self.uncertainty))},
            "undetermined_pixels": None if self.known is None else int((~self.known).sum()),
            "findings": self.findings,
            "solver": None if self.trace is None else self.trace.summary(),
            "warnings": list(self.warnings),
            "seconds": round(self.seconds, 3),
        }
