"""The findings of a book, with their states: new, seen before, or accepted."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import cast

import msgspec

from trainfare.query.check import Finding, FindingStates, check
from trainfare.serve.auth.viewer import Viewer
from trainfare.serve.books import BookReader
from trainfare.store import Book


def load(book_reader: BookReader) -> FindingStates:
    """Load which findings were seen before, and which are accepted through today or longer."""
    finding_log = book_reader.store.catalog.finding_log
    return FindingStates(finding_log.sightings(), finding_log.accepted(datetime.now(UTC).date()))


def findings(book_reader: BookReader, viewer: Viewer, book: Book, known: FindingStates) -> list[Finding]:
    """Check a book against the thresholds of the settings."""
    limits = cast(Mapping[str, Decimal], msgspec.structs.asdict(book_reader.config.check))
    with book_reader.open(viewer, [book]) as opened:
        return check(opened, limits, known)


def cache_key(known: FindingStates) -> tuple[object, ...]:
    """Return what findings depend on in addition to the book: the day, and the logged states."""
    seen = sorted((str(month), version, tuple(sorted(codes))) for (month, version), codes in known.seen.items())
    return (datetime.now(UTC).date(), tuple(sorted(known.accepted.items())), tuple(seen))
