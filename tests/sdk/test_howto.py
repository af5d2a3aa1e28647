"""The worked example of the how-to page, run as it is shown: a program, its events, a bill, a report."""

import itertools
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from docs.pages import DOCS, blocks

from .programs import environment, events, of_type

PAGE = DOCS / "howto" / "sdk.md"


def block(kind: str, start: str = "") -> str:
    return next(one.text for one in blocks(PAGE, kind) if start in one.text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which everything of the example was done. Its bill covers today and tomorrow."""
    folder = tmp_path_factory.mktemp("example")
    (folder / "train.py").write_text(block("python", "a GPU fell"), encoding="utf-8")
    (folder / "trainfare.toml").write_text(block("toml"), encoding="utf-8")
    header, line, *_ = block("csv").splitlines()
    today = datetime.now(UTC).date()
    days = [today + timedelta(days=ahead) for ahead in range(3)]
    shown = ("2026-11-18", "2026-11-19")
    lines = [line.replace(shown[0], str(one)).replace(shown[1], str(other)) for one, other in itertools.pairwise(days)]
    (folder / "bill.csv").write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    bin_folder = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = environment(folder, PATH=bin_folder)
    del given["TRAINFARE_SPOOL"], given["TRAINFARE_MACHINE"]
    for line in block("sh", "trainfare build").splitlines():
        command, _, exit_code = line.partition("  # exit ")
        ran = subprocess.run(["bash", "-c", command], cwd=folder, env=given, capture_output=True, text=True)
        assert ran.returncode == int(exit_code or 0), (line, ran.stderr)
    return folder


def ask(folder: Path, *arguments: str) -> Any:
    ran = subprocess.run(
        [sys.executable, "-m", "trainfare", *arguments, "--format", "json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(ran.stdout)


def test_the_report_has_the_jobs_cost_per_hour(folder: Path) -> None:
    report = ask(folder, "report", "--by", "job")
    (row,) = [row for row in report["rows"] if row["job"] == "resnet-50"]
    spans = []
    for attempt in (1, 2):
        moments = [
            datetime.fromisoformat(one["time"]).replace(microsecond=0)
            for one in events(folder / "trainfare-events")
            if one["data"]["attempt"] == attempt
        ]
        spans.append((max(moments) - min(moments)).seconds)
    assert Decimal(row["cost"]) == sum(spans) * Decimal(36) / 3600
    assert Decimal(row["rate"]) == 36
    assert report["difference"] == "0.00"
    assert [one["state"] for one in of_type(events(folder / "trainfare-events"), "end")] == ["failed", "completed"]


def test_what_was_done_since_the_last_checkpoint_is_lost(folder: Path) -> None:
    """Of the first attempt two of five seconds, and of the second the two until its first step ends."""
    found = events(folder / "trainfare-events")

    def second(attempt: int, type_: str, number: int = 0) -> int:
        of_attempt = [one for one in found if one["data"]["attempt"] == attempt and one["type"] == f"trainfare.{type_}"]
        return int(datetime.fromisoformat(of_attempt[number]["time"]).timestamp())

    lost = second(1, "end") - second(1, "checkpoint_end") + second(2, "step") - second(2, "start")
    table = ask(folder, "metrics", "--metric", "M5", "--by", "job")
    (row,) = [row for row in table["metrics"] if row["detail"] == "lost"]
    assert lost >= 2
    assert Decimal(row["numerator"]) == Decimal(lost) * 36 / 3600
