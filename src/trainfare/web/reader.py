"""An engine that remembers: a published version never changes, so neither does what it answered."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from trainfare.engine.duckdb import DuckDB

MOST_CELLS = 2_000_000
"""How many values are remembered at most, over all answers; some hundred MB."""
LARGEST_ANSWER = 200_000

Answer = tuple[list[str], list[tuple[Any, ...]]]


class Memory:
    """Answers by the books and the sight they were given to, and the query; those not asked for longest go first."""

    def __init__(self, most_cells: int = MOST_CELLS) -> None:
        self._most_cells = most_cells
        self._lock = threading.Lock()
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()
        self._cells = 0

    def get(self, key: Hashable) -> Answer | None:
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def put(self, key: Hashable, answer: Answer) -> None:
        cells = _cells(answer)
        if cells > LARGEST_ANSWER:
            return
        with self._lock:
            if key not in self._answers:
                self._answers[key] = answer
                self._cells += cells
            while self._cells > self._most_cells:
                _, gone = self._answers.popitem(last=False)
                self._cells -= _cells(gone)


def _cells(answer: Answer) -> int:
    return 1 + len(answer[0]) * len(answer[1])


class Reader(DuckDB):
    """A connection to one set of books as one viewer sees them; its key tells it from any that would answer otherwise. Only reads."""

    def __init__(self, database: DuckDB, memory: Memory, key: Hashable) -> None:
        self.connection = database.another().connection
        self._memory = memory
        self.key = key

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return list(self._answer(sql)[1])

    def records(self, sql: str) -> list[dict[str, Any]]:
        names, rows = self._answer(sql)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _answer(self, sql: str) -> Answer:
        answer = self._memory.get((self.key, sql))
        if answer is None:
            rows = super().rows(sql)
            answer = ([column[0] for column in self.connection.description or ()], rows)
            self._memory.put((self.key, sql), answer)
        return answer
