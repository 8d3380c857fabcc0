"""A class of bethink on top of a framework's base class, made with the first object.

So importing an adapter loads no framework, and the objects still pass ``isinstance``. An object can
be pickled if the attributes can. A wrong name or argument is answered with the right name::

    @made_on("langgraph", "langgraph.store.base", "BaseStore")
    class BethinkStore(_Base):  # BaseStore for a type checker, object at run time
        ...
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from types import new_class
from typing import Any, Final, TypeVar

from bethink.adapting import suggesting, unknown_name

from .extras import needs

T = TypeVar("T")

_JOINED: Final = dict[tuple[type[Any], type[Any]], type[Any]]()


def refuse_unknown(names: Iterable[str], known: Collection[str]) -> None:
    """Raise ``ArgumentError``, with the right name, for a name among *names* that is not *known*.

    For arguments that a framework's class takes, too.
    """
    for name in names:
        if name not in known:
            raise unknown_name("argument", name, known)


def made_on(
    extra: str, module: str, name: str, requirement: str | None = None
) -> Callable[[type[T]], type[T]]:
    """Put a class on the base class *name* of *module*, imported with the first object.

    Without the base class the first object raises ``MissingExtraError``; see ``needs``.
    """

    def new(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
        """Make an instance of the framework's own base class."""
        with needs(extra, requirement):
            found = import_module(module)
            if not hasattr(found, name):
                raise ImportError(f"cannot import name {name!r} from {module!r}")
        return object.__new__(_on_base(cls, getattr(found, name)))

    def put(cls: type[T]) -> type[T]:
        cls.__new__ = new  # type: ignore[method-assign]
        return suggesting(cls)

    return put


def _on_base(cls: type[T], base: type[Any]) -> type[T]:
    """Return *cls*, or a class with the same name, derived from *cls* and then from *base*."""
    if issubclass(cls, base):
        return cls
    if (cls, base) not in _JOINED:
        _JOINED.setdefault((cls, base), _joined(cls, base))
    return _JOINED[cls, base]


def _joined(cls: type[T], base: type[Any]) -> type[T]:
    def reduced(made: Any) -> tuple[Any, ...]:
        return _bare, (cls,), made.__getstate__()  # *cls* by the name, which pickle finds

    names = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "__reduce__": reduced,
    }
    return new_class(cls.__name__, (cls, base), exec_body=lambda body: body.update(names))


def _bare(cls: type[T]) -> T:
    return cls.__new__(cls)
