"""Builds that the catalog tracks: running, overdue, abandoned. On both databases."""

import time
from datetime import timedelta

import pytest
from sqlalchemy import select

from trainfare.errors import IncompleteError
from trainfare.store import NewDelivery, builds
from trainfare.store.catalog import Catalog
from trainfare.store.schema import BUILDS


def a_delivery_of(build_id: str) -> NewDelivery:
    values = {"source": "cloud", "path": "bill.csv", "format": "focus", "content_sha256": "a", "settings_sha256": "b"}
    return NewDelivery(**values, archive=f"deliveries/a.{build_id}.parquet", lines=1)


def test_a_build_runs_until_it_ends(catalog: Catalog) -> None:
    with catalog.builds.running() as first, catalog.builds.running() as second:
        assert catalog.builds.running_ids() == {first, second}
    assert catalog.builds.running_ids() == set()


def test_a_build_that_sends_heartbeats_is_not_abandoned(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sends heartbeats more often than required, so it may take as long as it likes."""
    monkeypatch.setattr(builds, "HEARTBEAT_SECONDS", 0.05)
    with catalog.builds.running() as build_id:
        heartbeats, deadline = set[str](), time.monotonic() + 60
        while len(heartbeats) < 3:
            assert time.monotonic() < deadline, "no heartbeat was sent"
            heartbeats.add(_heartbeat(catalog))
        assert catalog.builds.running_ids() == {build_id}


def _heartbeat(catalog: Catalog) -> str:
    time.sleep(0.005)
    with catalog._database.read() as connection:
        return str(connection.execute(select(BUILDS.c.heartbeat_at)).scalar_one())


def test_a_build_without_heartbeats_is_abandoned_and_can_add_nothing(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    with catalog.builds.running() as build_id:
        added = catalog.add_deliveries([a_delivery_of(build_id)])
        monkeypatch.setattr(builds, "HEARTBEAT_TIMEOUT", timedelta(seconds=-1))
        assert catalog.builds.running_ids() == set()
        assert catalog.add_deliveries([a_delivery_of(build_id)]) == added, "what was added before stays"
        other = a_delivery_of(build_id)
        with pytest.raises(IncompleteError, match="was abandoned"):
            catalog.add_deliveries([NewDelivery(**vars(other) | {"content_sha256": "c"})])
    assert catalog.builds.running_ids() == set()
