"""Copies of a workspace and its catalog, for tests that modify them."""

import shutil
from pathlib import Path

from services import postgres_server
from workspace.folder import Workspace

from trainfare.settings.config import load


def copy(workspace: Workspace, folder: Path) -> Workspace:
    """Copy a workspace to another folder; a PostgreSQL catalog is copied to a new database."""
    made = Workspace(shutil.copytree(workspace.folder, folder))
    catalog = load(made.folder / "trainfare.toml").catalog
    if catalog:
        settings = (made.folder / "trainfare.toml").read_text(encoding="utf-8")
        made.write("trainfare.toml", settings.replace(catalog, postgres_server.copied(catalog)))
    return made


def catalog_of(workspace: Workspace) -> bytes:
    """Return the whole content of the catalog."""
    catalog = load(workspace.folder / "trainfare.toml").catalog
    return postgres_server.dump(catalog) if catalog else (workspace.folder / "catalog.sqlite").read_bytes()
