"""What is kept of versions does not pile up: a month that is built every day has as much below `cache` as one built once."""

import os
from pathlib import Path

from trainfare.web.making import sweep


def made(folder: Path, *names: str) -> list[Path]:
    """Files that were made one after the other."""
    for second, name in enumerate(names):
        (folder / name).touch()
        os.utime(folder / name, (second, second))
    return [folder / name for name in names]


def test_the_versions_that_were_made_last_are_kept(tmp_path: Path):
    *_, last = made(tmp_path, *(f"2026-10-v{number}-abc.duckdb" for number in (1, 2, 9, 10)))
    made(tmp_path, "2026-09-v1-abc.duckdb", "account-2026-10-v1-abc.duckdb", ".2026-10-v3-abc.duckdb.1f.draft")
    sweep(last)
    assert {path.name for path in tmp_path.iterdir()} == {
        "2026-10-v9-abc.duckdb",
        "2026-10-v10-abc.duckdb",
        "2026-09-v1-abc.duckdb",
        "account-2026-10-v1-abc.duckdb",
    }


def test_the_newest_version_stays_whoever_looks_at_older_ones(tmp_path: Path):
    *_, last = made(tmp_path, *(f"account-2026-10-v{number}-abc.duckdb" for number in (10, 1, 2, 3)))
    sweep(last)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"account-2026-10-v{number}-abc.duckdb" for number in (10, 2, 3)
    }


def test_what_an_older_release_made_of_a_version_goes(tmp_path: Path):
    """The name tells the steps, too: another release makes another file of the same version."""
    *_, last = made(tmp_path, *(f"2026-10-v1-{release}.duckdb" for release in ("a", "b", "c")))
    sweep(last)
    assert {path.name for path in tmp_path.iterdir()} == {"2026-10-v1-b.duckdb", "2026-10-v1-c.duckdb"}
