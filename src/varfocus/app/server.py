"""The page's server: routes, nothing else. Numbers are made elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
import shutil
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

import varfocus
from varfocus.app import schema
from varfocus.app.guard import Guard
from varfocus.app.retouching import STROKES
from varfocus.app.sessions import Shelf
from varfocus.app.tiles import TILE, read_tile
from varfocus.app.workspace import Mode, SupersededError, Workspace
from varfocus.errors import InputError, ParameterError, TooLargeError, VarfocusError
from varfocus.export import images
from varfocus.export.products import PRODUCTS, PictureShape, Shape
from varfocus.export.result_files import RESULT_FILES, every_name
from varfocus.export.saved import SavedResult
from varfocus.io import read_stack
from varfocus.io.calibration import Focus
from varfocus.io.formats import readable
from varfocus.simulation import simulate
from varfocus.stack import FocusStack
from varfocus.surface.measurements import Measurements

MAX_UPLOAD = 4 << 30
"""Bytes of one uploaded file."""

SPARE_DISK = 512 << 20
"""Bytes that an upload must leave free."""

LONGEST_NAME = 120
"""Letters in the name of a result."""

MAX_REQUEST = 1 << 20
"""Bytes of a JSON request."""

MAX_STROKES = 32 << 20
"""Bytes of a request that has all strokes of a result."""

MEASURED = {"measurements.csv": "csv", "profiles.csv": "profiles"}
"""Tables that are made of what was measured last."""

PRINT = "print.stl"
"""The surface as a closed body."""

EVENTS_WAITING = 256
"""Events that may wait for a slow page; then the oldest are dropped."""

IMMUTABLE = {"cache-control": "private, max-age=31536000, immutable"}
"""For what never changes under its address."""

PALETTES = ["viridis", "cividis", "magma", "gray", "RdBu_r"]
"""Colour maps of even steps, the last for differences; never jet."""

EXAMPLE_SIZE = 512, 384
"""Width and height of the frames of the example."""

LARGEST_PLACE = 1e6
"""Pixels beyond which nothing is drawn."""

SHOWN_MAPS = ("depth", "confidence", "index", "uncertainty", "fused")


def static_folder() -> Path:
    """Return where the built page lies."""
    return Path(str(resources.files("varfocus.app"))) / "static"


class Page:
    """Everything behind one page: the workspace, and its listeners.

    Parameters
    ----------
    content : FocusStack, SavedResult or None
        What to begin with: frames, or a result.
    source : sequence of str
        What the user called them on the command line.
    focus : Focus
        Options given for them there.
    shelf : Shelf, optional
        Where the work is kept; by default nowhere.
    """

    def __init__(
        self,
        content: FocusStack | SavedResult | None = None,
        source: Sequence[str] = (),
        focus: Focus = Focus(),
        shelf: Shelf | None = None,
    ) -> None:
        self._content, self._source, self._focus = content, source, focus
        self._shelf = shelf
        self._listeners: set[asyncio.Queue[dict[str, Any]]] = set()
        self._uploads = 0

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Open the workspace while the server runs."""
        self.workspace = Workspace(self._publish, self._shelf)
        try:
            if isinstance(self._content, FocusStack):
                await self.workspace.begin(self._content, self._source, self._focus)
            elif self._content is not None:
                self.workspace.open_result(self._content)
            yield
        finally:
            self.workspace.close()

    def _publish(self, event: dict[str, Any]) -> None:
        for queue in self._listeners:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(event)

    # What the page asks for

    async def state(self, _: Request) -> Response:
        """Return the current state."""
        about = {
            "varfocus": varfocus.__version__,
            "tile": TILE,
            "methods": schema.methods(),
            "formats": readable(stores=False),
            "palettes": PALETTES,
            "products": offered(),
        }
        return JSONResponse(about | self.workspace.state())

    async def events(self, socket: WebSocket) -> None:
        """Tell the page what happens, as it happens."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(EVENTS_WAITING)
        await socket.accept()
        self._listeners.add(queue)
        hung_up = asyncio.create_task(_hung_up(socket))
        try:
            while not hung_up.done():
                following = asyncio.create_task(queue.get())
                await asyncio.wait({following, hung_up}, return_when=asyncio.FIRST_COMPLETED)
                if following.done():
                    await self._tell(socket, following.result())
                else:
                    following.cancel()
        except WebSocketDisconnect:
            pass
        finally:
            hung_up.cancel()
            self._listeners.discard(queue)

    async def _tell(self, socket: WebSocket, event: dict[str, Any]) -> None:
        """Send an event; a sketch together with its maps, to save a request.

        Such a message is binary: the length of the JSON text as a 32-bit number, the text, and the
        maps one after the other. A sketch that a newer one has replaced is not sent any more, so
        that a slow page holds no more than one of them here.
        """
        if event["kind"] != "result" or not event["result"]["preview"]:
            await socket.send_json(event)
            return
        maps = self.workspace.sketch(event["result"]["version"])
        if maps is None:
            return
        text = json.dumps(event | {"sketch": list(maps)}).encode()
        text += b" " * (-len(text) % 4)  # maps begin at whole numbers
        buffers = [np.ascontiguousarray(values).tobytes() for values in maps.values()]
        await socket.send_bytes(b"".join([len(text).to_bytes(4, "little"), text, *buffers]))

    async def example(self, _: Request) -> Response:
        """Open a simulated scene, from files like any other; what was open is kept."""
        self.workspace.clear("new")
        folder = self.workspace.folder / "example"
        await asyncio.to_thread(_write_example, folder)
        recipe = "varfocus simulate table -o example --size {} {}".format(*EXAMPLE_SIZE)
        self.workspace.open(read_stack(str(folder)), ["example/frames"], recipe=recipe)
        return JSONResponse({})

    async def clear(self, _: Request) -> Response:
        """Begin anew; what was open is kept."""
        self.workspace.clear("new")
        return JSONResponse({})

    async def sessions(self, _: Request) -> Response:
        """Return the work that was kept."""
        listed = await asyncio.to_thread(self.workspace.shelf.listed)
        return JSONResponse([one for one in listed if one["name"] != self.workspace.folder.name])

    async def reopen(self, request: Request) -> Response:
        """Go on with work that was kept."""
        await self.workspace.reopen(request.path_params["name"])
        return JSONResponse({})

    async def forget(self, request: Request) -> Response:
        """Delete work that was kept."""
        shelf = self.workspace.shelf
        folder = shelf.find(request.path_params["name"])
        if folder != self.workspace.folder:
            await asyncio.to_thread(shelf.remove, folder)
        return JSONResponse({})

    async def choices(self, request: Request) -> Response:
        """Keep what the page remembers of what the user chose."""
        self.workspace.choose(await _body(request))
        return JSONResponse({})

    async def near(self, request: Request) -> Response:
        """Say which depths are near."""
        near = (await _body(request)).get("near")
        if near != "small" and near != "large":
            raise ParameterError(f"received {near!r} as near", "expected small or large")
        self.workspace.set_near("small" if near == "small" else "large")
        return JSONResponse({})

    async def edit(self, request: Request) -> Response:
        """Name a result, pin or delete it."""
        body = await _body(request)
        kinds = {"name": str, "pinned": bool, "deleted": bool}
        change = {key: body[key] for key in kinds if key in body}
        if not change or not all(isinstance(v, kinds[key]) for key, v in change.items()):
            raise ParameterError("received no change", "expected a name, pinned or deleted")
        if "name" in change:
            printable = "".join(letter for letter in change["name"] if letter.isprintable())
            change["name"] = printable.strip()[:LONGEST_NAME]
        self.workspace.edit(request.path_params["version"], change)
        return JSONResponse({})

    async def difference(self, request: Request) -> Response:
        """Make a map of the depth of one result minus that of another."""
        given = request.path_params
        report = await self.workspace.difference(given["version"], given["other"])
        return JSONResponse({k: v for k, v in report.items() if k not in ("id", "kind")})

    async def upload(self, request: Request) -> Response:
        """Take one file as a raw body, counted while it streams in."""
        name = display_name(request.query_params.get("name", ""))
        folder = self.workspace.upload_folder(_mode(request.query_params.get("mode", "add")))
        self._uploads += 1
        path = folder / f"{time.time_ns()}{self._uploads:06d}"
        received = 0
        try:
            _check_room(name, folder, _announced(request))
            with path.open("xb") as file:
                async for chunk in request.stream():
                    received += len(chunk)
                    _check_room(name, folder, received, len(chunk))
                    file.write(chunk)
            await self.workspace.add(path, name)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return JSONResponse({"bytes": received})

    async def uploaded(self, request: Request) -> Response:
        """Take in the files of an upload that have arrived, or forget them."""
        body = await _body(request)
        mode = _mode(body.get("mode", "add"))
        if body.get("cancelled"):
            self.workspace.drop_uploads(mode)
            return JSONResponse({"frames": 0})
        return JSONResponse({"frames": self.workspace.added(mode)})

    async def arrange(self, request: Request) -> Response:
        """Reorder, reverse or leave out frames."""
        body = await _body(request)
        self.workspace.arrange(_whole_list(body, "order"), _whole_list(body, "excluded"))
        return JSONResponse({})

    async def mask(self, request: Request) -> Response:
        """Set which pixels count by outlines drawn on the frames."""
        body = await _body(request)
        outlines = body.get("outlines")
        if not isinstance(outlines, list) or not all(_is_outline(one) for one in outlines):
            raise ParameterError(
                "received no outlines", "expected whether each counts, and its points"
            )
        drawn = [(counts, [(x, y) for x, y in points]) for counts, points in outlines]
        await self.workspace.draw_mask(drawn, bool(body.get("base", True)))
        return JSONResponse({})

    async def solve(self, request: Request) -> Response:
        """Reconstruct."""
        body = await _body(request)
        parameters = body.get("parameters")
        if not isinstance(parameters, dict):
            raise ParameterError("received no parameters", "expected an object of parameters")
        version = self.workspace.solve(parameters, bool(body.get("settled", True)))
        return JSONResponse({"version": version})

    async def cancel(self, _: Request) -> Response:
        """Stop at once."""
        self.workspace.cancel()
        return JSONResponse({})

    async def frame_preview(self, request: Request) -> Response:
        """Return a whole frame at preview size, RGBA."""
        path = self.workspace.folder / "frames" / str(request.path_params["id"]) / "preview.npy"
        if not path.is_file():
            return Response(status_code=404)
        pixels = np.load(path, allow_pickle=False)
        return Response(pixels.tobytes(), media_type="application/octet-stream", headers=IMMUTABLE)

    async def frame_tile(self, request: Request) -> Response:
        """Return a tile of a frame, RGBA."""
        return _tile(await self.workspace.frame_folder(request.path_params["id"]), request)

    async def map_tile(self, request: Request) -> Response:
        """Return a tile of a map, float32, or of the all-in-focus image, RGBA."""
        given = request.path_params
        made = re.fullmatch(r"(slab|minus)-[0-9]{1,16}", given["map"])
        if given["map"] not in SHOWN_MAPS and not made:
            return Response(status_code=404)
        numbers = (given[name] for name in ("level", "column", "row"))
        preview = given["kind"] == "preview"
        return _pixels(self.workspace.map_tile(given["version"], preview, given["map"], *numbers))

    async def palettes(self, _: Request) -> Response:
        """Return 256 RGB colours of each palette, one after the other."""
        return Response(
            await asyncio.to_thread(_palettes),
            media_type="application/octet-stream",
            headers={"cache-control": "private, max-age=3600"},
        )

    async def curve(self, request: Request) -> Response:
        """Return what the depth of one pixel rests on."""
        x, y = (_whole(request.query_params.get(name, ""), name) for name in "xy")
        report = await self.workspace.curve(request.path_params["version"], x, y)
        return JSONResponse({k: v for k, v in report.items() if k not in ("id", "kind")})

    async def measure(self, request: Request) -> Response:
        """Measure lines, steps, regions and points."""
        wanted = Measurements.from_data(await _body(request))
        report = await self.workspace.measure(request.path_params["version"], wanted)
        return JSONResponse({name: report[name] for name in ("measured", "level")})

    async def retouch(self, request: Request) -> Response:
        """Put strokes onto a result, instead of those it has."""
        strokes = (await _body(request, MAX_STROKES)).get("strokes")
        if not isinstance(strokes, list) or not all(isinstance(one, dict) for one in strokes):
            raise ParameterError("received no list of strokes", "expected objects")
        await self.workspace.retouching.draw(request.path_params["version"], strokes)
        return JSONResponse({})

    async def slabs(self, request: Request) -> Response:
        """Fuse a few frames at a time."""
        body = await _body(request)
        size, overlap = (_whole(str(body.get(name)), name) for name in ("size", "overlap"))
        await self.workspace.retouching.slabs(request.path_params["version"], size, overlap)
        return JSONResponse({})

    async def product(self, request: Request) -> Response:
        """Return a file for another program, or one that ``varfocus depth`` writes."""
        version, name = request.path_params["version"], request.path_params["name"]
        folder = self.workspace.saved_folder(version)
        title = f"{self.workspace.title}-{name}"
        if name == STROKES:
            return _download(self.workspace.retouching.document(version), title)
        if name in MEASURED:
            found = await self.workspace.measured_again(version)
            return _download(found[MEASURED[name]].encode(), title)
        if name in {path.name for path in folder.iterdir()}:
            if (folder / name).resolve().parent != folder.resolve() or (
                not (folder / name).is_file()
            ):
                return Response(status_code=404)  # a link that leads elsewhere
            return FileResponse(folder / name, filename=title)
        if name not in {product["name"] for product in offered()}:
            return Response(status_code=404)
        shape, look = _product_options(name, request.query_params)
        path = await self.workspace.product(version, name, shape, look)
        return FileResponse(path, filename=title)


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


def _product_options(name: str, given: Mapping[str, str]) -> tuple[Shape, PictureShape]:
    """Return how a file is to be made, from what an address asks for."""
    look = PictureShape(_whole(given["quality"], "quality")) if "quality" in given else None
    if name != PRINT:
        return Shape(), look or PictureShape()
    size = _millimetres(given["size"], "size") if "size" in given else None
    base = _millimetres(given["base"], "base") if "base" in given else Shape().base
    return Shape(solid=True, base=base, print_size=size), look or PictureShape()


def _millimetres(text: str, name: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 < number < 1e6:
        raise ParameterError(f"received {name} = {text!r}", "expected millimetres")
    return number


def _download(content: bytes, name: str) -> Response:
    quoted = "".join(letter if letter.isascii() else "_" for letter in name).replace('"', "")
    headers = {"content-disposition": f'attachment; filename="{quoted}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


def application(page: Page, token: str, hosts: tuple[str, ...]) -> ASGIApp:
    """Return the guarded application.

    Parameters
    ----------
    page : Page
        What it serves.
    token : str
        Secret of this server.
    hosts : tuple of str
        Names it answers to, with port.
    """
    tile = "{level:int}/{column:int}/{row:int}"
    routes = [
        Route("/api/state", page.state),
        Route("/api/example", page.example, methods=["POST"]),
        Route("/api/clear", page.clear, methods=["POST"]),
        Route("/api/sessions", page.sessions),
        Route("/api/sessions/{name}/open", page.reopen, methods=["POST"]),
        Route("/api/sessions/{name}/forget", page.forget, methods=["POST"]),
        Route("/api/choices", page.choices, methods=["POST"]),
        Route("/api/near", page.near, methods=["POST"]),
        Route("/api/upload", page.upload, methods=["PUT"]),
        Route("/api/uploaded", page.uploaded, methods=["POST"]),
        Route("/api/arrange", page.arrange, methods=["POST"]),
        Route("/api/mask", page.mask, methods=["POST"]),
        Route("/api/solve", page.solve, methods=["POST"]),
        Route("/api/cancel", page.cancel, methods=["POST"]),
        Route("/api/frames/{id:int}/preview", page.frame_preview),
        Route("/api/frames/{id:int}/" + tile, page.frame_tile),
        Route("/api/palettes", page.palettes),
        Route("/api/results/{version:int}", page.edit, methods=["POST"]),
        Route("/api/results/{version:int}/minus/{other:int}", page.difference),
        Route("/api/results/{version:int}/curve", page.curve),
        Route("/api/results/{version:int}/measure", page.measure, methods=["POST"]),
        Route("/api/results/{version:int}/retouch", page.retouch, methods=["POST"]),
        Route("/api/results/{version:int}/slabs", page.slabs, methods=["POST"]),
        Route("/api/results/{version:int}/products/{name}", page.product),
        Route("/api/results/{version:int}/{map}/{kind}/" + tile, page.map_tile),
        WebSocketRoute("/api/events", page.events),
        Mount("/", StaticFiles(directory=static_folder(), html=True)),
    ]
    app = Starlette(
        routes=routes,
        lifespan=page.lifespan,
        exception_handlers={VarfocusError: _refused},
    )
    return Guard(app, token, hosts)


async def _refused(_: Request, error: Exception) -> Response:
    """Answer in the words of the command line."""
    assert isinstance(error, VarfocusError)
    overtaken = isinstance(error, SupersededError)
    status = 413 if isinstance(error, TooLargeError) else 409 if overtaken else 400
    return JSONResponse({"message": str(error)}, status)


async def _hung_up(socket: WebSocket) -> None:
    """Wait until the page disconnects; whatever it sends here is ignored."""
    with contextlib.suppress(WebSocketDisconnect, KeyError):
        while True:
            await socket.receive_text()


async def _body(request: Request, most: int = MAX_REQUEST) -> dict[str, Any]:
    text = b""
    async for chunk in request.stream():
        text += chunk
        if len(text) > most:
            size = most >> 20
            raise TooLargeError(
                f"received a request of more than {size} MB", "expected a small one"
            )
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"received no JSON: {error}", "expected a JSON object") from error
    if not isinstance(body, dict):
        raise ParameterError("received JSON that is not an object", "expected a JSON object")
    return body


def _announced(request: Request) -> int:
    """Return how many bytes a request says it has; what it really has is counted as it comes."""
    text = request.headers.get("content-length", "")
    return int(text) if text.isdecimal() and len(text) < 19 else 0


def _check_room(name: str, folder: Path, size: int, more: int | None = None) -> None:
    """Refuse an upload that is too large in all, or whose next bytes would fill the disk."""
    free = shutil.disk_usage(folder).free - SPARE_DISK
    if size > MAX_UPLOAD or (size if more is None else more) > free:
        raise TooLargeError(
            f"{name}: {size >> 20} MB, with {max(free, 0) >> 20} MB of disk space to spare",
            f"expected a file that fits, of {MAX_UPLOAD >> 20} MB at most",
            "Give the folder on the command line: varfocus app FOLDER.",
        )


def _mode(given: Any) -> Mode:
    """Return what is to happen to the frames that are open."""
    for mode in get_args(Mode):
        if given == mode:
            return cast(Mode, mode)
    raise ParameterError(f"received the mode {given!r}", "expected add, replace or new")


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ParameterError(f"received {name} = {text!r}", "expected a whole number") from error


def _whole_list(body: dict[str, Any], key: str) -> list[int]:
    values = body.get(key)
    if not isinstance(values, list) or not all(isinstance(v, int) for v in values):
        raise ParameterError(f"received no list {key!r}", "expected whole numbers")
    return values


def _tile(folder: Path, request: Request) -> Response:
    numbers = (request.path_params[name] for name in ("level", "column", "row"))
    return _pixels(read_tile(folder, *numbers))


def _pixels(content: bytes | None) -> Response:
    if content is None:
        return Response(status_code=404)
    return Response(content, media_type="application/octet-stream", headers=IMMUTABLE)


def _palettes() -> bytes:
    from matplotlib import colormaps

    share = np.linspace(0.0, 1.0, 256)
    return b"".join(
        np.rint(colormaps[name](share)[:, :3] * 255).astype(np.uint8).tobytes() for name in PALETTES
    )


def _is_outline(outline: Any) -> bool:
    """Tell whether something is a pair of a truth value and at least three points."""
    return (
        isinstance(outline, list)
        and len(outline) == 2
        and isinstance(outline[0], bool)
        and isinstance(outline[1], list)
        and len(outline[1]) >= 3
        and all(isinstance(point, list) and len(point) == 2 for point in outline[1])
        and all(
            isinstance(v, int | float) and abs(v) < LARGEST_PLACE for p in outline[1] for v in p
        )
    )


def display_name(name: str) -> str:
    """Return a file's name as it can be shown: no folders, no control characters, not too long."""
    last = re.split(r"[/\\]", name)[-1]
    printable = "".join(letter for letter in last if letter.isprintable())[:200].strip()
    if not printable or printable in (".", ".."):
        raise InputError(f"received a file named {name!r}", "expected a name")
    return printable


def _write_example(folder: Path) -> None:
    """Write a simulated scene as ``varfocus simulate`` does."""
    folder.mkdir()
    scene = simulate("table", shape=EXAMPLE_SIZE[::-1], n=15)
    for k, frame in enumerate(scene.frames):
        (folder / f"frame_{k:02d}.png").write_bytes(images.picture(frame)[1])
