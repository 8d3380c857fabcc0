"""A class of bethink on top of a framework's base class, made with the first object.

So importing an adapter loads no framework, and the objects still pass ``isinstance``. An object can
be pickled if the attributes can::

    class BethinkStore(_Base):  # BaseStore for a type checker, object at run time
        def __new__(cls, *args, **kwargs):
            from langgraph.store.base import BaseStore

            return object.__new__(on_base(cls, BaseStore))
"""

from __future__ import annotations

from types import new_class
from typing import Any, Final, TypeVar

T = TypeVar("T")

_JOINED: Final = dict[tuple[type[Any], type[Any]], type[Any]]()


def on_base(cls: type[T], base: type[Any]) -> type[T]:
    """Return *cls*, or a class with the same name, derived from *cls* and then from *base*."""
    if issubclass(cls, base):
        return cls
    if (cls, base) not in _JOINED:
        _JOINED.setdefault((cls, base), _joined(cls, base))
    return _JOINED[cls, base]


def _joined(cls: type[T], base: type[Any]) -> type[T]:
    def reduced(made: Any) -> tuple[Any, ...]:
        return cls.__new__, (cls,), made.__getstate__()  # by the name of *cls*, which pickle finds

    names = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "__reduce__": reduced,
    }
    return new_class(cls.__name__, (cls, base), exec_body=lambda body: body.update(names))
