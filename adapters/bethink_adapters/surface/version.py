"""The version of bethink."""


def version() -> str:
    """Return the version."""
    from bethink import __version__

    return __version__
