"""Labels that people gave to jobs afterwards: they count more than what the log, a tag or an event says."""

from collections.abc import Iterable

from trainfare.engine.protocol import Engine
from trainfare.engine.sql import quoted
from trainfare.settings.config import GivenLabel
from trainfare.tables import LABELS

PACKAGE = "trainfare.normalize"


def apply(engine: Engine, given: Iterable[GivenLabel]) -> None:
    """Replace these labels in `attempts`."""
    rows = [(one.job, one.attempt, one.key, one.value) for one in given]
    if not rows:
        return
    engine.values("given_labels", "job_id VARCHAR, attempt INTEGER, key VARCHAR, label_value VARCHAR", rows)
    maxima = (f", max(CASE WHEN key = {quoted(name)} THEN label_value END) AS {name}" for name in LABELS)
    fragments = {
        "label_names": ", ".join(map(quoted, LABELS)),
        "label_maxima": "".join(maxima),
        "given_columns": "".join(f", coalesce(c.{name}, a.{name}) AS {name}" for name in LABELS),
    }
    engine.step(PACKAGE, "given_labels", "attempts", fragments)
