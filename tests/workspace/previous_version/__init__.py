"""A workspace that the previous version of Trainfare built, and what that version reported about it."""

import json
import tarfile
from pathlib import Path

from .make import SETTINGS

HERE = Path(__file__).parent


def unpack(into: Path) -> Path:
    """Unpack the workspace as the previous version left it."""
    with tarfile.open(HERE / "workspace.tar.gz") as archive:
        archive.extractall(into, filter="data")
    return into


def use_current_terms(folder: Path, **options: str) -> None:
    """Rewrite the settings, and the column of a ledger, as a user has to do after an upgrade."""
    lines = "".join(f'{name} = "{value}"\n' for name, value in options.items())
    (folder / "trainfare.toml").write_text(lines + SETTINGS.replace('"labour"', '"labor"'), encoding="utf-8")
    software = folder / "files" / "software.csv"
    software.write_text(software.read_text(encoding="utf-8").replace("licence,", "license,"), encoding="utf-8")


def reported() -> dict[str, str]:
    """What the previous version printed, by the name of the query in `make.py`, and a token that it created."""
    found: dict[str, str] = json.loads((HERE / "reported.json").read_text(encoding="utf-8"))
    return found
