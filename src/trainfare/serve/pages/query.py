"""The query parameters of a page. Every filter is part of the URL, so every view can be linked to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from trainfare.errors import TrainfareError
from trainfare.query.cost import RATE_DENOMINATORS, SCOPES
from trainfare.query.selection import PAYER_FILTERS, Filters
from trainfare.query.window import Window, between
from trainfare.tables import BASES, LABELS

DRILL_FILTERS = ("job", "attempt", "attempt_state", "resource", "reason", "day")
"""Filters of one drill-down: links from figures keep them, links to other pages do not."""
FILTERS = (
    *LABELS,
    *("category", "rule", "source", "account", "payer", "pool", "gpu_model", "cluster", "region", "machine", "state"),
    *DRILL_FILTERS,
)
CHOICES = {"basis": BASES, "per": tuple(RATE_DENOMINATORS), "scope": SCOPES, "compare": ("on", "off")}
SHARED = (
    *("from", "to", "basis", "per", "scope", "currency", "compare", "version", "theme"),
    *(key for key in FILTERS if key not in DRILL_FILTERS),
)
"""Parameters that links carry from page to page."""


@dataclass(frozen=True)
class PageQuery:
    """Validated query parameters."""

    pairs: tuple[tuple[str, str], ...]
    window: Window | None
    """None means the newest month."""

    def get(self, name: str, default: str = "") -> str:
        """The last value of a parameter that is not empty."""
        found = self.get_all(name)
        return found[-1] if found else default

    def get_all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name and value]

    def number(self, name: str, default: int, least: int = 0, most: int = 1_000_000_000) -> int:
        text = self.get(name, str(default))
        is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(most))
        if not is_number or not least <= int(text) <= most:
            raise TrainfareError(
                name, f"'{text[:60]}' is not a number from {least} to {most}", "Correct it in the URL."
            )
        return int(text)

    @property
    def filters(self) -> Filters:
        """The keys that are filtered by, with their values."""
        return tuple((key, tuple(self.get_all(key))) for key in FILTERS if self.get_all(key))

    def link(self, path: str, /, **changed: object) -> str:
        """Link to another page with the shared parameters of this one and some changed; None removes a parameter."""
        names = {name.removesuffix("_"): value for name, value in changed.items()}
        pairs = [(key, value) for key, value in self.pairs if key in SHARED and value and key not in names]
        for key, value in names.items():
            values = value if isinstance(value, list | tuple) else [value]
            pairs += [(key, str(one)) for one in values if one is not None]
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def link_here(self, path: str, /, **changed: object) -> str:
        """Link to this page with some parameters changed; those that only this page uses are kept."""
        own = {key: self.get_all(key) for key, _ in self.pairs if key not in SHARED}
        return self.link(path, **(own | {name.removesuffix("_"): value for name, value in changed.items()}))


def parse_query(parameters: Mapping[str, Iterable[str]], now: datetime | None = None) -> PageQuery:
    """Read and validate query parameters. Unknown values are rejected, with the known ones listed."""
    pairs = tuple((key, value.strip()) for key, values in parameters.items() for value in values)
    query = PageQuery(pairs, None)
    for name, known in CHOICES.items():
        _require_known(name, [query.get(name)] if query.get(name) else [], known)
    _require_known("payer", query.get_all("payer"), PAYER_FILTERS)
    start, end = query.get("from"), query.get("to")
    if not (start or end):
        return query
    return PageQuery(pairs, between(start or end, end or "now", now or datetime.now(UTC)))


def _require_known(name: str, values: Iterable[str], known: Iterable[str]) -> None:
    for value in values:
        if value not in known:
            raise TrainfareError(name, f"'{value}' is not known", f"Use one of {', '.join(known)}.")
