"""The viewer of a request, and what they may see and do."""

from dataclasses import dataclass

ROLES = {
    "viewer": "sees everything",
    "team": "sees only the cost of its own labels",
    "finance": "sees everything, closes months and files statements",
    "operator": "sees everything and acts on jobs",
    "admin": "everything",
}
SCOPES = {
    "read": "pages and API",
    "metrics": "/metrics",
    "events": "send events of jobs",
}
"""What a token may be used for. People who sign in may use everything that their role permits."""


@dataclass(frozen=True)
class Viewer:
    """`visibility` lists the labels whose cost is visible, as KEY:VALUE (team:nlp, cost_center:4711); None: all."""

    name: str
    role: str
    visibility: tuple[str, ...] | None = None
    scopes: tuple[str, ...] = tuple(SCOPES)
    is_token: bool = False

    @property
    def closes(self) -> bool:
        """Whether they may close months and file statements."""
        return self.role in ("finance", "admin") and not self.is_token

    @property
    def reopens(self) -> bool:
        """Whether they may reopen closed months."""
        return self.role == "admin" and not self.is_token

    @property
    def sees_all(self) -> bool:
        return self.visibility is None


ANONYMOUS = Viewer("", "", ())
"""The viewer of a public route."""
