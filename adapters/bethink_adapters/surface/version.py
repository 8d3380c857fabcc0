"""The version of bethink, without an import of bethink."""


def version() -> str:
    """Return the installed version, "0" for sources that are not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("bethink")
    except PackageNotFoundError:
        return "0"
