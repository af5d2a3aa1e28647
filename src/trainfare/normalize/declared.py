"""Attempts that jobs report about themselves: they count where no job log names them, and give way where one does."""

from trainfare.engine.protocol import Engine
from trainfare.engine.sql import quoted
from trainfare.job_ids import job_id_sql
from trainfare.tables import LABELS

PACKAGE = "trainfare.normalize"
_LABEL_NAMES = ", ".join(map(quoted, LABELS))


def combine(engine: Engine) -> None:
    """Make `placement_rows` from `logged_rows`, the merged job logs, and `declared_rows`."""
    cluster = "coalesce(d.log_cluster, d.log_name)"
    engine.step(PACKAGE, "declared_jobs", "declared_jobs", {"job_id": job_id_sql(cluster, "d.job_id")})
    engine.step(PACKAGE, "declared_spans", "declared_spans")
    columns = {
        origin: " UNION ALL ".join(
            f"SELECT job_id, attempt, {quoted(name)} AS key, {name} AS label_value FROM {origin}" for name in LABELS
        )
        for origin in ("declared", "logged")
    }
    fragments = {
        "names": ", ".join(LABELS),
        "declared_columns": columns["declared"],
        "logged_columns": columns["logged"],
    }
    engine.step(PACKAGE, "declared_labels", "declared_labels", fragments)
    maxima = (f", max(CASE WHEN key = {quoted(name)} THEN label_value END) AS {name}" for name in LABELS)
    engine.step(
        PACKAGE,
        "declared_placements",
        "placement_rows",
        {
            "label_names": _LABEL_NAMES,
            "label_maxima": "".join(maxima),
            "filled_labels": "".join(f", coalesce(l.{name}, c.{name}) AS {name}" for name in LABELS),
            "declared_labels": "".join(f", c.{name}" for name in LABELS),
        },
    )
    engine.drop("declared_spans", "declared_labels", "declared_jobs", "declared_rows", "logged_rows")
