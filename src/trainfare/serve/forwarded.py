"""Where a request comes from: the peer of its connection, and, if that is one of our proxies, the client it names.

Only the addresses in [serve] proxies are believed. From any other peer, loopback included, forwarded headers are
ignored: whoever can open a connection can write them.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

PEER = "trainfare_peer"
"""The key in the state of a request for the address of its connection."""
FORWARDED_FOR, FORWARDED_PROTO = b"x-forwarded-for", b"x-forwarded-proto"
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class Proxies:
    """The addresses and networks of the proxies in front of this service."""

    given: tuple[str, ...]

    @cached_property
    def _networks(self) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
        return [ipaddress.ip_network(text) for text in self.given]

    def has(self, address: str) -> bool:
        found = _address(address)
        return found is not None and any(found in network for network in self._networks)

    def client(self, peer: str, forwarded_for: Iterable[str]) -> str:
        """The client behind our proxies: the last address in the chain that is not one of them."""
        chain = [part.strip() for line in forwarded_for for part in line.split(",")]
        client = peer
        while self.has(client) and chain:
            named = _address(chain.pop())
            if named is None:
                break
            client = str(named)
        return client


def _address(text: str) -> Address | None:
    """An IP address, with or without a port; an IPv4 address in IPv6 notation is an IPv4 address."""
    host = text.strip('"')
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, ipaddress.IPv6Address) else found


def apply(scope: dict[str, Any], proxies: Proxies) -> None:
    """Set the client and the scheme of a request, and keep the address of its connection."""
    peer = str((scope.get("client") or ("", 0))[0])
    scope.setdefault("state", {})[PEER] = peer
    if not proxies.has(peer):
        return
    scope["client"] = (proxies.client(peer, _values(scope["headers"], FORWARDED_FOR)), 0)
    protocols = [
        part.strip().lower() for line in _values(scope["headers"], FORWARDED_PROTO) for part in line.split(",")
    ]
    if protocols and protocols[-1] in ("http", "https"):
        scope["scheme"] = protocols[-1]


def _values(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]


def peer_address(scope: Any) -> str:
    """The address at the other end of the connection, which nobody can choose."""
    return str(scope.get("state", {}).get(PEER, ""))


def client_address(scope: Any) -> str:
    """Whom limits apply to: an IPv4 address, or the /64 network of an IPv6 address, which one subscriber has."""
    host = str((scope.get("client") or ("", 0))[0])
    found = _address(host)
    if isinstance(found, ipaddress.IPv6Address) and not found.is_loopback:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found or host)
