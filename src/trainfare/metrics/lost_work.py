"""Lost work: which time of a job's attempts was kept, lost or overhead, what of its money that was, and how to lose less."""

from trainfare import keyed
from trainfare.engine.protocol import Engine
from trainfare.engine.sql import no_rows_of

PACKAGE = "trainfare.metrics"
STEPS = (
    "tries",
    "checkpoints",
    "training_starts",
    "work_spans",
    "work_seconds",
    "book_work",
    "checkpoint_habits",
    "best_intervals",
    "checkpointing",
)


def run(engine: Engine, complete_through: int) -> None:
    """Make `work_seconds`, `book_work` and `checkpointing` of the month, and the view `lost_money`."""
    given = {"complete_through": str(complete_through)}
    for step in STEPS:
        if step == "checkpoint_habits" and not engine.row("SELECT count(*) FROM checkpoints")[0]:
            # Nobody has any, and finding that out by looking at every holding takes a second for a million of them.
            engine.table(step, no_rows_of(PACKAGE, step, given))
        else:
            engine.step(PACKAGE, step, step, given)
    engine.view("lost_money", keyed.lost_money("kept_shares", "work_seconds"))
