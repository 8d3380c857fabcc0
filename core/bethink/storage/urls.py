"""URLs of databases: the part for libpq, and parameters of our own.

libpq reads a URL in a way of its own: a user name ends at the first "@", and a password may hold
"#", "?" and "[". So a URL is cut as text, and every part for libpq stays as given.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from ..errors import ValidationError

_OWN_PARAMETERS: Final = ("schema", "pooler", "tenant")
_SECRET_PARAMETERS: Final = (
    *("password", "sslpassword", "oauth_client_secret"),
    *("scram_client_key", "scram_server_key"),
)
_SCHEMA: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_URL: Final = re.compile(
    r"(?P<base>[\w+]+://(?P<who>[^@/]*@)?(?P<place>[^?]*))(?:\?(?P<query>.*))?", re.DOTALL
)


def check_schema(schema: object) -> str:
    """Return *schema*; raise ``ValidationError`` for a name that needs quotes."""
    if not isinstance(schema, str) or not _SCHEMA.fullmatch(schema):
        raise ValidationError(f"the schema must be a plain name, not {schema!r}")
    return schema


def add_schema(url: str, schema: str) -> str:
    """Return *url* with the parameter ``schema``."""
    base, query = _parts(url)
    return _joined(base, [*query, f"schema={schema}"])


def split(url: str) -> tuple[str, dict[str, str]]:
    """Return the URL for libpq, and the parameters of our own."""
    base, query = _parts(url)
    own = {
        name: unquote(each.partition("=")[2])
        for each in query
        if (name := _name(each)) in _OWN_PARAMETERS
    }
    return _joined(base, [each for each in query if _name(each) not in own]), own


def without_password(url: str) -> str:
    """Return *url* as it may be shown, also a URL that libpq cannot read."""
    found = _read(url)
    if found:
        who, place, query = found["who"] or "", found["place"], found["query"] or ""
    else:
        before, at, rest = url.partition("://")[2].rpartition("@")
        place, _, query = rest.partition("?")
        who = before + at
        if "?" in who:  # the "@" may be of a secret parameter
            place, query = "...", ""
    user = re.split("[:/?#@]", who)[0]
    # libpq refuses a parameter without "=", which may be the end of a password.
    known = (each for each in query.split("&") if "=" in each)
    shown = [each for each in known if _name(each) not in _SECRET_PARAMETERS]
    return _joined(f"{url.partition('://')[0]}://{user}{who[-1:]}{place}", shown)


def _parts(url: str) -> tuple[str, list[str]]:
    """Return a URL up to the parameters, and the parameters as given."""
    found = _read(url)
    if found is None:
        raise ValidationError(
            f"{without_password(url)!r} cannot be read as the URL of a database; a password or "
            'name with "@", "/" or "%" needs codes: %40, %2F, %25'
        )
    return found["base"], [each for each in (found["query"] or "").split("&") if each]


def _read(url: str) -> re.Match[str] | None:
    found = _URL.fullmatch(url)
    return found if found and "@" not in found["place"] else None


def _name(parameter: str) -> str:
    return unquote(parameter.partition("=")[0])


def _joined(base: str, query: list[str]) -> str:
    return f"{base}?{'&'.join(query)}" if query else base
