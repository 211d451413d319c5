"""The version of this program and of the packages that it runs on."""

from __future__ import annotations


def own_version() -> str:
    """The version of this program."""
    return version_of("maskscope") or "unknown"


def version_of(package: str) -> str | None:
    """The version of an installed package; None where it is not installed."""
    from importlib import metadata  # Seldom asked, and slow: not at the start.

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
