"""Builds that the catalog knows of: running, silent, given up. On both databases."""

import time
from datetime import timedelta

import pytest
from sqlalchemy import select

from trainfare.errors import IncompleteError
from trainfare.store import NewDelivery, builds
from trainfare.store.catalog import Catalog
from trainfare.store.schema import BUILDS


def a_delivery_of(build_id: str) -> NewDelivery:
    told = {"source": "cloud", "path": "bill.csv", "format": "focus", "content_sha256": "a", "settings_sha256": "b"}
    return NewDelivery(**told, archive=f"deliveries/a.{build_id}.parquet", lines=1)


def test_a_build_runs_until_it_ends(catalog: Catalog) -> None:
    with catalog.builds.running() as first, catalog.builds.running() as second:
        assert catalog.builds.alive() == {first, second}
    assert catalog.builds.alive() == set()


def test_a_build_that_speaks_is_not_given_up(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that it is there more often than it may be silent, and so it may take as long as it likes."""
    monkeypatch.setattr(builds, "HEARD_SECONDS", 0.05)
    monkeypatch.setattr(builds, "SILENT", timedelta(seconds=2))
    with catalog.builds.running() as build_id:
        heard = {_heard(catalog) for _ in range(200)}
        assert len(heard) > 1
        assert catalog.builds.alive() == {build_id}


def _heard(catalog: Catalog) -> str:
    time.sleep(0.005)
    with catalog._database.read() as connection:
        return str(connection.execute(select(BUILDS.c.heard_at)).scalar_one())


def test_a_silent_build_is_given_up_and_can_add_nothing(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    with catalog.builds.running() as build_id:
        added = catalog.add_deliveries([a_delivery_of(build_id)])
        monkeypatch.setattr(builds, "SILENT", timedelta(seconds=-1))
        assert catalog.builds.alive() == set()
        assert catalog.add_deliveries([a_delivery_of(build_id)]) == added, "what was added before stays"
        other = a_delivery_of(build_id)
        with pytest.raises(IncompleteError, match="was given up"):
            catalog.add_deliveries([NewDelivery(**vars(other) | {"content_sha256": "c"})])
    assert catalog.builds.alive() == set()
