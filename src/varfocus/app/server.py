"""The page's server: routes, nothing else. Numbers are made elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncIterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

import varfocus
from varfocus.app import schema
from varfocus.app.downloads import downloaded, offered
from varfocus.app.example import recipe, write_example
from varfocus.app.guard import Guard
from varfocus.app.line import Line
from varfocus.app.queue import SupersededError
from varfocus.app.requests import (
    announced,
    body_of,
    check_room,
    display_name,
    is_outline,
    mode_of,
    parameters_of,
    printable,
    whole,
    whole_list,
)
from varfocus.app.sessions import Shelf
from varfocus.app.tiles import TILE, read_tile
from varfocus.app.workspace import Workspace
from varfocus.errors import ParameterError, TooLargeError, VarfocusError
from varfocus.export.saved import SavedResult
from varfocus.io import read_stack
from varfocus.io.calibration import Focus
from varfocus.io.formats import readable
from varfocus.stack import FocusStack
from varfocus.surface.measurements import Measurements

MAX_STROKES = 32 << 20
"""Bytes of a request that has all strokes of a result."""

EVENTS_WAITING = 256
"""Events that may wait for a slow page; then the oldest are dropped."""

IMMUTABLE = {"cache-control": "private, max-age=31536000, immutable"}
"""For what never changes under its address."""

PALETTES = ["viridis", "cividis", "magma", "gray", "RdBu_r"]
"""Colour maps of even steps, the last for differences; never jet."""

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
        self.line = Line(
            self.workspace.shelf,
            lambda entries: self._publish({"kind": "queue", "queue": entries}),
            lambda: self.workspace.solving.busy is not None,
        )
        try:
            if isinstance(self._content, FocusStack):
                await self.workspace.opening.begin(self._content, self._source, self._focus)
            elif self._content is not None:
                self.workspace.opening.open_result(self._content)
            yield
        finally:
            await self.line.close()
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
            "queue": self.line.told(),
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
        maps = self.workspace.solving.sketch(event["result"]["version"])
        if maps is None:
            return
        text = json.dumps(event | {"sketch": list(maps)}).encode()
        text += b" " * (-len(text) % 4)  # maps begin at whole numbers
        buffers = [np.ascontiguousarray(values).tobytes() for values in maps.values()]
        await socket.send_bytes(b"".join([len(text).to_bytes(4, "little"), text, *buffers]))

    async def example(self, _: Request) -> Response:
        """Open a simulated scene, from files like any other; what was open is kept."""
        self.workspace.opening.clear("new")
        folder = self.workspace.session.folder / "example"
        await asyncio.to_thread(write_example, folder)
        self.workspace.opening.open(read_stack(str(folder)), ["example/frames"], recipe=recipe())
        return JSONResponse({})

    async def clear(self, _: Request) -> Response:
        """Begin anew; what was open is kept."""
        self.workspace.opening.clear("new")
        return JSONResponse({})

    async def sessions(self, _: Request) -> Response:
        """Return the work that was kept."""
        listed = await asyncio.to_thread(self.workspace.shelf.listed)
        return JSONResponse(
            [one for one in listed if one["name"] != self.workspace.session.folder.name]
        )

    async def reopen(self, request: Request) -> Response:
        """Go on with work that was kept."""
        name = request.path_params["name"]
        await self.line.let_go(name)
        await self.workspace.opening.reopen(name)
        return JSONResponse({})

    async def forget(self, request: Request) -> Response:
        """Delete work that was kept."""
        shelf = self.workspace.shelf
        folder = shelf.find(request.path_params["name"])
        if folder != self.workspace.session.folder:
            await self.line.let_go(folder.name, deleted=True)
            await asyncio.to_thread(shelf.remove, folder)
        return JSONResponse({})

    async def choices(self, request: Request) -> Response:
        """Keep what the page remembers of what the user chose."""
        self.workspace.choose(await body_of(request))
        return JSONResponse({})

    async def near(self, request: Request) -> Response:
        """Say which depths are near."""
        near = (await body_of(request)).get("near")
        if near != "small" and near != "large":
            raise ParameterError(f"received {near!r} as near", "expected small or large")
        self.workspace.set_near("small" if near == "small" else "large")
        return JSONResponse({})

    async def edit(self, request: Request) -> Response:
        """Name a result, pin or delete it."""
        body = await body_of(request)
        kinds = {"name": str, "pinned": bool, "deleted": bool}
        change = {key: body[key] for key in kinds if key in body}
        if not change or not all(isinstance(v, kinds[key]) for key, v in change.items()):
            raise ParameterError("received no change", "expected a name, pinned or deleted")
        if "name" in change:
            change["name"] = printable(change["name"])
        self.workspace.edit(request.path_params["version"], change)
        return JSONResponse({})

    async def difference(self, request: Request) -> Response:
        """Make a map of the depth of one result minus that of another."""
        given = request.path_params
        report = await self.workspace.looking.difference(given["version"], given["other"])
        return JSONResponse({k: v for k, v in report.items() if k not in ("id", "kind")})

    async def upload(self, request: Request) -> Response:
        """Take one file as a raw body, counted while it streams in."""
        name = display_name(request.query_params.get("name", ""))
        mode = mode_of(request.query_params.get("mode", "add"))
        uploads = self.workspace.opening.uploads
        folder = uploads.folder(mode)
        self._uploads += 1
        path = folder / f"{time.time_ns()}{self._uploads:06d}"
        received = 0
        try:
            check_room(name, folder, announced(request))
            with path.open("xb") as file:
                async for chunk in request.stream():
                    received += len(chunk)
                    check_room(name, folder, received, len(chunk))
                    file.write(chunk)
            await uploads.add(mode, path, name)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return JSONResponse({"bytes": received})

    async def uploaded(self, request: Request) -> Response:
        """Take in the files of an upload that have arrived, or forget them."""
        body = await body_of(request)
        mode = mode_of(body.get("mode", "add"))
        if body.get("cancelled"):
            self.workspace.opening.uploads.drop(mode)
            return JSONResponse({"frames": 0})
        name = printable(body.get("name", ""))
        if mode != "queue":
            return JSONResponse({"frames": self.workspace.opening.added(mode, name)})
        arrived = self.workspace.opening.uploads.taken(mode)
        if arrived is None:
            return JSONResponse({"frames": 0})
        try:
            return JSONResponse({"frames": self.line.add(arrived, name, parameters_of(body))})
        except VarfocusError:
            arrived.forget()
            raise

    async def queued(self, request: Request) -> Response:
        """Move, cancel or remove a stack that waits, or have one done again."""
        body, name = await body_of(request), request.path_params["name"]
        acts = {"cancel": self.line.cancel, "remove": self.line.remove, "again": self.line.again}
        if body.get("do") == "move" and body.get("by") in (-1, 1):
            self.line.move(name, body["by"])
        elif body.get("do") in acts:
            acts[body["do"]](name)
        else:
            raise ParameterError("received nothing to do", f"expected move or {', '.join(acts)}")
        return JSONResponse({})

    async def arrange(self, request: Request) -> Response:
        """Reorder, reverse or leave out frames."""
        body = await body_of(request)
        self.workspace.arrange(whole_list(body, "order"), whole_list(body, "excluded"))
        return JSONResponse({})

    async def mask(self, request: Request) -> Response:
        """Set which pixels count by outlines drawn on the frames."""
        body = await body_of(request)
        outlines = body.get("outlines")
        if not isinstance(outlines, list) or not all(is_outline(one) for one in outlines):
            raise ParameterError(
                "received no outlines", "expected whether each counts, and its points"
            )
        drawn = [(counts, [(x, y) for x, y in points]) for counts, points in outlines]
        await self.workspace.draw_mask(drawn, bool(body.get("base", True)))
        return JSONResponse({})

    async def solve(self, request: Request) -> Response:
        """Reconstruct."""
        body = await body_of(request)
        version = self.workspace.solving.solve(parameters_of(body), bool(body.get("settled", True)))
        return JSONResponse({"version": version})

    async def cancel(self, _: Request) -> Response:
        """Stop at once."""
        self.workspace.solving.cancel()
        return JSONResponse({})

    async def frame_preview(self, request: Request) -> Response:
        """Return a whole frame at preview size, RGBA."""
        path = (
            self.workspace.session.folder
            / "frames"
            / str(request.path_params["id"])
            / "preview.npy"
        )
        if not path.is_file():
            return Response(status_code=404)
        pixels = np.load(path, allow_pickle=False)
        return Response(pixels.tobytes(), media_type="application/octet-stream", headers=IMMUTABLE)

    async def frame_tile(self, request: Request) -> Response:
        """Return a tile of a frame, RGBA."""
        return _tile(await self.workspace.frame_folder(request.path_params["id"]), request)

    async def laid_tile(self, request: Request) -> Response:
        """Return a tile of a frame as a result sees it: where, and as bright as, it is painted."""
        given = request.path_params
        folder = await self.workspace.retouching.frame_folder(given["version"], given["id"])
        return _tile(folder, request)

    async def map_tile(self, request: Request) -> Response:
        """Return a tile of a map, float32, or of the all-in-focus image, RGBA."""
        given = request.path_params
        made = re.fullmatch(r"slab-[0-9]{1,16}|minus(-[0-9]{1,16}){3}", given["map"])
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
        x, y = (whole(request.query_params.get(name, ""), name) for name in "xy")
        report = await self.workspace.looking.curve(request.path_params["version"], x, y)
        return JSONResponse({k: v for k, v in report.items() if k not in ("id", "kind")})

    async def measure(self, request: Request) -> Response:
        """Measure lines, steps, regions and points."""
        wanted = Measurements.from_data(await body_of(request))
        report = await self.workspace.looking.measure(request.path_params["version"], wanted)
        return JSONResponse({name: report[name] for name in ("measured", "level")})

    async def retouch(self, request: Request) -> Response:
        """Put strokes onto a result, instead of those it has."""
        strokes = (await body_of(request, MAX_STROKES)).get("strokes")
        if not isinstance(strokes, list) or not all(isinstance(one, dict) for one in strokes):
            raise ParameterError("received no list of strokes", "expected objects")
        await self.workspace.retouching.draw(request.path_params["version"], strokes)
        return JSONResponse({})

    async def slabs(self, request: Request) -> Response:
        """Fuse a few frames at a time."""
        body = await body_of(request)
        size, overlap = (whole(str(body.get(name)), name) for name in ("size", "overlap"))
        await self.workspace.retouching.slabs(request.path_params["version"], size, overlap)
        return JSONResponse({})

    async def product(self, request: Request) -> Response:
        """Return a file for another program, or one that ``varfocus depth`` writes."""
        given = request.path_params
        return await downloaded(
            self.workspace, given["version"], given["name"], request.query_params
        )


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
        Route("/api/queue/{name}", page.queued, methods=["POST"]),
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
        Route("/api/results/{version:int}/frames/{id:int}/" + tile, page.laid_tile),
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
