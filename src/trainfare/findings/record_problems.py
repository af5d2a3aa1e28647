"""Problems in the records: each is a query for the rows that show it, with the cost at stake and a remedy."""

from dataclasses import dataclass

from trainfare.engine.protocol import Engine
from trainfare.engine.sql import pick, quoted, step_text
from trainfare.findings import late_machines
from trainfare.period import Month
from trainfare.tables import ENDED

PACKAGE = "trainfare.findings.records"
SHOWN_EVIDENCE = 5


@dataclass(frozen=True)
class RecordProblem:
    """A kind of problem in the records. `code` in lower case is the name of its SQL file."""

    code: str
    what: str
    remedy: str


RECORD_PROBLEMS = (
    RecordProblem(
        "BILL_DOES_NOT_ADD_UP",
        "sums on the bill that are equal by the provider's own rules differ: some of its cost may be missing or counted "
        "twice",
        "Export the month again, with all columns and all files; if it stays, ask the provider.",
    ),
    RecordProblem(
        "LINE_TYPE_UNKNOWN",
        "types of bill lines that are not known: they count as adjustments with the cost on the invoice",
        "Look up the type in the provider's documentation, and send these lines to a payer with a rule.",
    ),
    RecordProblem(
        "BILL_NOT_FINAL",
        "bill lines without an invoice yet: the provider may still change them",
        "Build again when the month is invoiced, before you close it.",
    ),
    RecordProblem(
        "MACHINE_SIZE_UNKNOWN",
        "machines on the bill with an unknown number of GPUs: each job that holds one pays for all of it",
        "List them in a machine file with their gpus, and pass it with --machines or as a [[source]].",
    ),
    RecordProblem(
        "HELD_BEYOND_CAPACITY",
        "jobs held more of a machine than it has: they share the cost of that time",
        "Look for attempts that ended earlier than the log states, or for a wrong gpus in the machine file.",
    ),
    RecordProblem(
        "HELD_AMOUNT_UNKNOWN",
        "placements without a number of GPUs: each counts as the whole machine",
        "Add the column gpus to the job log.",
    ),
    RecordProblem(
        "GPUS_NOT_IN_LOG",
        "jobs held machines with GPUs, but none of the GPUs: these appear as idle",
        "Configure the scheduler to record GPUs in its accounting, or add the column gpus to the job log.",
    ),
    RecordProblem(
        "GPU_MODELS_MIXED",
        "machines with GPUs of several models: the cost of the machine is split by the number of GPUs, whatever a GPU of "
        "each model costs",
        "Compare the split with the prices of the models; if it is wrong, name the GPUs of each model as a machine of its "
        "own in the job log, or split the machine by a rule with fixed parts.",
    ),
    RecordProblem(
        "JOB_ID_REPEATED",
        "one id in the job log stands for several jobs: each has the time it was first submitted in its id",
        "If the log mixes clusters, export it with their names, as in the column Cluster of sacct, or give each cluster's "
        "source a name; if a cluster's numbers started over, no action is needed.",
    ),
    RecordProblem(
        "OVERLAPPING_ROWS",
        "rows of one attempt overlap on one machine: their amounts are added up",
        "If they are the same placement reported twice, keep one; otherwise no action is needed.",
    ),
    RecordProblem(
        "ROW_DELIVERED_TWICE",
        "rows of the job log were delivered more than once: each counts once",
        "No action is needed; to clear this finding, remove the row from one of the files.",
    ),
    RecordProblem(
        "END_UNKNOWN",
        "rows of the job log report an attempt as over without an end: it counts as ended when the next attempt started, "
        "the machine was gone, others needed its place or the log ends, whichever was first",
        "Fill in the column ended.",
    ),
    RecordProblem(
        "ENDED_BETWEEN",
        "attempts disappeared between two queries of a collector: each counts as ended when it was last seen, and its "
        "time until it was missed counts as idle",
        "Collect more often, or keep ended jobs in the scheduler for longer than collecting takes.",
    ),
    RecordProblem(
        "GPU_SLICE_UNKNOWN",
        "jobs held slices of GPUs whose size is unknown: each counts as a whole GPU",
        "Name the slices in the scheduler after their model and profile, as in a100_1g.5gb.",
    ),
    RecordProblem(
        "LABELS_DISAGREE",
        "rows of one attempt have different owners, teams or other labels: the last in order counts",
        "Correct the job log so that all rows of an attempt have the same labels.",
    ),
    RecordProblem(
        "JOB_WITHOUT_MACHINE",
        "jobs ran on machines that are not on the bill, or not for that time: no machine cost is known for these hours",
        "Give their resource ids in a machine file, or add the bill that has these machines.",
    ),
    RecordProblem(
        "MACHINE_WITHOUT_JOBS",
        "machines on the bill that no job held: all of their cost is idle",
        "Shut them down, or add the job log with their jobs; if they are not for training, "
        "send them to __outside__ with a rule.",
    ),
    RecordProblem(
        "HELD_WHILE_GONE",
        "jobs held machines at a time when, according to the machine file, these did not exist",
        "Correct existed_from and existed_to of these machines.",
    ),
    RecordProblem(
        "TWO_CURRENCIES",
        "the bill has more than one currency: amounts in different currencies are never added up",
        "Report one at a time with --currency.",
    ),
    RecordProblem(
        "NEGATIVE_TOTAL",
        "a bill with a negative total",
        "Check that the charges to which its credits or refunds belong are in the same month.",
    ),
    RecordProblem(
        "CHARGE_WITHOUT_TIME",
        "charges that are split by held time start and end at the same moment: no job can have held it",
        "Ask the provider for their period, or allocate them with a rule.",
    ),
    RecordProblem(
        "AMOUNT_ROUNDED",
        "amounts on the bill have more than 12 decimals: they were rounded to 12",
        "No action is needed; the bill's own total may differ from ours by less than 10^-12 per line.",
    ),
    RecordProblem(
        "COST_MISSING",
        "bill lines without list or contracted cost: on these cost bases the totals are too low",
        "Use --basis effective or billed, or ask the provider for the missing columns.",
    ),
    RecordProblem(
        "BILL_LINE_UNCERTAIN",
        "bill lines that lack a figure, or that could be read only with an assumption: the evidence says which",
        "Export what the evidence names; the how-to page of the provider says how.",
    ),
    RecordProblem(
        "JOB_NOT_IN_LOG",
        "charges name jobs that are not in the job log: their cost could not be allocated",
        "Add the job log of that time, or correct the tag.",
    ),
    RecordProblem(
        "USE_NOT_MEASURED",
        "rules split by bytes or requests at times when none were measured: held time is used instead",
        "Deliver measurements of that time, or choose another `by` in these rules.",
    ),
    RecordProblem(
        "MEASURED_JOB_UNKNOWN",
        "measurements of jobs or attempts that are not in the job log: they are not counted",
        "Add the job log of that time, or correct job_id and attempt in the measurements.",
    ),
    RecordProblem(
        "EVENTS_WITHOUT_END",
        "the events of attempts stop without an end: each counts up to its last event",
        "If the attempt still runs, build again with its newer events; if it was killed, no action is needed.",
    ),
    RecordProblem(
        "EVENTS_MISSING",
        "events of a job are missing: steps, checkpoints or measurements may be incomplete",
        "Look for a full disk, or for a spool file that is not among the sources.",
    ),
    RecordProblem(
        "EVENTS_UNRECOGNIZED",
        "events of unknown types or versions: they are kept, but no part of the account",
        "Upgrade Trainfare if they come from a newer SDK; otherwise correct their type.",
    ),
    RecordProblem(
        "NOT_BILLED_YET",
        "jobs ran after the time through which the bill is complete: these hours have no cost yet",
        "Build again when the bill has arrived.",
    ),
    RecordProblem(
        "LISTED_NOT_BILLED",
        "machines listed without an end, which no job held since the bill of their account ended a day or more before "
        "the job log: if they still exist, this is at most what is not billed yet",
        "Give existed_to of the machines that are gone; for the others, build again when the bill has arrived.",
    ),
    RecordProblem(
        "RESULT_JOB_UNKNOWN",
        "results of jobs that are not in the job log under this id: they are not counted",
        "Correct job_id in the results, or add the job log. An id that several jobs have is written CLUSTER/ID.",
    ),
    RecordProblem(
        "MACHINE_LISTED_TWICE",
        "machine files give one resource different sizes or owners: the larger size and the first name count; "
        "or one name stands for two resources at a time: jobs on it pay for both",
        "Keep one row per resource and name, or distinguish the rows by existed_from and existed_to.",
    ),
    RecordProblem(
        "CLOSED_MONTH_CHANGED",
        "the job log or the rules of a closed month changed since: its book stays as it is, and this much would be "
        "allocated to other payers",
        "Restore the job log or the rules; or let an admin reopen the month with `trainfare reopen`, build, and close "
        "it again.",
    ),
)


