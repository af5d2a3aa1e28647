"""Lost work: which time of attempts was kept, lost or overhead, what it cost, and how to lose less."""

from trainfare.engine.protocol import Engine
from trainfare.engine.sql import no_rows_of
from trainfare.period import Month
from trainfare.tables import PHASES

PACKAGE = "trainfare.measures"
SPAN_STEPS = ("attempt_summary", "checkpoints", "resumes", "training_starts", "work_spans", "lost_attempts")


def find_spans(engine: Engine) -> None:
    """Make `work_spans`, the lost and overhead time of attempts by which the account divides what they pay, and
    `lost_attempts`, those of which nothing is to be divided."""
    for step in SPAN_STEPS:
        engine.step(PACKAGE, step, step)


def run(engine: Engine, month: Month, complete_through: int) -> None:
    """Make `work_costs`, `book_work` and `checkpointing` of the month from `work_spans` and what these cost."""
    numbered = [(number, phase, part) for number, (phase, part) in enumerate(PHASES.items(), 1)]
    engine.values("work_phases", "number INTEGER, phase VARCHAR, part VARCHAR", numbered)
    engine.step(PACKAGE, "work_costs", "work_costs")
    bounds = {"month_start": str(int(month.start.timestamp())), "month_end": str(int(month.end.timestamp()))}
    engine.step(PACKAGE, "book_work", "book_work", bounds)
    habits = {"complete_through": str(complete_through)}
    if engine.row("SELECT count(*) FROM checkpoints")[0]:
        engine.step(PACKAGE, "checkpoint_habits", "checkpoint_habits", habits)
    else:
        # The step would find this out by reading every holding, which takes a second for a million of them.
        engine.table("checkpoint_habits", no_rows_of(PACKAGE, "checkpoint_habits", habits))
    for step in ("best_intervals", "checkpointing"):
        engine.step(PACKAGE, step, step)
