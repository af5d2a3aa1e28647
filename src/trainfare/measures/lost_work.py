"""Lost work: which time of attempts was kept, lost or overhead, what it cost, and how to lose less."""

from trainfare.engine.protocol import Engine
from trainfare.engine.sql import no_rows_of
from trainfare.store import book_views

PACKAGE = "trainfare.measures"
STEPS = (
    "checkpoints",
    "training_starts",
    "work_spans",
    "work_seconds",
    "book_work",
    "checkpoint_habits",
    "best_intervals",
    "checkpointing",
)
"""The steps after `attempt_summary`, in order."""


def run(engine: Engine, complete_through: int) -> None:
    """Make `work_seconds`, `book_work` and `checkpointing` of the month, and the view `lost_work_costs`."""
    engine.step(PACKAGE, "attempt_summary", "attempt_summary", {"complete_through": str(complete_through)})
    for step in STEPS:
        if step == "checkpoint_habits" and not engine.row("SELECT count(*) FROM checkpoints")[0]:
            # The step would find this out by reading every holding, which takes a second for a million of them.
            engine.table(step, no_rows_of(PACKAGE, step))
        else:
            engine.step(PACKAGE, step, step)
    engine.view("lost_work_costs", book_views.lost_work_costs("stored_shares", "work_seconds"))
