"""What server and page say to each other: the page's types are those of the server."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from page_client import client_of, finished_result
from varfocus import reconstruct
from varfocus.app import schema, server, wire
from varfocus.export.saved import load_result
from varfocus.simulation import simulate

WEB = Path(__file__).parents[2] / "web"


def generator():
    spec = importlib.util.spec_from_file_location("web_wire", WEB / "wire.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_types_of_the_page_are_made_of_those_of_the_server() -> None:
    told = "run “make types”: web/src/wire.ts is not what src/varfocus/app/wire.py says"
    assert (WEB / "src" / "wire.ts").read_text(encoding="utf-8") == generator().main(), told


def fits(value: object, hint: object) -> bool:
    """Tell whether plain data is of a type of `varfocus.app.wire`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        fields = get_type_hints(hint, include_extras=True)
        optional = {name for name, kind in fields.items() if get_origin(kind) is NotRequired}
        if not isinstance(value, dict):
            return False
        assert set(fields) - optional <= set(value), (hint, set(fields) - set(value))
        inner = get_type_hints(hint)
        return all(fits(value[name], inner[name]) for name in fields if name in value)
    if origin is Literal:
        return value in arguments
    if origin is list:
        return isinstance(value, list) and all(fits(item, arguments[0]) for item in value)
    if origin is tuple:
        pairs = zip(value, arguments, strict=True) if isinstance(value, list | tuple) else ()
        return isinstance(value, list | tuple) and all(fits(*pair) for pair in pairs)
    if origin is dict:
        return isinstance(value, dict) and all(fits(v, arguments[1]) for v in value.values())
    if arguments:  # a union
        return any(fits(value, kind) for kind in arguments)
    if hint is float:
        return isinstance(value, int | float)
    return isinstance(value, hint)  # type: ignore[arg-type]


def test_the_state_is_what_its_type_says(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(server, "static_folder", lambda: tmp_path)
    scene = simulate("steps", shape=(24, 32), n=5)
    reconstruct(scene.stack, "classic").save(tmp_path / "result")
    with client_of(server.Page(load_result(tmp_path / "result"))) as client:
        finished_result(client)
        assert fits(client.get("/api/state").json(), wire.State)


def test_every_parameter_and_choice_is_explained_in_words_of_the_catalogue() -> None:
    """Plain words: none of the names that the code uses."""
    text = (WEB / "src" / "words" / "en.ts").read_text(encoding="utf-8")
    words = dict(re.findall(r'^  "p\.([^"]+)":\s+"((?:[^"\\]|\\.)*)",$', text, re.MULTILINE))
    for method in schema.methods():
        for parameter in method["parameters"]:
            name = parameter["name"]
            keys = [name, f"{name}.about", *(f"{name}.{c}" for c in parameter["choices"] or [])]
            assert [key for key in keys if key not in words] == []
            for key in keys:
                assert not re.search(r"_|nan\b|[Hh]uber|TGV|mlap|\bum\b|σ", words[key]), words[key]
