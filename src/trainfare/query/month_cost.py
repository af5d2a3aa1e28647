"""The cost of whole months as billed, next to the cost of their days: a book may have cost for days of other months."""

from collections.abc import Sequence
from decimal import Decimal

from trainfare.query.cost import Question
from trainfare.store.records import Book


def whole_months(books: Sequence[Book], question: Question) -> list[Book]:
    """Return the books whose months the question's days cover entirely; none if it also covers parts of months."""
    if question.days is None or question.days[0].day != 1 or question.days[1].day != 1:
        return []
    first, last = question.days
    return [book for book in books if first <= book.month.start.date() and book.month.end.date() <= last]


def as_billed(books: Sequence[Book], question: Question) -> Decimal | None:
    """Return the cost of these months according to their books; None if the days are not whole months."""
    found = whole_months(books, question)
    totals = [total for book in found for total in book.totals]
    own = [one.shares for one in totals if one.currency == question.currency and one.basis == question.basis]
    return sum(own, Decimal(0)) if found else None
