"""Copies of a workspace with its catalog, for tests that change something."""

import shutil
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from services import postgres_server
from workspace.folder import Workspace

from trainfare.config import load


def new_url(socket: str) -> str:
    """The address of a catalog in a database that is not there yet."""
    return f"postgresql://postgres@/web_{uuid4().hex}?host={socket}"


def copy(workspace: Workspace, folder: Path) -> Workspace:
    """The same books in another folder; a catalog in PostgreSQL is copied to a database of its own."""
    made = Workspace(shutil.copytree(workspace.folder, folder))
    catalog = load(made.folder / "trainfare.toml").catalog
    if catalog:
        socket, database = _found(catalog)
        another = new_url(socket)
        postgres_server.copy(socket, database, _found(another)[1])
        settings = (made.folder / "trainfare.toml").read_text(encoding="utf-8")
        made.write("trainfare.toml", settings.replace(catalog, another))
    return made


def catalog_of(workspace: Workspace) -> bytes:
    """All that the catalog keeps."""
    catalog = load(workspace.folder / "trainfare.toml").catalog
    return postgres_server.dump(*_found(catalog)) if catalog else (workspace.folder / "catalog.sqlite").read_bytes()


def _found(catalog: str) -> tuple[str, str]:
    """The folder of the server's socket, and the database."""
    told = urlsplit(catalog)
    (socket,) = parse_qs(told.query)["host"]
    return socket, told.path[1:]
