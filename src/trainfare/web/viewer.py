"""Who asks, and what they may see and do."""

from dataclasses import dataclass

ROLES = {
    "viewer": "sees everything",
    "team": "sees what belongs to its own labels, and nothing else",
    "finance": "sees everything, closes months and files statements",
    "operator": "sees everything and acts on jobs",
    "admin": "everything",
}
SCOPES = {
    "read": "pages and API",
    "metrics": "/metrics",
}
"""What a token is for. People who sign in may use everything that their role allows."""


@dataclass(frozen=True)
class Viewer:
    """`sees` lists the labels whose money may be seen, as KEY:VALUE (team:nlp, cost_center:4711); None is everything."""

    name: str
    role: str
    sees: tuple[str, ...] | None = None
    scopes: tuple[str, ...] = tuple(SCOPES)

    is_token: bool = False

    @property
    def closes(self) -> bool:
        """Whether they may close months and file statements."""
        return self.role in ("finance", "admin") and not self.is_token

    @property
    def sees_all(self) -> bool:
        return self.sees is None


NOBODY = Viewer("", "", ())
"""Asks for what anybody may have."""
