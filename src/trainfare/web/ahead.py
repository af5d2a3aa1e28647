"""Forecasts and budgets over the books on the shelf, as far as a viewer may see them."""

from collections.abc import Sequence
from dataclasses import replace

from trainfare.report import outlook
from trainfare.report.cost import Question
from trainfare.report.outlook import Outlook
from trainfare.store import Book
from trainfare.web.books import Shelf
from trainfare.web.viewer import Viewer


def ahead(
    shelf: Shelf, viewer: Viewer, books: Sequence[Book], question: Question, label: str | None = None
) -> list[Outlook]:
    """The newest of these months and the next: of all that is asked about and may be seen, of everybody who has a budget there,
    and of every value of a label. Days that were asked for do not narrow it: a forecast needs its past.
    """
    whole = replace(question, days=None)
    budgets = outlook.allowed(shelf.config.budgets(question.currency), whole, viewer.sees)
    wanted = [one for one in outlook.LABELS if one == label or any(of.startswith(f"{one}:") for of in budgets)]
    found = []
    for book in books[-outlook.MONTHS :]:
        with shelf.opened(viewer, [book]) as opened:
            found.append(outlook.seen(opened, whole, wanted))
    return outlook.outlooks(found, budgets, outlook.values(found, label) if label else ())
