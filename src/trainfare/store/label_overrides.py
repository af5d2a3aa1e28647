"""Labels that people gave to jobs afterwards: they count more than what the log says. Rows are only added."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import insert, select

from trainfare.store import audit
from trainfare.store.database import Database
from trainfare.store.schema import LABEL_OVERRIDES


@dataclass(frozen=True)
class LabelOverride:
    """The value of one label of a job, or of one attempt of it, from now on. Without a value, the log counts again."""

    job_id: str
    attempt: int | None
    key: str
    value: str | None
    set_at: datetime
    set_by: str
    note: str


class LabelOverrides:
    """The overrides of a workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def set(self, job_id: str, attempt: int | None, labels: Mapping[str, str | None], by: str, note: str) -> None:
        """Set these labels of a job, or of one attempt; None withdraws an override. All or none are set."""
        now = datetime.now(UTC)
        with self._database.write() as connection:
            rows = [LabelOverride(job_id, attempt, key, value, now, by, note) for key, value in labels.items()]
            connection.execute(insert(LABEL_OVERRIDES), [vars(row) for row in rows])
            details = {"job": job_id, "attempt": attempt, "labels": dict(labels), "note": note}
            audit.append(connection, by, "labels of a job set", details)

    def history(self, job_id: str | None = None) -> list[LabelOverride]:
        """Every override that was ever set, or those of one job, oldest first."""
        wanted = select(LABEL_OVERRIDES).order_by(LABEL_OVERRIDES.c.id)
        wanted = wanted.where(LABEL_OVERRIDES.c.job_id == job_id) if job_id else wanted
        with self._database.read() as connection:
            rows = connection.execute(wanted).mappings().all()
        return [LabelOverride(**{name: row[name] for name in LabelOverride.__dataclass_fields__}) for row in rows]

    def current(self) -> list[LabelOverride]:
        """The overrides that count: of each job, attempt and label the last one, unless it was withdrawn."""
        latest = {(one.job_id, one.attempt, one.key): one for one in self.history()}
        return [one for one in latest.values() if one.value is not None]
