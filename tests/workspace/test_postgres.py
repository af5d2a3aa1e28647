"""The catalog in PostgreSQL: the same commands, the same digits."""

from decimal import Decimal

import pytest

from . import company
from .company import NOVEMBER, OCTOBER
from .folder import Workspace


@pytest.fixture
def shared(workspace: Workspace, postgres_url: str) -> Workspace:
    """A workspace whose catalog is in the database."""
    workspace.write("trainfare.toml", company.settings(catalog=f'"{postgres_url}"'))
    return workspace


def test_a_shared_catalog_gives_the_same_digits(shared: Workspace, built: Workspace) -> None:
    assert len(shared.build()) == 2
    assert not (shared.folder / "catalog.sqlite").exists()
    assert [shared.digits(m) for m in (OCTOBER, NOVEMBER)] == [built.digits(m) for m in (OCTOBER, NOVEMBER)]
    for command in ("report", "reconcile"):
        assert shared.run(command, "--format", "json") == built.run(command, "--format", "json")
    shared.require_sound()


def test_a_shared_catalog_restates_and_closes(shared: Workspace) -> None:
    shared.build()
    assert shared.build() == [f"{month}  unchanged: version 1" for month in (OCTOBER, NOVEMBER)]
    shared.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-4", "1"))
    shared.build()
    assert shared.run("diff", "--month", OCTOBER).code == 0
    shared.close(OCTOBER)
    shared.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-4", "1.000000000001"))
    shared.build()
    assert shared.books() == [("2026-10", 1), ("2026-10", 2), ("2026-11", 1), ("2026-11", 2)]
    assert shared.total(NOVEMBER, source="cloud adjusting 2026-10") == Decimal("0.000000000001")
    assert shared.unreferenced() == set()
    shared.require_sound()


def test_an_unreachable_server_is_reported(workspace: Workspace) -> None:
    pytest.importorskip("psycopg")
    url = f"postgresql://me:secret@/books?host={workspace.folder}"
    workspace.write("trainfare.toml", company.settings(catalog=f'"{url}"'))
    ran = workspace.run("build")
    assert ran.code == 4
    assert ran.err.endswith("\n  Check the catalog's URL and that its server is running.\n")
    assert "secret" not in ran.err
