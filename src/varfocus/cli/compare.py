"""``varfocus compare``: the paper's comparison on any stack, as one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from varfocus.align import align as align_frames
from varfocus.cli.console import Narrator, Talk, TalkOptions
from varfocus.cli.options import AlignOptions
from varfocus.cli.source import FocusOptions, Frames, load
from varfocus.export.atomic import prepare_folder, write_atomically
from varfocus.io.calibration import Focus
from varfocus.params import AlignParams, Params
from varfocus.plan import admit
from varfocus.studies import comparison

Numbers = Annotated[list[float] | None, Parameter(consume_multiple=True, negative=())]


def compare(
    source: Frames,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("comparison.png"),
    alpha: Numbers = None,
    tv_weight: Numbers = None,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    focus: FocusOptions = Focus(),
    align: AlignOptions = AlignParams(),
    talk: TalkOptions = Talk(),
) -> None:
    """Show classical maps, the variational method and TV denoising side by side.

    One picture as in figures 4 and 5 of the paper: a frame, MLAP 9×9, MLAP 41×41 with an 11×11
    median, three values of α, the classical map denoised by total variation at two weights; then
    contrast averaged by a guided filter, MLAP and the ring difference of Surh et al., and last the
    robust method, the default of varfocus depth. All see the same frames, aligned as varfocus depth
    would. Where the truth is known, varfocus evaluate measures them.

    Parameters
    ----------
    source
        A folder, a pattern such as "shots/*.jpg", several files, or one file that holds a
        stack.
    output
        The picture to write.
    alpha
        Weights of the variational method; by default 1/16, 1/8 and 1/4.
    tv_weight
        Weights in frames of the denoising; by default the paper's, scaled to the number of frames.
    overwrite
        Replace an existing picture.
    """
    narrator = Narrator(talk)
    stack = load(source, focus, narrator)
    admit(stack, Params("robust"), None)
    prepare_folder(output.parent, [output.name], overwrite)
    with narrator.bars() as progress:
        stack, alignment = align_frames(stack, align, progress)
        maps = comparison.compare(
            stack,
            alpha or comparison.ALPHAS,
            tv_weight,
            progress=progress,
            others={
                words: comparison.named(name) for name, words in comparison.VARIANT_WORDS.items()
            }
            | {"robust": comparison.named("robust")},
        )
    narrator.say(alignment.summary())
    for warning in alignment.warnings:
        narrator.warn(warning)
    write_atomically(output, comparison.picture(stack, maps))
    narrator.result(f"{output}  {len(maps)} depth maps", {"picture": str(output), "maps": [*maps]})
