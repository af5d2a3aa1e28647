"""Database files derived from published versions (grains and accounts), attached to the database of the process.

They are stored in the workspace folder `cache`, named after what they were built from. Each can be deleted at any time
and is then rebuilt.
"""

import threading
from collections.abc import Sequence
from pathlib import Path

from trainfare.books import reopen
from trainfare.books.reopen import Account
from trainfare.engine.duckdb import DuckDB, quoted
from trainfare.query.grains import parts
from trainfare.query.grains.files import StoredGrains
from trainfare.serve.databases import build
from trainfare.store import Book, Store
from trainfare.store.grain_files import kept_in


class AttachedDatabases:
    def __init__(self, store: Store, database: DuckDB) -> None:
        self._store = store
        self._database = database
        self.folder = kept_in(store.workspace)
        self._locks = {"grains": threading.Lock(), "account": threading.Lock()}
        self._grains: dict[str, StoredGrains] = {}
        self._accounts: dict[str, Account] = {}

    def grains(self, book: Book, others: Sequence[Book] = ()) -> StoredGrains:
        """Return the grains of a book with the shares of others for its days; make them if they do not exist."""
        folder = parts.GrainFolder(self._store, book, tuple(others))
        with self._locks["grains"]:
            if folder.name not in self._grains:
                if folder.is_worth_it and not all(folder.find(part) for part in parts.PARTS):
                    build.build("grains", self._store.workspace, book, folder.root / folder.name, others)
                engine = self._database.new_connection()
                self._grains[folder.name] = StoredGrains(engine, folder.files, folder)
            return self._grains[folder.name]

    def account(self, book: Book) -> Account:
        """Return the account of a book; run it again if it is not stored."""
        path = self.folder / f"account-{reopen.account_name(book)}.duckdb"
        with self._locks["account"]:
            if path.name not in self._accounts:
                self._accounts[path.name] = reopen.attached(self._database, self._attach("account", book, path))
            return self._accounts[path.name]

    def _attach(self, kind: str, book: Book, path: Path, others: Sequence[Book] = ()) -> str:
        """Attach a database file, built if necessary, and return its alias."""
        if not path.exists():
            build.build(kind, self._store.workspace, book, path, others)
        self._database.run(f'ATTACH {quoted(path)} AS "{path.stem}" (READ_ONLY)')
        return path.stem
