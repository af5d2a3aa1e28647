"""Deliveries in the catalog, within a transaction of the caller."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Select, insert, select, update

from trainfare.store import checked_rows, checksums
from trainfare.store.records import Delivery, NewDelivery
from trainfare.store.schema import DELIVERIES


def find(connection: Connection, one: NewDelivery) -> Delivery | None:
    """The delivery with the same source, content and settings, if there is one."""
    return find_by_key(connection, one.source, one.content_sha256, one.settings_sha256)


def find_by_key(connection: Connection, source: str, content_sha256: str, settings_sha256: str) -> Delivery | None:
    query = select(DELIVERIES).where(
        DELIVERIES.c.source == source,
        DELIVERIES.c.content_sha256 == content_sha256,
        DELIVERIES.c.settings_sha256 == settings_sha256,
    )
    found = read(connection, query)
    return found[0] if found else None


def read(connection: Connection, query: Select[Any]) -> list[Delivery]:
    """The deliveries that a query finds, each as it was added."""
    is_checked = checksums.require_counts(connection)
    return [checked_rows.delivery(row, is_checked) for row in connection.execute(query).mappings()]


def add(connection: Connection, one: NewDelivery) -> Delivery:
    """Add a delivery with its checksum."""
    values = asdict(one) | {"delivered_at": datetime.now(UTC)}
    # A file name need not be UTF-8, but a text column must be.
    values["path"] = one.path.encode("utf-8", "backslashreplace").decode()
    row = connection.execute(insert(DELIVERIES).returning(DELIVERIES), values).mappings().one()
    added = checked_rows.delivery(row, is_checked=False)
    row_sha256 = checksums.of_delivery(added)
    connection.execute(update(DELIVERIES).where(DELIVERIES.c.id == added.id).values(row_sha256=row_sha256))
    checksums.extend(connection, DELIVERIES, row_sha256)
    return added
