"""Which part of a job's cost was kept, lost or overhead, as stories."""

import inspect
import re
from decimal import Decimal

import pytest

from trainfare.query import metrics
from trainfare.query.cost import Question

from .books import Account, Bookkeeper
from .story import account_of

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
    "time between two holds of an attempt is not held, and costs nothing": """
        machine  n1   4 gpus  4 h
        charge   hours  1.00 USD  1 h  from 0 h  on n1
        charge   hours  1.00 USD  1 h  from 3 h  on n1
        attempt  a    4 gpus  1 h  from 0 h  state failed
        attempt  a    4 gpus  1 h  from 3 h  state failed
        measured a    step 1  1 h  from 0 h
        measured a    checkpoint 100  0 h  from 1 h
        =>
        a#1  kept 1.00  lost 1.00  measured
    """,
    "a step that is saved twice is overhead twice, and the work between is not": """
        machine  n1   4 gpus  2 h  2.00 USD
        attempt  a    4 gpus  2 h  from 0 h
        measured a    step 1  1 h  from 0 h
        measured a    checkpoint 100  360 s  from 3600 s
        measured a    checkpoint 100  360 s  from 6840 s
        =>
        a#1  kept 1.80  overhead 0.20  measured
    """,
    "work since the checkpoint that the next attempt resumed from is lost, even if later ones were saved": """
        machine  n1   4 gpus  4 h  4.00 USD
        attempt  a#1  4 gpus  3 h  from 0 h  state failed
        measured a#1  step 1  1 h  from 0 h
        measured a#1  checkpoint 100  0 h  from 1 h
        measured a#1  checkpoint 200  0 h  from 2 h
        attempt  a#2  4 gpus  1 h  from 3 h
        measured a#2  step 101  1 h  from 3 h
        =>
        a#1  kept 1.00  lost 2.00  measured
    """,
    "near miss: a next attempt beyond the last checkpoint resumed from it": """
        machine  n1   4 gpus  4 h  4.00 USD
        attempt  a#1  4 gpus  3 h  from 0 h  state failed
        measured a#1  step 1  1 h  from 0 h
        measured a#1  checkpoint 100  0 h  from 1 h
        measured a#1  checkpoint 200  0 h  from 2 h
        attempt  a#2  4 gpus  1 h  from 3 h
        measured a#2  step 201  1 h  from 3 h
        =>
        a#1  kept 2.00  lost 1.00  measured
    """,
    "an attempt that starts over loses all work of the attempts before it": """
        machine  n1   4 gpus  6 h  6.00 USD
        attempt  a#1  4 gpus  2 h  from 0 h  state failed
        measured a#1  step 1  1 h  from 0 h
        measured a#1  checkpoint 100  0 h  from 1 h
        attempt  a#2  4 gpus  2 h  from 2 h  state failed
        measured a#2  step 101  1 h  from 2 h
        measured a#2  checkpoint 200  0 h  from 4 h
        attempt  a#3  4 gpus  2 h  from 4 h
        measured a#3  step 1  1 h  from 4 h
        =>
        a#1  lost 2.00  measured
        a#2  lost 2.00  measured
    """,
    "work is lost on the machines that were held then, not on those that were given back before": """
        machine  m3   4 gpus  4 h  4.00 USD
        machine  m3b  4 gpus  1 h  1.00 USD
        attempt  a    4 gpus  4 h  from 0 h  on m3  state failed
        attempt  a    4 gpus  1 h  from 0 h  on m3b  state failed
        measured a    step 1  1 h  from 0 h
        measured a    checkpoint 100  0 h  from 2 h
        =>
        a#1  kept 3.00  lost 2.00  measured
    """,
    "work is lost at the price of its hours": """
        machine  n1   4 gpus  4 h
        charge   hours  1.00 USD  1 h  from 0 h  on n1
        charge   hours  1.00 USD  1 h  from 1 h  on n1
        charge   hours  9.00 USD  1 h  from 2 h  on n1
        charge   hours  9.00 USD  1 h  from 3 h  on n1
        attempt  a    4 gpus  4 h  from 0 h  state failed
        measured a    step 1  1 h  from 0 h
        measured a    checkpoint 100  0 h  from 2 h
        =>
        a#1  kept 2.00  lost 18.00  measured
    """,
    "cost that is split by bytes is lost with the bytes that were sent then": """
        machine  n1   4 gpus  4 h  4.00 USD
        attempt  a    4 gpus  4 h  from 0 h  state failed
        measured a    step 1  1 h  from 0 h
        measured a    checkpoint 100  0 h  from 2 h
        measured a    bytes_sent 100  1 h  from 1 h  on n1
        measured a    bytes_sent 300  1 h  from 3 h  on n1
        charge   network  8.00 USD  4 h  on n1
        rules
        [[rule]]
        name = "traffic"
        match = { category = "network" }
        among = "machine"
        by = "bytes_sent"
        =>
        a#1  kept 4.00  lost 8.00  measured
    """,
    "on a machine held beyond its capacity, the parts of each second are lost with it": """
        machine  n1   4 gpus  4 h  16.00 USD
        attempt  a    4 gpus  4 h  from 0 h  state failed
        attempt  b    4 gpus  2 h  from 2 h
        measured a    step 1  1 h  from 0 h
        measured a    checkpoint 100  0 h  from 1 h
        =>
        a#1  kept 4.00  lost 8.00  measured
    """,
    "what a cluster's machines cost together is lost like what was held of them": """
        machine  n1   4 gpus  4 h  4.00 USD  cluster c
        machine  n2   4 gpus  4 h  12.00 USD  cluster c
        attempt  a    4 gpus  4 h  from 0 h  on n1  state failed
        attempt  b    4 gpus  4 h  from 0 h  on n2
        measured a    step 1  1 h  from 0 h
        measured a    checkpoint 100  0 h  from 3 h
        rules
        [[rule]]
        name = "clusters"
        match = { machine = true }
        among = "cluster"
        by = "gpu_seconds"
        =>
        a#1  kept 6.00  lost 2.00  measured
    """,
    "cost is split by when it is for; cost of the entire month like all that was held": """
        machine  n1   4 gpus  48 h  48.00 USD
        attempt  a    4 gpus  40 h  from 4 h  state failed
        measured a    step 1  1 h  from 4 h
        measured a    checkpoint 100  1 h  from 29 h
        charge   network  0.03 USD  tag job_id=a
        =>
        a#1  kept 25.01875  overhead 1.00075  lost 14.0105  measured
    """,
}


GAP = "time between two holds of an attempt is not held, and costs nothing"


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


def test_metrics_count_the_same_time_as_lost(keeper: Bookkeeper) -> None:
    """Of two hours held with a gap between, one was lost: M5 says half of the cost, M8 half of the hours."""
    account = account_of(keeper, inspect.cleandoc(STORIES[GAP]).partition("=>")[0])
    found = metrics.metric_values(account.opened, Question(["job"]), ["M5", "M8"])
    values = {(one.metric, one.detail): (one.numerator, one.denominator) for one in found}
    assert values["M5", "lost"] == (1, 2)
    assert values["M8", "held"] == (2, 8)
    assert values["M8", "not_lost"] == (2, 4)


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
