"""Which part of a job's cost was kept, lost or overhead: stories, and the property that the three add up to it."""

import inspect
import re
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given

from trainfare.tables import BASES

from .books import Account, Bookkeeper, Case
from .generated import interrupted_jobs
from .story import account_of
from .test_properties import examples

STORIES = {
    "work since the last checkpoint of a preempted attempt is lost, and so is the next attempt's start": """
        machine  n1   4 gpus  10 h  10.00 USD
        attempt  a#1  4 gpus  5 h  state preempted
        measured a#1  step 100  1 h  from 1 h
        measured a#1  checkpoint 200  1 h  from 3 h
        attempt  a#2  4 gpus  5 h  from 5 h
        measured a#2  step 201  1 h  from 7 h
        =>
        a#1  kept 2.00  lost 1.00  overhead 2.00  measured
        a#2  kept 3.00  lost 2.00  measured
    """,
    "without steps the start is computed back from the first checkpoint at the pace between checkpoints": """
        machine  n1   4 gpus  10 h  10.00 USD
        attempt  a#1  4 gpus  5 h  state node_failed
        measured a#1  checkpoint 100  1 h  from 1 h
        measured a#1  checkpoint 200  1 h  from 3 h
        attempt  a#2  4 gpus  5 h  from 5 h
        measured a#2  checkpoint 300  1 h  from 8 h
        =>
        a#1  kept 2.00  overhead 2.00  lost 1.00  measured
        a#2  kept 2.00  lost 2.00  overhead 1.00  measured
    """,
    "an attempt that was interrupted before it saved anything is lost entirely": """
        machine  n1   4 gpus  10 h  10.00 USD
        attempt  a#1  4 gpus  5 h  state failed
        attempt  a#2  4 gpus  5 h  from 5 h
        measured a#2  checkpoint 300  1 h  from 8 h
        =>
        a#1  lost 5.00  measured
        a#2  kept 4.00  overhead 1.00  measured
    """,
    "without checkpoints all of an interrupted attempt is an upper bound of what is lost": """
        machine  n1   4 gpus  10 h  10.00 USD
        attempt  a#1  4 gpus  5 h  state preempted
        attempt  a#2  4 gpus  5 h  from 5 h
        =>
        a#1  lost 5.00  at most
    """,
    "an attempt that completes, still runs or is stopped for good has lost nothing": """
        machine  n1  4 gpus  4 h  4.00 USD
        attempt  a   1 gpus  4 h  from 0 h
        attempt  b   1 gpus  from 0 h  running  state running
        attempt  d   1 gpus  4 h  from 0 h  state canceled
        attempt  e   1 gpus  4 h  from 0 h  state unknown
        =>
    """,
    "an attempt that is stopped and then retried is lost": """
        machine  n1   4 gpus  4 h  4.00 USD
        attempt  a#1  4 gpus  1 h  state canceled
        attempt  a#2  4 gpus  3 h
        =>
        a#1  lost 1.00  at most
    """,
    "an unfinished checkpoint saves nothing, and one reported by several machines counts once": """
        machine  n1   4 gpus  10 h  5.00 USD
        machine  n2   4 gpus  10 h  5.00 USD
        attempt  a    4 gpus  10 h  from 0 h  on n1  state failed
        attempt  a    4 gpus  10 h  from 0 h  on n2  state failed
        measured a    step 1  1 h  from 0 h
        measured a    checkpoint 100  1 h  from 4 h  on n1
        measured a    checkpoint 100  1 h  from 4 h  on n2
        measured a    checkpoint 200  2 h  from 9 h
        =>
        a#1  kept 4.00  overhead 1.00  lost 5.00  measured
    """,
    "a checkpoint up to a minute after the end by another clock was finished at the end": """
        machine  n1   4 gpus  10 h  36.00 USD
        attempt  a    4 gpus  10 h  from 0 h  state failed
        measured a    step 1  1 h  from 0 h
        measured a    checkpoint 100  1801 s  from 34230 s
        =>
        a#1  kept 34.23  overhead 1.77  measured
    """,
    "cost is split day by day, like the time of each day": """
        machine  n1   4 gpus  48 h  48.00 USD
        attempt  a    4 gpus  40 h  from 4 h  state failed
        measured a    step 1  1 h  from 4 h
        measured a    checkpoint 100  1 h  from 29 h
        charge   network  0.03 USD  tag job_id=a
        =>
        a#1  kept 25.01875  overhead 1.00075  lost 14.0105  measured
    """,
}


def parts(account: Account, basis: str = "effective") -> dict[str, dict[str, object]]:
    """The parts of the cost of each attempt that did not keep everything, and how they are known."""
    found: dict[str, dict[str, object]] = {}
    sql = f"SELECT job_id || '#' || attempt, part, how, sum({basis}) FROM work GROUP BY ALL"
    for payer, part, how, money in account.opened.engine.rows(sql):
        found.setdefault(payer, {"how": how})[part] = money
    for payer, spent in account.opened.engine.rows(f"SELECT payer, sum({basis}) FROM shares GROUP BY ALL"):
        kept = payer in found and spent - found[payer].get("lost", 0) - found[payer].get("overhead", 0)
        if kept:
            found[payer]["kept"] = kept
    return found


