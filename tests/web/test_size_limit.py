"""The size of a response is bounded before it is computed, and the bound is never below the true number of rows."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from workspace.folder import Workspace

from trainfare.errors import TrainfareError
from trainfare.query import cost
from trainfare.query.cost import Question
from trainfare.query.open_books import OpenBooks
from trainfare.query.window import Window, month_window
from trainfare.serve.api import size_limit
from trainfare.serve.api.size_limit import require_size
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.settings.config import load
from trainfare.store import Book

VIEWERS = {"all": Viewer("ana", "viewer"), "team": Viewer("bob", "team", ("team:nlp",))}
KEYS = (
    ["team"],
    ["job"],
    ["attempt"],
    ["job", "machine"],
    ["machine", "day"],
    ["owner", "category", "rule"],
    ["job", "day"],
)


@pytest.fixture(scope="module")
def book_reader(company: Workspace) -> Iterator[BookReader]:
    with company.open() as store, closing(BookReader(store, load(company.folder / "trainfare.toml"))) as reader:
        yield reader


def rows(opened: OpenBooks, book: Book, by: list[str]) -> int:
    question = Question(by, currency="USD", days=month_window(book.month).days)
    return len(cost.rows(opened, replace(question, by=by), by))


@pytest.mark.parametrize("viewer", VIEWERS)
@pytest.mark.parametrize("by", KEYS, ids=",".join)
def test_the_bound_is_at_least_the_number_of_rows(
    book_reader: BookReader, viewer: str, by: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    book = book_reader.current()[-1]
    window = month_window(book.month)
    with book_reader.open(VIEWERS[viewer], [book]) as opened:
        monkeypatch.setattr(size_limit, "MAX_ROWS", rows(opened, book, by) - 1)
        with pytest.raises(TrainfareError, match="up to"):
            require_size(opened, [book], by, window)
        monkeypatch.setattr(size_limit, "MAX_ROWS", 100_000)
        require_size(opened, [book], by, window)


def test_steps_multiply_the_rows_and_the_error_says_what_to_ask_instead(
    book_reader: BookReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = book_reader.current()[-1]
    window: Window = month_window(book.month)
    with book_reader.open(VIEWERS["all"], [book]) as opened:
        teams = len({row.group["team"] for row in cost.rows(opened, Question(["team"], currency="USD"), ["team"])}) + 1
        monkeypatch.setattr(size_limit, "MAX_ROWS", 30 * (teams + 1))
        require_size(opened, [book], ["team"], window, 30)
        monkeypatch.setattr(size_limit, "MAX_ROWS", 29)
        with pytest.raises(TrainfareError) as refused:
            require_size(opened, [book], ["team"], window, 30)
        assert refused.value.what.startswith("30 steps times up to ")
        assert "longer steps (7d or 1M)" in refused.value.do
        with pytest.raises(TrainfareError) as refused:
            require_size(opened, [book], ["job"], window)
        assert "/api/v1/jobs" in refused.value.do
