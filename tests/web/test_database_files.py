"""Database files of old versions are removed: `cache` does not grow with the number of builds."""

import os
from pathlib import Path

from trainfare.serve.databases.build import remove_old


def create(folder: Path, *names: str) -> list[Path]:
    """Create files with ascending modification times."""
    for second, name in enumerate(names):
        (folder / name).touch()
        os.utime(folder / name, (second, second))
    return [folder / name for name in names]


def test_the_most_recently_built_versions_are_kept(tmp_path: Path):
    *_, last = create(tmp_path, *(f"2026-10-v{number}-abc.duckdb" for number in (1, 2, 9, 10)))
    create(tmp_path, "2026-09-v1-abc.duckdb", "account-2026-10-v1-abc.duckdb", ".2026-10-v3-abc.duckdb.1f.draft")
    remove_old(last)
    assert {path.name for path in tmp_path.iterdir()} == {
        "2026-10-v9-abc.duckdb",
        "2026-10-v10-abc.duckdb",
        "2026-09-v1-abc.duckdb",
        "account-2026-10-v1-abc.duckdb",
    }


def test_the_newest_version_is_kept_when_older_ones_are_rebuilt(tmp_path: Path):
    *_, last = create(tmp_path, *(f"account-2026-10-v{number}-abc.duckdb" for number in (10, 1, 2, 3)))
    remove_old(last)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"account-2026-10-v{number}-abc.duckdb" for number in (10, 2, 3)
    }


def test_files_of_an_older_release_are_removed(tmp_path: Path):
    """The name depends on the SQL steps too: another release builds another file for the same version."""
    *_, last = create(tmp_path, *(f"2026-10-v1-{release}.duckdb" for release in ("a", "b", "c")))
    remove_old(last)
    assert {path.name for path in tmp_path.iterdir()} == {"2026-10-v1-b.duckdb", "2026-10-v1-c.duckdb"}
