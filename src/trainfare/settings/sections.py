"""Independent sections of the settings: [budget], [check], [convert], [serve], [oidc] and [engine]."""

import ipaddress
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from trainfare.errors import Problems
from trainfare.files.locations import address_problem
from trainfare.tables import LABELS

SIGN_IN = ("none", "local", "proxy", "oidc")
ROLES = ("viewer", "team", "finance", "operator", "admin")
ANYBODY = "*"
"""In [oidc] roles: everyone the provider authenticates."""


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Monthly budgets: total, and by team and cost center. Amounts are whole numbers, or text with a decimal point."""

    currency: str | None = None
    total: Any = None
    team: dict[str, Any] = msgspec.field(default_factory=dict)
    cost_center: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def given(self) -> dict[str, Any]:
        """The amounts as written, by payer: `all`, or a label and its value such as team:nlp."""
        amounts = {"all": self.total} if self.total is not None else {}
        for label in ("team", "cost_center"):
            amounts |= {f"{label}:{value}": amount for value, amount in getattr(self, label).items()}
        return amounts

    @property
    def amounts(self) -> dict[str, Decimal]:
        return {payer: Decimal(amount) for payer, amount in self.given.items()}


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Thresholds in percent, beyond which `trainfare check` ends with exit code 1."""

    unallocated: Decimal = Decimal(5)
    owner_coverage: Decimal = Decimal(95)
    retry: Decimal = Decimal(10)
    egress: Decimal = Decimal(3)
    unreported_io: Decimal = Decimal(1)
    counted_twice: Decimal = Decimal(0)
    commitment_step: Decimal = Decimal(1)
    burst: Decimal = Decimal(1)
    not_billed: Decimal = Decimal(5)
    labor: Decimal = Decimal(1)
    new_license: Decimal = Decimal(0)


