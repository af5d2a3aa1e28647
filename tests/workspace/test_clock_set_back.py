"""A clock that is set back: what was done last is what counts, and nothing is lost, swept or taken for damage."""

from datetime import datetime, timedelta, tzinfo

import pytest

from . import company
from .company import NOVEMBER, OCTOBER
from .folder import Workspace

MODULES = ("access", "audit", "builds", "catalog", "findings", "layout")
"""The modules of the store that ask for the time."""


class SetBack(datetime):
    """The time of a clock that is six years slow."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) - timedelta(days=6 * 365)


@pytest.fixture
def set_back(monkeypatch: pytest.MonkeyPatch, built: Workspace) -> Workspace:
    """A workspace that was built before the clock was set back."""
    for module in MODULES:
        monkeypatch.setattr(f"trainfare.store.{module}.datetime", SetBack)
    return built


def test_the_version_that_was_built_last_counts(set_back: Workspace) -> None:
    before = set_back.digits(OCTOBER)
    set_back.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))
    set_back.build()
    newest = set_back.book(OCTOBER)
    assert newest.version == 2
    assert newest.built_at < set_back.book(OCTOBER, 1).built_at
    assert set_back.total(OCTOBER) == company.total(company.lines(OCTOBER)) + 1
    assert set_back.digits(OCTOBER, 1) == before
    assert set_back.build()[0].startswith("2026-10  unchanged: version 2")
    assert set_back.unreferenced() == set()
    set_back.require_sound()


def test_a_month_that_is_closed_stays_closed(set_back: Workspace) -> None:
    set_back.close(OCTOBER)
    before = set_back.digits(OCTOBER)
    set_back.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))
    set_back.build()
    assert set_back.book(OCTOBER).version == 1
    assert set_back.digits(OCTOBER) == before
    assert set_back.book(NOVEMBER).version == 2, "the difference is booked there"
    for command in (["verify"], ["audit", "verify"]):
        ran = set_back.run(*command)
        assert ran.code == 0, ran.err
