"""Headers that every answer carries: nothing may be loaded from elsewhere, framed, sniffed or told to others."""

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


async def secure(message: Message, scope: Scope) -> None:
    """Put them on an answer that is about to be sent, whether a handler gave it or an error."""
    if message["type"] == "http.response.start":
        headers = MutableScopeHeaders.from_message(message)
        for name, value in SECURITY.items():
            headers.setdefault(name, value)
