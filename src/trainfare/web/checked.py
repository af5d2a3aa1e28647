"""What is wrong in a book, by the limits of the settings and what people said of it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import cast

import msgspec

from trainfare.report.check import Finding, Life, check
from trainfare.store import Book
from trainfare.web.books import Shelf
from trainfare.web.viewer import Viewer


def life(shelf: Shelf) -> Life:
    """What was seen before, and what was accepted until today or later."""
    attention = shelf.store.catalog.attention
    return Life(attention.seen(), attention.accepted(datetime.now(UTC).date()))


def findings(shelf: Shelf, viewer: Viewer, book: Book, known: Life) -> list[Finding]:
    limits = cast(Mapping[str, Decimal], msgspec.structs.asdict(shelf.config.check))
    with shelf.opened(viewer, [book]) as opened:
        return check(opened, limits, known)


def mark(known: Life) -> tuple[object, ...]:
    """What an answer about findings depends on beside the book: the day, and what is remembered of them."""
    seen = sorted((str(month), version, sorted(codes)) for (month, version), codes in known.seen.items())
    return (datetime.now(UTC).date(), sorted(known.accepted.items()), seen)
