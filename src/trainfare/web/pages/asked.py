"""What an address asks for. Every filter is in it, so every view is a link."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from trainfare.errors import TrainfareError
from trainfare.report.cost import PRICED, SCOPES
from trainfare.report.slice import KINDS, Only
from trainfare.report.window import Window, between
from trainfare.tables import BASES, LABELS

FILTERS = (
    *LABELS,
    *("category", "rule", "source", "account", "payer", "pool", "gpu_model", "cluster", "region", "machine", "state"),
)
CHOICES = {"basis": BASES, "per": tuple(PRICED), "scope": SCOPES, "compare": ("on", "off")}
KEPT = ("from", "to", "basis", "per", "scope", "currency", "compare", "version", "theme", *FILTERS)
"""What goes along from page to page."""


@dataclass(frozen=True)
class Asked:
    """An address's parameters, each checked."""

    given: tuple[tuple[str, str], ...]
    window: Window | None
    """None is the newest month."""

    def one(self, name: str, default: str = "") -> str:
        found = [value for key, value in self.given if key == name and value]
        return found[-1] if found else default

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.given if key == name and value]

    def number(self, name: str, default: int, least: int = 0, most: int = 1_000_000_000) -> int:
        text = self.one(name, str(default))
        if not text.isdigit() or not least <= int(text) <= most:
            raise TrainfareError(name, f"'{text}' is not a number from {least} to {most}", "Correct it in the address.")
        return int(text)

    @property
    def only(self) -> Only:
        """The keys that are asked for, with their values."""
        return tuple((key, tuple(self.all(key))) for key in FILTERS if self.all(key))

    def link(self, path: str, **changed: object) -> str:
        """Another address that asks for the same, but for what is changed: None takes a parameter away."""
        names = {name.removesuffix("_"): value for name, value in changed.items()}
        pairs = [(key, value) for key, value in self.given if key in KEPT and value and key not in names]
        for key, value in names.items():
            values = value if isinstance(value, list | tuple) else [value]
            pairs += [(key, str(one)) for one in values if one is not None]
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def stay(self, path: str, **changed: object) -> str:
        """The same address with something changed: also what only this page knows is kept."""
        own = {key: self.all(key) for key, _ in self.given if key not in KEPT}
        return self.link(path, **(own | {name.removesuffix("_"): value for name, value in changed.items()}))


def read(query: Mapping[str, Iterable[str]], now: datetime | None = None) -> Asked:
    """The parameters of an address; one that cannot be is refused."""
    given = tuple((key, value.strip()) for key, values in query.items() for value in values)
    asked = Asked(given, None)
    for name, known in CHOICES.items():
        if (value := asked.one(name)) and value not in known:
            raise TrainfareError(name, f"'{value}' is not known", f"Known are {', '.join(known)}.")
    for payer in asked.all("payer"):
        if payer not in KINDS:
            raise TrainfareError("payer", f"'{payer}' is not known", f"Known are {', '.join(KINDS)}.")
    start, end = asked.one("from"), asked.one("to")
    if not (start or end):
        return asked
    return Asked(given, between(start or end, end or "now", now or datetime.now(UTC)))
