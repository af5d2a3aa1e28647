"""Secrets: the settings name an environment variable or a file; the value is read when needed, and never shown."""

import os
from pathlib import Path

from trainfare.errors import TrainfareError, UnreachableError


def read_secret(reference: str, where: str, folder: Path) -> str | None:
    """Return the secret that `env:NAME` or `file:PATH` names; None without a reference.

    A relative path starts from `folder`.
    """
    kind, _, name = reference.partition(":")
    if not reference:
        return None
    if kind == "env":
        secret = os.environ.get(name, "").strip()
        if not secret:
            do = 'Set it for the process that collects, or name a file: token = "file:PATH".'
            raise UnreachableError(where, f"the environment variable {name} is not set", do)
        return secret
    try:
        secret = (folder / name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        reason = (getattr(error, "strerror", None) or "not text").lower()
        raise UnreachableError(
            where, f"{name} cannot be read: {reason}", "Check the path and its permissions."
        ) from None
    if not secret:
        raise TrainfareError(where, f"{name} is empty", "Write the token into it.")
    return secret
