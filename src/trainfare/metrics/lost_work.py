"""Lost work: which time of a job's attempts was kept, lost or overhead, what of its money that was, and how to lose less."""

from trainfare.engine.protocol import Engine

PACKAGE = "trainfare.metrics"
STEPS = (
    "tries",
    "checkpoints",
    "training_starts",
    "work_spans",
    "work_seconds",
    "work",
    "book_work",
    "checkpoint_habits",
    "best_intervals",
    "checkpointing",
)


def run(engine: Engine, complete_through: int) -> None:
    """Make `work`, `book_work` and `checkpointing` of the month.

    Kept, lost and overhead money of an attempt add up to its shares exactly; an attempt without rows was kept whole.
    """
    for step in STEPS:
        engine.step(PACKAGE, step, step, {"complete_through": str(complete_through)})