class Convert(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The currency that all charges are converted to, with the rate tables among the sources."""

    to: str | None = None
    days: int = 7


ENGINES = ("duckdb", "spark")


class EngineChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The engine that builds books; both give the same digits."""

    name: str = "duckdb"
    master: str = ""
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    s3_scheme: str = "s3a"


class Serve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How `trainfare serve` authenticates people, how much each may use, and how often it verifies what is stored."""

    sign_in: str = "none"
    proxies: tuple[str, ...] = ()
    proxy_header: str = "X-Forwarded-User"
    session_hours: int = 12
    requests_per_minute: int = 1200
    query_seconds: int = 30
    scrub_hours: float = 24


def check_budget(budget: Budget, where: str, problems: Problems) -> None:
    """Report what is wrong with a well-typed [budget]."""
    if budget.currency is not None and not re.fullmatch(r"[A-Z]{3}", budget.currency):
        problems.add(
            f"{where} currency", f"'{budget.currency}' is not a currency code", "Use an ISO 4217 code such as USD."
        )
    if not budget.given:
        problems.add(where, "has no amount", "Write total = 500000, or amounts by team, as in team = { nlp = 200000 }.")
    for payer, amount in budget.given.items():
        is_whole = isinstance(amount, int) and not isinstance(amount, bool) and amount > 0
        is_text = isinstance(amount, str) and re.fullmatch(r"\d{1,18}(\.\d{1,12})?", amount) and Decimal(amount) > 0
        if not is_whole and not is_text:
            do = 'Write a whole number above 0, or text if it has decimals, as in total = "1250.50".'
            name = "total" if payer == "all" else payer.replace(":", ".", 1)
            shown = str(amount).lower() if isinstance(amount, bool) else repr(amount)
            problems.add(f"{where} {name}", f"{shown} is not an amount", do)


def check_budget_currency(budget: Budget, default: str | None, to: str | None, where: str, problems: Problems) -> None:
    """A budget must have a currency, and one that books can have: it is compared with costs in that currency only."""
    currency = budget.currency or to or default
    if currency is None:
        do = 'Set it, as in currency = "USD": amounts in different currencies are never compared.'
        problems.add(where, "has no currency", do)
    elif to is not None and currency != to:
        problems.add(
            f"{where} currency",
            f"is {currency}, but [convert] converts everything to {to}",
            f'Write currency = "{to}".',
        )


class Oidc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The identity provider that people sign in with, and the meaning of its claims."""

    issuer: str = ""
    client_id: str = ""
    address: str = ""
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    name_claim: str = "email"
    role_claim: str = "groups"
    roles: dict[str, str] = msgspec.field(default_factory=dict)
    sees: dict[str, str] = msgspec.field(default_factory=dict)


def check_convert(convert: Convert, where: str, problems: Problems) -> None:
    """Report what is wrong with a well-typed [convert]."""
    if convert.to is not None and not re.fullmatch(r"[A-Z]{3}", convert.to):
        problems.add(f"{where} to", f"'{convert.to}' is not a currency code", "Use an ISO 4217 code such as USD.")
    if not 0 <= convert.days <= 366:
        do = "Write how many days a rate stays valid if later days have none, from 0 to 366, as in days = 7."
        problems.add(f"{where} days", f"{convert.days} is out of range", do)


def check_serve(serve: Serve, where: str, problems: Problems) -> None:
    """Report what is wrong with a well-typed [serve]."""
    if serve.sign_in not in SIGN_IN:
        problems.add(f"{where} sign_in", f"'{serve.sign_in}' is not a valid value", f"Use one of {', '.join(SIGN_IN)}.")
    for address in serve.proxies:
        try:
            ipaddress.ip_network(address)
        except ValueError:
            do = 'Write the addresses or networks of your proxies, as in proxies = ["10.0.0.7", "10.1.0.0/16"].'
            problems.add(f"{where} proxies", f"'{address}' is not an IP address or network", do)
    if serve.sign_in == "proxy" and not serve.proxies:
        do = 'Name the only addresses that may say who somebody is, as in proxies = ["127.0.0.1"].'
        problems.add(f"{where} proxies", 'sign_in is "proxy", but no proxy is trusted', do)
    if not serve.proxy_header.replace("-", "").isalnum():
        do = 'Write the name of a header, as in proxy_header = "X-Forwarded-User".'
        problems.add(f"{where} proxy_header", f"'{serve.proxy_header}' is not a header name", do)
    for name in ("session_hours", "requests_per_minute", "query_seconds"):
        if (value := getattr(serve, name)) < 1:
            problems.add(
                f"{where} {name}", f"{value} is too small", f"Write a whole number above 0, as in {name} = 12."
            )
    if not 0 < serve.scrub_hours <= 8760:
        do = "Write the hours within which every stored file is read again, as in scrub_hours = 24."
        problems.add(f"{where} scrub_hours", f"{serve.scrub_hours:g} is out of range", do)


def check_oidc(oidc: Oidc, where: str, problems: Problems) -> None:
    """Report what is wrong with a well-typed [oidc]. Traffic must be encrypted: whoever reads it could sign in."""
    for name, text, host in (("issuer", oidc.issuer, "login"), ("address", oidc.address, "costs")):
        if not re.fullmatch(r"https://[^\s?#@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/[^\s?#@]*)?", text):
            do = f'Write it as in {name} = "https://{host}.example.com"; http is allowed only for this machine.'
            problems.add(f"{where} {name}", f"'{text}' is not an https address", do)
    for name, text in (("client_id", oidc.client_id), ("name_claim", oidc.name_claim), ("role_claim", oidc.role_claim)):
        if not text.strip():
            problems.add(f"{where} {name}", "is empty", f"Write {name} as your identity provider has it.")
    if "openid" not in oidc.scopes:
        problems.add(f"{where} scopes", "openid is missing", 'Write scopes = ["openid", "email", "profile"].')
    if not oidc.roles:
        do = 'Map groups to roles, as in roles = { "ml-finance" = "finance" }; "*" means everyone.'
        problems.add(f"{where} roles", "no one would have a role", do)
    for group, role in oidc.roles.items():
        if role not in ROLES:
            problems.add(f"{where} roles.{group}", f"'{role}' is not a role", f"Use one of {', '.join(ROLES)}.")
    for label in oidc.sees:
        if label not in LABELS:
            problems.add(f"{where} sees.{label}", f"'{label}' is not a label", f"Use one of {', '.join(LABELS)}.")
    if "team" in oidc.roles.values() and not oidc.sees:
        do = 'Name the claim with their labels, as in sees = { cost_center = "cost_centers" }.'
        problems.add(f"{where} sees", "people with the role team would see nothing", do)


def check_engine(engine: EngineChoice, where: str, problems: Problems) -> None:
    """Report what is wrong with a well-typed [engine]."""
    if engine.name not in ENGINES:
        problems.add(f"{where} name", f"'{engine.name}' is not a valid value", f"Use one of {', '.join(ENGINES)}.")
    elif engine.name == "duckdb" and (engine.master or engine.settings or engine.s3_scheme != "s3a"):
        problems.add(where, "has settings that only apply to spark", 'Write name = "spark", or remove them.')
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*", engine.s3_scheme):
        do = 'Write how object store addresses start in Spark, as in s3_scheme = "s3a".'
        problems.add(f"{where} s3_scheme", f"'{engine.s3_scheme}' is not a URL scheme", do)


def check_lake(lake: str | None, s3_endpoint: str | None, where: str, problems: Problems) -> None:
    """Report what is wrong with the location of the lake."""
    check_address(lake or "", f"{where} lake", problems)
    if s3_endpoint is not None and not re.fullmatch(r"https?://[^/@]+/?", s3_endpoint):
        do = 'Write the address of the object store, as in s3_endpoint = "https://s3.example.com:9000".'
        problems.add(f"{where} s3_endpoint", "not a server address", do)


def check_address(text: str, where: str, problems: Problems) -> None:
    """Report what is wrong with an object store address; paths are not checked."""
    if "://" in text and (problem := address_problem(text)):
        problems.add(where, *problem)


SECTIONS: dict[str, tuple[type[msgspec.Struct], Callable[[Any, str, Problems], None]]] = {
    "budget": (Budget, check_budget),
    "convert": (Convert, check_convert),
    "engine": (EngineChoice, check_engine),
    "oidc": (Oidc, check_oidc),
    "serve": (Serve, check_serve),
}
"""Sections whose types are checked first, and then their values."""
