"""Print how Spark runs the heavy steps, for docs/plans.md: `make plans`.

Runs the account of a small invented month on a session within this process, and asks Spark for the plan of each step that
touches every bill line or every piece of a pot. Small tables would all be sent to every worker; this is switched off, so that
the plans are those of a large month.
"""

import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from trainfare import pipeline
from trainfare.config import parse
from trainfare.engine.spark import Spark
from trainfare.engine.sql import step_text

HEAVY = {
    "charge_kinds": "Every bill line, once, added up to kinds.",
    "held": "What was held, hour by hour, met with the charge periods.",
    "slot_days": "What was held of each pot on each day, and what nobody held.",
    "pots": "Every bill line, a second time, added up to pots. `delivery` is not read: it is a constant of each file, by which those "
    "without charges of the month are left out.",
    "handed_on": "Every piece of every pot gets its part.",
    "settled": "What each piece has in the end.",
}
AS_IF_LARGE = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.memory": "1g",
}
SHOWN = 5
"""Columns of a list that are shown; a pot has one for each basis and category."""
WIDTH = 180
INTRO = """# How Spark runs the heavy steps

<!-- Printed by docs/print_plans.py from Spark's own EXPLAIN. -->

Read from the inside out. `FileScan` has the columns that are read, and no others; `Exchange` sends rows to the worker that has their key.
Every join has a key but one: a charge over several days wants a row for each target and day (`slot_days`). A test fails if another
step gets a `CartesianProduct` or a `BroadcastNestedLoopJoin`. Sums are made where rows are (`partial_sum`) before anything is sent,
so an account with half of the lines sends no more than its kinds and pots. Of joins, Spark splits what one worker would have too much
of (`spark.sql.adaptive.skewJoin`, which is on unless you turn it off).

"""


class AllSeenError(Exception):
    """All heavy steps were met; what comes after them need not run."""


class Told(Spark):
    """Keeps the first plan of each heavy step, and stops after the last."""

    def __init__(self, scratch: Path) -> None:
        super().__init__(scratch, "local[2]", AS_IF_LARGE)
        self.plans: dict[str, str] = {}

    def step(self, package: str, name: str, into: str, fragments: Mapping[str, str] | None = None) -> None:
        if name in HEAVY and name not in self.plans:
            self.plans[name] = readable(self.plan(step_text(package, name, fragments)))
            if self.plans.keys() == HEAVY.keys():
                raise AllSeenError
        super().step(package, name, into, fragments)


def readable(plan: str) -> str:
    """A plan without the numbers of its columns, and with the beginning of each list only."""
    lines = plan.split("== Physical Plan ==")[-1].strip().splitlines()
    return "\n".join(_short(line) for line in lines if line.strip())


def _short(line: str) -> str:
    told = re.sub(r"#\d+L?|, ENSURE_REQUIREMENTS|, \[plan_id=\d+\]|AS \w+(?=[,\]])", "", line)
    told = re.sub(r" Batched: .*?(PushedFilters: \[.*?\])?, ReadSchema: .*", r" \1", told)
    told = re.sub(r"\[([^\[\]]*)\]", _shortened, told)
    return told if len(told) <= WIDTH else f"{told[:WIDTH]} ..."


def _shortened(found: re.Match[str]) -> str:
    names = found[1].split(", ")
    return f"[{', '.join(names[:SHOWN])}{f', and {len(names) - SHOWN} more' if len(names) > SHOWN else ''}]"


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
    from invented import invent

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        month = invent(folder, 20)
        sources = "".join(f"[[source]]\npath = '{path}'\n" for path in (month.bill, month.jobs, month.machines))
        engine = Told(folder / "scratch")
        try:
            pipeline.books_of_files(parse(sources, folder / "trainfare.toml"), folder / "books", engine)
        except AllSeenError:
            pass
        finally:
            engine.close()
    parts = [f"## {name}\n\n{words}\n\n```\n{engine.plans[name]}\n```\n" for name, words in HEAVY.items()]
    page = Path(__file__).with_name("plans.md")
    page.write_text(INTRO + "\n".join(parts), encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
