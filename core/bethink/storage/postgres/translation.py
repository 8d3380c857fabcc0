"""The driver's errors in the store's words."""

from __future__ import annotations

import re
from typing import Final

import psycopg
from psycopg import errors

from ...errors import BethinkError, StorageError, StoreBusyError

_QUOTED: Final = re.compile(r"""(?<!invalid URI query parameter: )(?:"[^"]*"|'[^']*')""")


def translate(shown: str, error: psycopg.Error) -> BethinkError:
    """Return the store's error in place of psycopg's."""
    reason = (error.diag.message_primary or str(error)).strip()
    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        reason = _QUOTED.sub("…", reason)  # a part of the URL, maybe of the password
        error.args = (reason,)  # which a traceback shows, too
    if isinstance(error, (errors.LockNotAvailable, errors.DeadlockDetected)):
        return StoreBusyError(shown)
    is_unreachable = isinstance(error, psycopg.OperationalError) and (
        error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))
    )
    return StorageError(shown, reason, is_unreachable=is_unreachable)
