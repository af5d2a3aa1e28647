"""Attempts that are over without an end: when they count as ended, compared with a model in plain Python."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from .books import HOUR, Bookkeeper, Case, hours_of, placement, stamp
from .test_properties import examples

GPUS = 4
MACHINES = ("n1", "n2")


@dataclass(frozen=True)
class Row:
    """A row of the job log, in hours; without an end, the attempt is over or still runs."""

    job: str
    attempt: int
    machine: str
    start: int
    end: int | None
    gpus: int
    state: str

    @property
    def is_unended(self) -> bool:
        return self.end is None and self.state != "running"


@st.composite
def logs(draw: st.DrawFn) -> list[Row]:
    rows = []
    for job in "abcde"[: draw(st.integers(2, 5))]:
        start = draw(st.integers(0, 6))
        for attempt in range(1, draw(st.integers(1, 3)) + 1):
            end = draw(st.sampled_from([None, start + 1, start + 2, start + 5]))
            state = draw(st.sampled_from(["node_failed", "failed", "running"])) if end is None else "failed"
            machine, gpus = draw(st.sampled_from(MACHINES)), draw(st.integers(1, GPUS))
            rows.append(Row(job, attempt, machine, start, end, gpus, state))
            start = (end or start) + draw(st.integers(0, 3))
    return rows


def ends(rows: list[Row], gone: dict[str, int]) -> dict[tuple[str, int], int]:
    """The hour at which each attempt without an end counts as ended."""
    found = {}
    log_end = max(max(row.start, row.end or row.start) for row in rows)
    for row in filter(lambda row: row.is_unended, rows):
        others = [o for o in rows if (o.job, o.attempt) != (row.job, row.attempt) and not o.is_unended]
        mine = [o for o in others if o.machine == row.machine]
        candidates = [log_end]
        candidates += [o.start for o in rows if o.job == row.job and o.attempt > row.attempt and o.start >= row.start]
        candidates += [gone[row.machine]] if row.machine in gone and gone[row.machine] > row.start else []
        for newcomer in mine:
            at = newcomer.start
            held = sum(o.gpus for o in mine if o.start <= at and (o.end is None or o.end > at))
            if at > row.start and held + row.gpus > GPUS:
                candidates.append(at)
        found[row.job, row.attempt] = min(candidates)
    return found


@examples(12)
@given(rows=logs(), gone=st.dictionaries(st.sampled_from(MACHINES), st.integers(1, 12)))
def test_attempts_without_an_end_end_where_the_model_says(keeper: Bookkeeper, rows: list[Row], gone: dict[str, int]):
    log = [
        placement(
            row.job,
            row.machine,
            (row.start * HOUR, None if row.end is None else row.end * HOUR),
            attempt=row.attempt,
            gpus=row.gpus,
            state=row.state,
        )
        for row in rows
    ]
    listed = [
        {"machine_id": name, "gpus": GPUS, "existed_to": stamp(gone[name] * HOUR) if name in gone else ""}
        for name in MACHINES
    ]
    charges = [hours_of(name, (0, 40 * HOUR), "40.00") for name in MACHINES]
    account = keeper.book(Case(charges, log, listed))
    expected = ends(rows, gone)
    assert ("END_UNKNOWN" in account.findings) == bool(expected)
    held = {
        (job, attempt): (starts, last)
        for job, attempt, starts, last in account.opened.engine.rows(
            "SELECT job_id, attempt, min(starts), max(ends) FROM book_placements GROUP BY ALL"
        )
    }
    origin = 1790812800
    for row in rows:
        end = expected.get((row.job, row.attempt))
        if end is None:
            continue
        if end == row.start:
            assert (row.job, row.attempt) not in held
        else:
            assert held[row.job, row.attempt] == (origin + row.start * HOUR, origin + end * HOUR), row
