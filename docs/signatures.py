"""Signatures of the reference: every field by name in place of ``**given``."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

import griffe

import bethink


class Signatures(griffe.Extension):
    """Show what ``help`` shows."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Replace the parameters of the verb *func* by the parameters at run time."""
        verb = getattr(bethink.MemoryStore, func.name, None)
        if verb and any(str(each.annotation).startswith("Unpack[") for each in func.parameters):
            shown = signature(verb).parameters.values()
            func.parameters = griffe.Parameters(*map(parameter, shown))


def parameter(shown: Parameter) -> griffe.Parameter:
    """Return *shown* as the reference takes a parameter."""
    kind = griffe.ParameterKind[shown.kind.name.lower()]
    default = None if shown.default is Parameter.empty else repr(shown.default)
    default = "..." if shown.default is ... else default
    annotation = None if shown.annotation is Parameter.empty else str(shown.annotation)
    return griffe.Parameter(shown.name, annotation=annotation, kind=kind, default=default)
