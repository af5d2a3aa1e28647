"""Security headers of every response: no foreign content, framing, content sniffing or referrer to other sites.

Cookies are `Secure` whenever the browser uses https, whether this service or a proxy in front of it encrypts.
"""

from litestar.datastructures import MutableScopeHeaders
from litestar.types import Message, Scope

SECURITY = {
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


async def add_security_headers(message: Message, scope: Scope) -> None:
    """Add the headers to a response that is about to be sent, including error responses."""
    if message["type"] == "http.response.start":
        headers = MutableScopeHeaders.from_message(message)
        for name, value in SECURITY.items():
            headers.setdefault(name, value)
        if scope["scheme"] == "https":
            message["headers"] = [_secured(header) for header in message["headers"]]


def _secured(header: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """A cookie that was set over https is sent over https only."""
    name, value = header
    is_open = name.lower() == b"set-cookie" and b"; secure" not in value.lower()
    return (name, value + b"; Secure") if is_open else header
