"""Who asks, and what they may see and do."""

from dataclasses import dataclass

ROLES = ("viewer", "team", "finance", "operator", "admin")
"""viewer reads everything; team reads its own; finance also closes; operator also acts; admin does everything."""


@dataclass(frozen=True)
class Viewer:
    """`sees` lists the labels whose money may be seen, as KEY:VALUE (team:nlp, cost_center:4711); None is everything."""

    name: str
    role: str
    sees: tuple[str, ...] | None = None

    @property
    def sees_all(self) -> bool:
        return self.sees is None
