"""URLs of databases: the part for libpq, and parameters of our own."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ...errors import ValidationError

_OWN_PARAMETERS: Final = ("schema", "pooler", "tenant")
_SCHEMA: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


def check_schema(schema: object) -> str:
    """Return *schema*; raise ``ValidationError`` for a name that needs quotes."""
    if not isinstance(schema, str) or not _SCHEMA.fullmatch(schema):
        raise ValidationError(f"the schema must be a plain name, not {schema!r}")
    return schema


def add_schema(url: str, schema: str) -> str:
    """Return *url* with the parameter ``schema``."""
    return f"{url}{'&' if urlsplit(url).query else '?'}schema={schema}"


def split(url: str) -> tuple[str, dict[str, str]]:
    """Return the URL for libpq, and the parameters of our own."""
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    own = {name: value for name, value in query if name in _OWN_PARAMETERS}
    left = [(name, value) for name, value in query if name not in own]
    return urlunsplit(parts._replace(query=urlencode(left))), own


def without_password(url: str) -> str:
    """Return *url* as it may be shown."""
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "password"]
    shown = f"{user.partition(':')[0]}{at}{hosts}"
    return urlunsplit(parts._replace(netloc=shown, query=urlencode(query)))
