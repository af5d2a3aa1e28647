"""What is wrong with the records: each fault a query for the rows that show it, with the money at stake and what to do."""

from dataclasses import dataclass

from trainfare.engine.protocol import Engine
from trainfare.engine.sql import quoted, step_text
from trainfare.tables import ENDED

PACKAGE = "trainfare.metrics.faults"
SHOWN_EVIDENCE = 5


@dataclass(frozen=True)
class Fault:
    """A kind of fault. `code` in small letters is the name of its query."""

    code: str
    what: str
    remedy: str


FAULTS = (
    Fault(
        "MACHINE_SIZE_UNKNOWN",
        "machines on the bill whose GPUs are not known: whoever holds one pays for all of it",
        "List them in a machine file with their gpus, and give it with --machines or as a [[source]].",
    ),
    Fault(
        "HELD_BEYOND_CAPACITY",
        "machines were held beyond what they have: the holders of that time share its cost",
        "Look for attempts that ended earlier than the log says, or for a wrong gpus in the machine file.",
    ),
    Fault(
        "HELD_AMOUNT_UNKNOWN",
        "placements do not say how many GPUs they held: each counts as the whole machine",
        "Add the column gpus to the job log.",
    ),
    Fault(
        "GPUS_NOT_IN_LOG",
        "jobs held machines that have GPUs, and none of them a GPU: what they held looks idle",
        "Let Slurm record GPUs (AccountingStorageTRES=gres/gpu in slurm.conf), or add the column gpus to the job log.",
    ),
    Fault(
        "OVERLAPPING_ROWS",
        "rows of one attempt overlap on one machine: what they hold is added up",
        "If they are the same hold told twice, keep one; if not, nothing needs to be done.",
    ),
    Fault(
        "ROW_DELIVERED_TWICE",
        "rows of the job log came more than once: each counts once",
        "Nothing needs to be done; to be rid of this, take the row out of one of the files.",
    ),
    Fault(
        "END_UNKNOWN",
        "rows of the job log say that an attempt is over, and not when: it counts as if it still ran",
        "Write when it ended into the column ended.",
    ),
    Fault(
        "LABELS_DISAGREE",
        "rows of one attempt name different owners, teams or other labels: the last in order counts",
        "Correct the job log: all rows of an attempt have the same labels.",
    ),
    Fault(
        "JOB_WITHOUT_MACHINE",
        "jobs ran on machines that are not on the bill, or not for that time: these hours have no cost",
        "Name their resource ids in a machine file, or add the bill that has these machines.",
    ),
    Fault(
        "MACHINE_WITHOUT_JOBS",
        "machines are on the bill and no job held them: all of their cost is idle",
        "Shut them down, or add the job log that has their jobs; if they do not train, send them __outside__ with a rule.",
    ),
    Fault(
        "HELD_WHILE_GONE",
        "machines were held at a time when, by the machine file, they did not exist",
        "Correct existed_from and existed_to of these machines.",
    ),
    Fault(
        "TWO_CURRENCIES",
        "the bill is in more than one currency: they are never added up",
        "Report one at a time with --currency.",
    ),
    Fault(
        "NEGATIVE_TOTAL",
        "a bill adds up to less than nothing",
        "Check that the charges that its credits or refunds belong to are in the same month.",
    ),
    Fault(
        "CHARGE_WITHOUT_TIME",
        "charges that are shared by who held something begin and end at one moment: nobody is found to have held it",
        "Ask the provider for their period, or give them a payer with a rule.",
    ),
    Fault(
        "AMOUNT_ROUNDED",
        "amounts on the bill have more than 12 decimals: they were rounded to 12",
        "Nothing needs to be done; the bill's own total may differ from ours by less than 10^-12 a line.",
    ),
    Fault(
        "COST_MISSING",
        "bill lines have no list or contracted cost: on these bases the totals are too low",
        "Use --basis effective or billed, or ask the provider for the missing columns.",
    ),
    Fault(
        "JOB_NOT_IN_LOG",
        "charges name jobs that are not in the job log: nobody could be given their cost",
        "Add the job log of that time, or correct the tag.",
    ),
    Fault(
        "USE_NOT_MEASURED",
        "rules share by bytes or requests in times of which none were measured: what was held is taken instead",
        "Deliver measurements of that time, or choose another `by` in these rules.",
    ),
    Fault(
        "MEASURED_JOB_UNKNOWN",
        "measurements are of jobs or attempts that are not in the job log: they count for nobody",
        "Add the job log of that time, or correct job_id and attempt in the measurements.",
    ),
    Fault(
        "NOT_BILLED_YET",
        "jobs ran after the time through which the bill is complete: these hours have no cost yet",
        "Build again when the bill has come.",
    ),
    Fault(
        "MACHINE_LISTED_TWICE",
        "machine files give one resource different sizes or owners: the larger size and the first name count; "
        "or one name to two resources at a time: who holds it pays for both",
        "Keep one row per resource and name, or tell the rows apart by existed_from and existed_to.",
    ),
)


def run(engine: Engine, complete_through: int) -> None:
    """Make `findings` of the month."""
    selects = [_finding(fault, complete_through) for fault in FAULTS]
    engine.table("findings", " UNION ALL ".join(selects))


def _finding(fault: Fault, complete_through: int) -> str:
    """One row per currency at stake, none where no row shows the fault."""
    given = {"complete_through": str(complete_through), "over": ", ".join(map(quoted, ENDED))}
    rows = step_text(PACKAGE, fault.code.lower(), given)
    places = "row_number() OVER (PARTITION BY currency ORDER BY abs(at_stake) DESC NULLS LAST, evidence)"
    return (
        f"SELECT {quoted(fault.code)} AS code, {quoted(fault.what)} AS what, "
        f"first_of(evidence, place, {SHOWN_EVIDENCE}) AS evidence, "
        "count(*) AS rows, CAST(sum(at_stake) AS DECIMAL(38,12)) AS at_stake, currency, "
        f"{quoted(fault.remedy)} AS remedy FROM (SELECT *, {places} AS place FROM (\n{rows}\n)) "
        "GROUP BY currency HAVING count(*) > 0"
    )
