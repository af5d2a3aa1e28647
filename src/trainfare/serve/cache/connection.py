"""A database connection whose query results are cached."""

from collections.abc import Hashable
from typing import Any

from trainfare.engine.duckdb import DuckDB
from trainfare.serve.admission import cancellation
from trainfare.serve.cache.results import QueryResult, ResultCache, ResultKey

SLICE_ROWS = 2000
"""How many rows are converted to Python at once."""


class CachedConnection(DuckDB):
    """A read-only connection to a fixed set of books with a fixed visibility."""

    def __init__(self, database: DuckDB, results: ResultCache, versions: tuple[int, ...], visibility: Hashable) -> None:
        self.connection = database.new_connection().connection
        self._results = results
        self._versions = versions
        self._visibility = visibility

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return list(self._result(sql).rows)

    def records(self, sql: str) -> list[dict[str, Any]]:
        found = self._result(sql)
        return [dict(zip(found.columns, row, strict=True)) for row in found.rows]

    def _result(self, sql: str) -> QueryResult:
        key = ResultKey(self._versions, sql, self._visibility)
        return self._results.get(key, lambda: self._run(sql))

    def _run(self, sql: str) -> QueryResult:
        cancellation.current().check()
        with self._translate_errors(sql):
            found = self.connection.execute(sql)
            columns = [column[0] for column in found.description or ()]
            rows = []
            # Values are converted under Python's lock: in one piece, a large result would delay all other requests.
            while some := found.fetchmany(SLICE_ROWS):
                rows += some
        return QueryResult(columns, rows)
