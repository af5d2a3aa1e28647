"""Print how Spark runs the heavy steps, for docs/plans.md: `make plans`.

Runs the account of a small generated month on a session in this process, and prints Spark's plan of each step that
reads every bill line or every payer of a pot. Broadcasting of small tables is switched off, so that the plans are those
of a large month.
"""

import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from trainfare.books.from_files import build_from_files
from trainfare.engine.spark import Spark
from trainfare.engine.sql import step_text
from trainfare.settings.config import parse

HEAVY = {
    "charge_kinds": "Adds up every bill line to kinds of charges.",
    "held": "Joins what was held, hour by hour, with the charge periods.",
    "daily_weight_totals": "Adds up what was held and what was idle, per pot and day.",
    "pots": "Adds up every bill line, read a second time, to pots. `delivery` is a constant of each file and is not read; "
    "files without charges of the month are skipped by it.",
    "remainder_transfers": "Computes every payer's part of every pot.",
    "allocated": "Adds up the result per payer and day.",
}
AS_IF_LARGE = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.memory": "1g",
}
SHOWN = 5
"""Number of columns shown of a list; a pot has one for each basis and category."""
WIDTH = 180
INTRO = """# How Spark runs the heavy steps

<!-- Printed by docs/print_plans.py from Spark's own EXPLAIN. -->

Read the plans from the inside out. `FileScan` lists exactly the columns that are read; `Exchange` sends rows to the
worker that owns their key. Every join but one has a key: a charge over several days needs a row for each target and day
(`daily_weight_totals`). A test fails if another step gets a `CartesianProduct` or a `BroadcastNestedLoopJoin`. Rows are
added up locally (`partial_sum`) before anything is sent, so an account with half of the lines sends no more than its
kinds and pots. Spark splits a join key that is too large for one worker (`spark.sql.adaptive.skewJoin`, on by default).

"""


class AllSeenError(Exception):
    """All heavy steps were seen; the rest need not run."""


class PlanRecorder(Spark):
    """Records the first plan of each heavy step, and stops after the last."""

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
    """Return a plan without column numbers and with shortened lists."""
    lines = plan.split("== Physical Plan ==")[-1].strip().splitlines()
    return "\n".join(_short(line) for line in lines if line.strip())


def _short(line: str) -> str:
    text = re.sub(r"#\d+L?|, ENSURE_REQUIREMENTS|, \[plan_id=\d+\]|AS \w+(?=[,\]])", "", line)
    text = re.sub(r" Batched: .*?(PushedFilters: \[.*?\])?, ReadSchema: .*", r" \1", text)
    text = re.sub(r"\[([^\[\]]*)\]", _shortened, text)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]} ..."


def _shortened(found: re.Match[str]) -> str:
    names = found[1].split(", ")
    return f"[{', '.join(names[:SHOWN])}{f', and {len(names) - SHOWN} more' if len(names) > SHOWN else ''}]"


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
    from generated import generate_month

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        month = generate_month(folder, 20)
        sources = "".join(f"[[source]]\npath = '{path}'\n" for path in (month.bill, month.jobs, month.machines))
        engine = PlanRecorder(folder / "scratch")
        try:
            build_from_files(parse(sources, folder / "trainfare.toml"), folder / "books", engine)
        except AllSeenError:
            pass
        finally:
            engine.close()
    parts = [f"## {name}\n\n{purpose}\n\n```\n{engine.plans[name]}\n```\n" for name, purpose in HEAVY.items()]
    page = Path(__file__).with_name("plans.md")
    page.write_text(INTRO + "\n".join(parts), encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
