"""Forecasts and budgets from the published books, within the viewer's visibility."""

from collections.abc import Sequence
from dataclasses import replace

from trainfare.query.cost import Question
from trainfare.report import outlook
from trainfare.report.outlook import Outlook
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.store import Book


def forecast_months(
    book_reader: BookReader, viewer: Viewer, books: Sequence[Book], question: Question, label: str | None = None
) -> list[Outlook]:
    """Forecast the newest of these months and the next: in total, for every budget, and for every value of a label.

    The days of the question are ignored, because a forecast needs the history.
    """
    all_days = replace(question, days=None)
    budgets = outlook.applicable_budgets(book_reader.config.budgets(question.currency), all_days, viewer.visibility)
    labels = [one for one in outlook.BUDGET_LABELS if one == label or any(of.startswith(f"{one}:") for of in budgets)]
    found = []
    for book in books[-outlook.HISTORY_MONTHS :]:
        with book_reader.open(viewer, [book]) as opened:
            found.append(outlook.book_spend(opened, all_days, labels))
    return outlook.outlooks(found, budgets, outlook.label_payers(found, label) if label else ())
