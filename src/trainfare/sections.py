"""Sections of the settings that stand for themselves: [budget], [check], [convert], [serve], [oidc] and [engine]."""

import ipaddress
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from trainfare.errors import Faults
from trainfare.places import misnamed
from trainfare.tables import LABELS

SIGN_IN = ("none", "local", "proxy", "oidc")
ROLES = ("viewer", "team", "finance", "operator", "admin")
ANYBODY = "*"
"""In [oidc] roles: whoever the provider lets in."""


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much may be spent in a month: in total, and by teams and cost centres. Amounts are whole numbers, or text with a point."""

    currency: str | None = None
    total: Any = None
    team: dict[str, Any] = msgspec.field(default_factory=dict)
    cost_center: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def given(self) -> dict[str, Any]:
        """Every amount as it was written, by whose it is: `all`, or a label and its value such as team:nlp."""
        told = {"all": self.total} if self.total is not None else {}
        for label in ("team", "cost_center"):
            told |= {f"{label}:{value}": amount for value, amount in getattr(self, label).items()}
        return told

    @property
    def amounts(self) -> dict[str, Decimal]:
        return {of: Decimal(amount) for of, amount in self.given.items()}


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much is too much, in percent: `trainfare check` ends with exit code 1 beyond it."""

    unallocated: Decimal = Decimal(5)
    owner_coverage: Decimal = Decimal(95)
    retry: Decimal = Decimal(10)
    egress: Decimal = Decimal(3)
    unreported_io: Decimal = Decimal(1)
    counted_twice: Decimal = Decimal(0)
    commitment_step: Decimal = Decimal(1)
    burst: Decimal = Decimal(1)
    not_billed: Decimal = Decimal(5)
    labour: Decimal = Decimal(1)
    new_licence: Decimal = Decimal(0)


