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
from trainfare.query.grains import making
from trainfare.query.grains.files import FileGrains
from trainfare.serve.databases import build
from trainfare.store import Book, Store


class AttachedDatabases:
    def __init__(self, store: Store, database: DuckDB) -> None:
        self._store = store
        self._database = database
        self.folder = making.kept_in(store.workspace)
        self._locks = {"grains": threading.Lock(), "account": threading.Lock()}
        self._grains: dict[str, FileGrains] = {}
        self._accounts: dict[str, Account] = {}

    def grains(self, book: Book, others: Sequence[Book] = ()) -> FileGrains:
        """Return the grains of a book with the shares of others for its days; make them if they do not exist."""
        files = self._store.files(book, others=others)
        path = making.path_of(self.folder, files)
        with self._locks["grains"]:
            if path.name not in self._grains:
                self._grains[path.name] = FileGrains(self._database, files, self._attach("grains", book, path, others))
            return self._grains[path.name]

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
