"""Sections of the settings that stand for themselves: [check] and [serve]."""

import ipaddress
from decimal import Decimal

import msgspec

from trainfare.errors import Faults

SIGN_IN = ("none", "local", "proxy")


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


class Serve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who is let in by `trainfare serve`."""

    sign_in: str = "none"
    proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    proxy_header: str = "X-Forwarded-User"
    session_hours: int = 12
    requests_per_minute: int = 1200


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
