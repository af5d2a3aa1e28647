"""A report of large amounts on a terminal: columns that do not fit are omitted, never truncated."""

import io

import pytest
from rich.console import Console

from trainfare.report.render import as_table

from .books import HOUR, Bookkeeper, Case, hours_of, placement


@pytest.mark.parametrize("width", [80, 120, 160])
def test_names_and_amounts_are_not_truncated(keeper: Bookkeeper, width: int) -> None:
    lines = [hours_of("m1", (0, HOUR), "900000000000000.000000000001")]
    account = keeper.book(Case(lines, [placement("a-job-with-a-name", "m1", (0, HOUR), gpus=1)]))
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(as_table(account.report(["job"]), width))
    text = console.export_text()
    assert "…" not in text
    for untruncated in ("__unallocated__", "900,000,000,000,000.00", "per wall h"):
        assert untruncated in text
