"""Files that the page hands out: those of a result, and those made of it on request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import FileResponse, Response

from varfocus.app.requests import PRINT, product_options
from varfocus.app.retouching import STROKES
from varfocus.app.workspace import Workspace
from varfocus.export.products import PRODUCTS
from varfocus.export.result_files import RESULT_FILES, every_name

MEASURED = {"measurements.csv": "csv", "profiles.csv": "profiles"}
"""Tables that are made of what was measured last."""


def offered() -> list[dict[str, Any]]:
    """Return the files that can be downloaded, what each is, and whether all results have it."""
    files = {
        name: RESULT_FILES[product]
        for name, product in every_name().items()
        if not name.endswith(".zarr")
    }
    made = {f"{product.stem}{suffix}": product.words for suffix, product in PRODUCTS.items()}
    made[PRINT] = "closed body in millimetres, to print"
    made |= {"measurements.csv": "every measurement", "profiles.csv": "heights along all lines"}
    made[STROKES] = "strokes, for --retouch"
    return [
        {"name": name, "about": about, "made": name in made}
        for name, about in (files | made).items()
    ]


def _attached(content: bytes, name: str) -> Response:
    quoted = "".join(letter if letter.isascii() else "_" for letter in name).replace('"', "")
    headers = {"content-disposition": f'attachment; filename="{quoted}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


async def downloaded(
    workspace: Workspace, version: int, name: str, options: Mapping[str, str]
) -> Response:
    """Return a file for another program, or one that ``varfocus depth`` writes.

    Parameters
    ----------
    workspace : Workspace
        What the page works on.
    version : int
        Which result.
    name : str
        Which file.
    options : mapping of str to str
        How it is to be made, as for `varfocus.app.requests.product_options`.
    """
    folder = workspace.saved_folder(version)
    title = f"{workspace.session.file_title}-{name}"
    if name == STROKES:
        return _attached(workspace.retouching.document(version), title)
    if name in MEASURED:
        found = await workspace.looking.measured_again(version)
        return _attached(found[MEASURED[name]].encode(), title)
    if name in {path.name for path in folder.iterdir()}:
        if (folder / name).resolve().parent != folder.resolve() or (not (folder / name).is_file()):
            return Response(status_code=404)  # a link that leads elsewhere
        return FileResponse(folder / name, filename=title)
    if name not in {product["name"] for product in offered()}:
        return Response(status_code=404)
    shape, look = product_options(name, options)
    path = await workspace.looking.product(version, name, shape, look)
    return FileResponse(path, filename=title)
