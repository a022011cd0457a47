"""A form of widgets made from the parameter classes, so that there is no second list of them."""

from __future__ import annotations

from typing import Any

from magicgui.widgets import CheckBox, ComboBox, Container, FloatSpinBox, Label, LineEdit, SpinBox
from magicgui.widgets.bases import ValueWidget

from varfocus.app.schema import methods
from varfocus.errors import ParameterError

LARGEST = 10**6
"""Of the numbers that can be typed."""


class Form(Container):
    """Method, its knob, and on demand every other parameter."""

    def __init__(self) -> None:
        self._methods = {entry["name"]: entry for entry in methods()}
        about = next(iter(self._methods.values()))["about"]
        self.method = ComboBox(choices=list(self._methods), name="method", tooltip=about)
        self.everything = CheckBox(text="all parameters", value=False, label="")
        self._knobs = Container(labels=True, layout="vertical")
        self._others = Container(labels=True, layout="vertical", scrollable=True)
        super().__init__(
            widgets=[self.method, self._knobs, self.everything, self._others], labels=True
        )
        self._fields: dict[str, tuple[dict[str, Any], ValueWidget[Any], Any]] = {}
        self.method.changed.connect(self._arrange)
        self.everything.changed.connect(self._reveal)
        self._arrange()

    def _arrange(self) -> None:
        """Show the parameters of the chosen method."""
        chosen = self._methods[self.method.value]
        self._knobs.clear()
        self._others.clear()
        self._fields.clear()
        heading = ""
        for entry in chosen["parameters"]:
            field = _field(entry)
            self._fields[entry["name"]] = entry, field, field.value
            if entry["name"] == chosen["knob"]:
                self._knobs.append(field)
                continue
            if entry["group"] != heading:
                heading = entry["group"]
                self._others.append(Label(value=heading, label=""))
            self._others.append(field)
        self._reveal()

    def _reveal(self) -> None:
        self._others.visible = self.everything.value

    def parameters(self) -> dict[str, Any]:
        """Return what differs from the defaults, as keywords of `varfocus.reconstruct`."""
        given: dict[str, Any] = {}
        for name, (entry, field, before) in self._fields.items():
            value = field.value
            if value != before:
                given[name] = _parsed(entry, value)
        return given

    def set(self, name: str, value: Any) -> None:
        """Fill in a parameter of the chosen method."""
        self._fields[name][1].value = value


def _field(entry: dict[str, Any]) -> ValueWidget[Any]:
    """Return a widget for a parameter that `varfocus.app.schema` describes."""
    default, kind = entry["default"], entry["type"]
    about = {"name": entry["name"], "label": entry["name"].replace("_", " ")}
    about["tooltip"] = entry["about"]
    if kind == "choice":
        return ComboBox(choices=entry["choices"], value=default, **about)
    if kind == "switch":
        return CheckBox(value=default, **about)
    if default is None or kind == "text":
        return LineEdit(value="" if default is None else str(default), **about)
    if kind == "whole":
        return SpinBox(value=default, min=0, max=LARGEST, **about)
    return FloatSpinBox(value=default, min=0.0, max=float(LARGEST), step=0.001, **about)


def _parsed(entry: dict[str, Any], value: Any) -> Any:
    """Return what was typed as the type of the parameter; nothing typed is the default."""
    if not isinstance(value, str) or entry["type"] in ("choice", "text"):
        return entry["default"] if value == "" else value
    if not value.strip():
        return entry["default"]
    try:
        return int(value) if entry["type"] == "whole" else float(value)
    except ValueError as error:
        raise ParameterError(
            f"received {entry['name']} = {value!r}", "expected a number, or nothing"
        ) from error