def run(engine: Engine, month: Month, complete_through: int) -> None:
    """Make the `findings` of the month, and `late_machines`."""
    late_machines.run(engine, month)
    selects = [_finding(problem, month, complete_through) for problem in RECORD_PROBLEMS]
    engine.table("findings", " UNION ALL ".join(selects))


def _finding(problem: RecordProblem, month: Month, complete_through: int) -> str:
    """Return a SELECT with one row per currency at stake, and none if no row shows the problem."""
    query = problem.code.lower()
    pool = {"complete_through": str(complete_through), "final_states": ", ".join(map(quoted, ENDED))}
    pool["month"] = f"DATE '{month}-01'"
    rows = step_text(PACKAGE, query, pick(PACKAGE, query, pool))
    ranking = "row_number() OVER (PARTITION BY currency ORDER BY abs(at_stake) DESC NULLS LAST, evidence)"
    return (
        f"SELECT {quoted(problem.code)} AS code, {quoted(problem.what)} AS what, "
        f"first_values(evidence, ranking, {SHOWN_EVIDENCE}) AS evidence, "
        "count(*) AS rows, CAST(sum(at_stake) AS DECIMAL(38,12)) AS at_stake, currency, "
        f"{quoted(problem.remedy)} AS remedy FROM (SELECT *, {ranking} AS ranking FROM (\n{rows}\n)) "
        "GROUP BY currency HAVING count(*) > 0"
    )