class Convert(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The currency that charges of other currencies are converted to, by the rate tables among the sources."""

    to: str | None = None
    days: int = 7


ENGINES = ("duckdb", "spark")


class EngineChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What runs the account; the digits are the same whichever does."""

    name: str = "duckdb"
    master: str = ""
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    s3_scheme: str = "s3a"


class Serve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who is let in by `trainfare serve`."""

    sign_in: str = "none"
    proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    proxy_header: str = "X-Forwarded-User"
    session_hours: int = 12
    requests_per_minute: int = 1200


def check_budget(budget: Budget, place: str, faults: Faults) -> None:
    """Tell what is wrong with a [budget] of the right shape."""
    if budget.currency is not None and not re.fullmatch(r"[A-Z]{3}", budget.currency):
        faults.add(
            f"{place} currency", f"'{budget.currency}' is not a currency code", "Use an ISO 4217 code such as USD."
        )
    if not budget.given:
        faults.add(place, "has no amount", "Write total = 500000, or amounts of teams, as in team = { nlp = 200000 }.")
    for of, amount in budget.given.items():
        is_whole = isinstance(amount, int) and not isinstance(amount, bool) and amount > 0
        is_text = isinstance(amount, str) and re.fullmatch(r"\d{1,18}(\.\d{1,12})?", amount) and Decimal(amount) > 0
        if not is_whole and not is_text:
            do = 'Write a whole number above 0, or text if it has a point, as in total = "1250.50".'
            name = "total" if of == "all" else of.replace(":", ".", 1)
            shown = str(amount).lower() if isinstance(amount, bool) else repr(amount)
            faults.add(f"{place} {name}", f"{shown} is not an amount", do)


def check_budget_currency(budget: Budget, usual: str | None, to: str | None, place: str, faults: Faults) -> None:
    """A budget is held against money of its own currency alone, so it must have one, and one that books can be in."""
    told = budget.currency or to or usual
    if told is None:
        do = 'Write currency = "USD" there: amounts of different currencies are never compared.'
        faults.add(place, "does not say its currency", do)
    elif to is not None and told != to:
        faults.add(f"{place} currency", f"is {told}, and [convert] makes everything {to}", f'Write currency = "{to}".')


class Oidc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The identity provider that people sign in with, and what its claims mean here."""

    issuer: str = ""
    client_id: str = ""
    address: str = ""
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    name_claim: str = "email"
    role_claim: str = "groups"
    roles: dict[str, str] = msgspec.field(default_factory=dict)
    sees: dict[str, str] = msgspec.field(default_factory=dict)


def check_convert(convert: Convert, place: str, faults: Faults) -> None:
    """Tell what is wrong with a [convert] of the right shape."""
    if convert.to is not None and not re.fullmatch(r"[A-Z]{3}", convert.to):
        faults.add(f"{place} to", f"'{convert.to}' is not a currency code", "Use an ISO 4217 code such as USD.")
    if not 0 <= convert.days <= 366:
        do = "Write how many days a rate counts for when later ones have none, from 0 to 366, as in days = 7."
        faults.add(f"{place} days", f"{convert.days} is not so many days", do)


def check_serve(serve: Serve, place: str, faults: Faults) -> None:
    """Tell what is wrong with a [serve] of the right shape."""
    if serve.sign_in not in SIGN_IN:
        faults.add(f"{place} sign_in", f"'{serve.sign_in}' is not known", f"Use one of {', '.join(SIGN_IN)}.")
    for address in serve.proxies:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            do = 'Write the addresses of your proxies, as in proxies = ["10.0.0.7"].'
            faults.add(f"{place} proxies", f"'{address}' is not an address", do)
    if not serve.proxy_header.replace("-", "").isalnum():
        do = 'Write the name of a header, as in proxy_header = "X-Forwarded-User".'
        faults.add(f"{place} proxy_header", f"'{serve.proxy_header}' is not a header", do)
    for name, value in (("session_hours", serve.session_hours), ("requests_per_minute", serve.requests_per_minute)):
        if value < 1:
            faults.add(f"{place} {name}", f"{value} is too small", f"Write a whole number above 0, as in {name} = 12.")


def check_oidc(oidc: Oidc, place: str, faults: Faults) -> None:
    """Tell what is wrong with an [oidc] of the right shape. Whoever could listen on the way could sign in, so the way is encrypted."""
    for name, text, such in (("issuer", oidc.issuer, "login"), ("address", oidc.address, "costs")):
        if not re.fullmatch(r"https://[^\s?#@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/[^\s?#@]*)?", text):
            do = f'Write it as in {name} = "https://{such}.example.com"; without encryption only on this machine.'
            faults.add(f"{place} {name}", f"'{text}' is not the address of an encrypted site", do)
    for name, text in (("client_id", oidc.client_id), ("name_claim", oidc.name_claim), ("role_claim", oidc.role_claim)):
        if not text.strip():
            faults.add(f"{place} {name}", "is empty", f"Write {name} as your identity provider has it.")
    if "openid" not in oidc.scopes:
        faults.add(f"{place} scopes", "openid is not among them", 'Write scopes = ["openid", "email", "profile"].')
    if not oidc.roles:
        do = 'Say which role a group has, as in roles = { "ml-finance" = "finance" }; "*" is anybody.'
        faults.add(f"{place} roles", "nobody would have a role", do)
    for group, role in oidc.roles.items():
        if role not in ROLES:
            faults.add(f"{place} roles.{group}", f"'{role}' is not a role", f"Use one of {', '.join(ROLES)}.")
    for label in oidc.sees:
        if label not in LABELS:
            faults.add(f"{place} sees.{label}", f"'{label}' is not a label", f"Use one of {', '.join(LABELS)}.")
    if "team" in oidc.roles.values() and not oidc.sees:
        do = 'Say which claim has their labels, as in sees = { cost_center = "cost_centers" }.'
        faults.add(f"{place} sees", "people with the role team would see nothing", do)


def check_engine(engine: EngineChoice, place: str, faults: Faults) -> None:
    if engine.name not in ENGINES:
        faults.add(f"{place} name", f"'{engine.name}' is not known", f"Use one of {', '.join(ENGINES)}.")
    elif engine.name == "duckdb" and (engine.master or engine.settings or engine.s3_scheme != "s3a"):
        faults.add(place, "has settings that only spark knows", 'Write name = "spark", or take them out.')
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*", engine.s3_scheme):
        do = 'Write how addresses of the object store begin in Spark, as in s3_scheme = "s3a".'
        faults.add(f"{place} s3_scheme", f"'{engine.s3_scheme}' is not a scheme", do)


def check_lake(lake: str | None, s3_endpoint: str | None, where: str, faults: Faults) -> None:
    """Tell what is wrong with where the lake is said to be."""
    check_address(lake or "", f"{where} lake", faults)
    if s3_endpoint is not None and not re.fullmatch(r"https?://[^/@]+/?", s3_endpoint):
        do = 'Write where the object store answers, as in s3_endpoint = "https://s3.example.com:9000".'
        faults.add(f"{where} s3_endpoint", "this is not the address of a server", do)


def check_address(text: str, place: str, faults: Faults) -> None:
    """Tell what is wrong with the address of an object store; a path is none."""
    if "://" in text and (wrong := misnamed(text)):
        faults.add(place, *wrong)


SECTIONS: dict[str, tuple[type[msgspec.Struct], Callable[[Any, str, Faults], None]]] = {
    "budget": (Budget, check_budget),
    "convert": (Convert, check_convert),
    "engine": (EngineChoice, check_engine),
    "oidc": (Oidc, check_oidc),
    "serve": (Serve, check_serve),
}
"""Sections whose shape is checked first, and then what they say."""