def expected_parts(lines: str) -> dict[str, dict[str, object]]:
    found = {}
    for line in filter(None, map(str.strip, lines.splitlines())):
        payer, *cells = re.split(r"\s{2,}", line)
        amounts = {cell.split()[0]: Decimal(cell.split()[1]) for cell in cells[:-1]}
        found[payer] = {"how": cells[-1]} | amounts
    return found


@pytest.mark.parametrize("name", STORIES)
def test_kept_and_lost_work(keeper: Bookkeeper, name: str) -> None:
    before, _, after = inspect.cleandoc(STORIES[name]).partition("=>")
    assert parts(account_of(keeper, before)) == expected_parts(after)


SEEN: set[str] = set()
DAY = 86400


def within(span: tuple[int, int], day: int) -> int:
    """How many seconds of a span are on that day."""
    return max(0, min(span[1], (day + 1) * DAY) - max(span[0], day * DAY))


def split_by_hand(spans: dict[str, list[tuple[int, int]]], day: int, money: Decimal) -> dict[str, Decimal]:
    """The lost and the overhead part of a share, in integer units: what does not divide is kept, if anything was."""
    seconds = {part: sum(within(span, day) for span in spans[part]) for part in spans}
    if not seconds["total"]:
        seconds = {part: sum(end - start for start, end in spans[part]) for part in spans}
    units, total = int(money.scaleb(12)), seconds["total"]
    size, sign = abs(units), -1 if units < 0 else 1
    cut = {part: sign * (size * seconds[part] // total) for part in ("lost", "overhead")}
    if seconds["lost"] and seconds["lost"] + seconds["overhead"] == total:
        cut["lost"] = units - cut["overhead"]
    return {part: Decimal(cut[part]).scaleb(-12) for part in cut if seconds[part]}


@examples(24)
@given(case=interrupted_jobs())
def test_kept_lost_and_overhead_add_up_to_the_cost_of_the_attempt(keeper: Bookkeeper, case: Case) -> None:
    """Each part equals the one computed by hand from the spans, and together they never exceed the cost: the rest is
    kept.
    """
    engine = keeper.book(case).opened.engine
    spans: dict[tuple[str, int], dict[str, list[tuple[int, int]]]] = {}
    for job, attempt, starts, ends, part in engine.rows("SELECT job_id, attempt, starts, ends, part FROM book_work"):
        spans.setdefault((job, attempt), {"lost": [], "overhead": []})[part].append((starts, ends))
    runs = "SELECT job_id, attempt, min(starts), max(ends) FROM book_placements GROUP BY ALL"
    for job, attempt, starts, ends in engine.rows(runs):
        if (job, attempt) in spans:
            spans[job, attempt]["total"] = [(starts, ends)]
    keys = "job_id, attempt, day, category, currency"
    for basis in BASES:
        found = {row[:-1]: row[-1] for row in engine.rows(f"SELECT {keys}, part, sum({basis}) FROM work GROUP BY ALL")}
        expected: dict[tuple, Decimal] = {}
        for *key, money in engine.rows(f"SELECT {keys}, {basis} FROM shares"):
            job, attempt, day = key[:3]
            if (job, attempt) in spans:
                cut = split_by_hand(spans[job, attempt], (day - date(1970, 1, 1)).days, money)
                assert abs(sum(cut.values())) <= abs(money)
                for part, part_money in cut.items():
                    expected[*key, part] = expected.get((*key, part), Decimal(0)) + part_money
        assert found == expected
    SEEN.update(f"{part} {how}" for part, how in engine.rows("SELECT DISTINCT part, how FROM work"))


def test_the_generated_months_had_every_kind_of_work() -> None:
    assert {"lost measured", "overhead measured", "lost at most"} == SEEN


def test_only_an_interrupted_job_is_advised_an_interval(keeper: Bookkeeper) -> None:
    """Job a's pool is interrupted every 5 hours of one machine, job b's never. Writing takes 6 minutes: Daly says every
    56.
    """
    account = account_of(
        keeper,
        """
        machine  n1   4 gpus  10 h  10.00 USD  pool spot
        attempt  a#1  4 gpus  5 h  state preempted
        measured a#1  checkpoint 100  6 min  from 1 h
        measured a#1  checkpoint 200  6 min  from 4 h
        attempt  a#2  4 gpus  5 h  from 5 h  state preempted
        machine  n2   4 gpus  10 h  10.00 USD  pool own
        attempt  b    4 gpus  10 h
        measured b    checkpoint 100  6 min  from 1 h
        """,
    )
    advice = account.opened.engine.records("SELECT * FROM checkpointing ORDER BY job_id")
    assert [(row["job_id"], row["uptime_seconds"], row["writing_seconds"]) for row in advice] == [
        ("a", 5 * 3600, 360),
        ("b", None, 360),
    ]
    assert (advice[0]["interval_seconds"], advice[0]["best_seconds"]) == (10440, 3364)
    assert 0 < advice[0]["saving"] < 10
    assert (advice[1]["best_seconds"], advice[1]["saving"]) == (None, None)
