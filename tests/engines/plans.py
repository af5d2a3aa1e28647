"""What Spark really ran: the plans of a session, as it keeps them for its own pages."""

import re
from collections.abc import Iterator

from pyspark.sql import SparkSession

WITHOUT_A_KEY = ("CartesianProduct", "BroadcastNestedLoopJoin")
"""Joins that meet every row of one side with every row of the other."""
IN_PYTHON = ("BatchEvalPython", "ArrowEvalPython", "MapInPandas", "FlatMapGroups")
"""Parts of plans that hand rows to Python."""


def ran(session: SparkSession) -> Iterator[tuple[str, str]]:
    """The table that was written, empty for a question, and the plan of it, of all that the session has kept."""
    found = session._jsparkSession.sharedState().statusStore().executionsList().iterator()  # type: ignore[attr-defined]
    while found.hasNext():
        plan = str(found.next().physicalPlanDescription())
        written = re.search(r"Execute InsertIntoHadoopFsRelationCommand\n.*\nArguments: \S*/(?:\d+-)?(\w+)", plan)
        yield (written[1] if written else ""), plan


def has(plan: str, *operators: str) -> bool:
    """Whether any of these is a part of the plan."""
    return bool(re.search(rf"^\(\d+\) (?:{'|'.join(operators)})\b", plan, re.MULTILINE))
