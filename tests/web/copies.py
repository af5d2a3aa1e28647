"""Copies of a workspace with its catalog, for tests that change something."""

import shutil
from pathlib import Path

from services import postgres_server
from workspace.folder import Workspace

from trainfare.config import load


def copy(workspace: Workspace, folder: Path) -> Workspace:
    """The same books in another folder; a catalog in PostgreSQL is copied to a database of its own."""
    made = Workspace(shutil.copytree(workspace.folder, folder))
    catalog = load(made.folder / "trainfare.toml").catalog
    if catalog:
        settings = (made.folder / "trainfare.toml").read_text(encoding="utf-8")
        made.write("trainfare.toml", settings.replace(catalog, postgres_server.copied(catalog)))
    return made


def catalog_of(workspace: Workspace) -> bytes:
    """All that the catalog keeps."""
    catalog = load(workspace.folder / "trainfare.toml").catalog
    return postgres_server.dump(catalog) if catalog else (workspace.folder / "catalog.sqlite").read_bytes()
