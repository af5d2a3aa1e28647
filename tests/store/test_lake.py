"""Names in the lake, and what a sweep removes."""

from pathlib import Path

import pytest

from trainfare.errors import TrainfareError
from trainfare.store import Lake, Store
from trainfare.store.lake import BUILD_ID

from .building import OCTOBER, a_book, a_delivery, names, publish, write


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path / "lake")
    made.claim("c1")
    return made


def test_each_table_of_a_month_has_its_own_path(lake: Lake) -> None:
    with lake.building() as build_id:
        path = lake.book_path("shares", OCTOBER, build_id)
    assert lake.relative(path) == f"shares/month=2026-10/{build_id}.parquet"
    assert lake.path(lake.relative(path)) == path


def test_build_ids_sort_by_time(lake: Lake) -> None:
    ids = []
    for _ in range(20):
        with lake.building() as build_id:
            ids.append(build_id)
    assert ids == sorted(set(ids))
    assert all(BUILD_ID.fullmatch(build_id) for build_id in ids)


def test_equal_content_is_archived_under_another_name(lake: Lake) -> None:
    with lake.building() as build_id:
        assert lake.delivery_path("ab" * 32, build_id) != lake.delivery_path("ab" * 32, build_id)


def test_no_lock_outlives_its_build(lake: Lake) -> None:
    with pytest.raises(ZeroDivisionError), lake.building():
        _ = 1 / 0
    with lake.building() as build_id:
        assert [path.name for path in (lake.root / ".building").iterdir()] == [build_id]
    assert list((lake.root / ".building").iterdir()) == []


def test_a_sweep_removes_unreferenced_files(store: Store) -> None:
    """A failed build leaves its tables, its archives, a draft of the engine's and a table written as a folder."""
    with store.lake.building() as build_id:
        delivery = store.add_deliveries([a_delivery(store, build_id)])[0]
    book = publish(store, deliveries=(delivery.id,))
    with store.lake.building() as failed:
        left = a_book(store, failed).files.values()
        archive = a_delivery(store, failed).archive
        draft = write(store.lake.root / "shares" / "month=2026-10" / f"tmp_{failed}.parquet")
        folder = write(store.lake.book_path("rates", OCTOBER, failed) / "part-0.parquet").parent
        assert store.sweep() == []
    swept = store.sweep()
    assert {store.lake.relative(path) for path in swept} == {
        *left,
        archive,
        store.lake.relative(draft),
        store.lake.relative(folder),
    }
    assert names(store) == {delivery.archive, *book.files.values()}


def test_a_table_written_as_a_folder_is_kept_completely(lake: Lake) -> None:
    with lake.building() as build_id:
        parts = [write(lake.book_path(table, OCTOBER, build_id) / "part-0.parquet") for table in ("shares", "rates")]
    assert lake.sweep(lambda: {lake.relative(parts[0].parent), lake.relative(parts[1])}) == []
    assert all(part.exists() for part in parts)


def test_a_sweep_keeps_files_that_no_build_wrote(lake: Lake) -> None:
    note = write(lake.root / "shares" / "README.txt")
    assert lake.sweep(set) == []
    assert note.exists()


def test_a_build_that_publishes_in_the_middle_of_a_sweep_keeps_its_files(lake: Lake) -> None:
    """It publishes and ends right after the sweep has read the references, which do not include its files."""
    build = lake.building()
    path = write(lake.book_path("shares", OCTOBER, build.__enter__()))

    def names_before_it_ended() -> set[str]:
        build.__exit__(None, None, None)
        return set()

    assert lake.sweep(names_before_it_ended) == []
    assert path.exists()


def test_a_missing_lake_can_be_swept(tmp_path: Path) -> None:
    assert Lake(tmp_path / "none").sweep(set) == []


def test_a_lake_of_another_catalog_is_rejected(lake: Lake) -> None:
    lake.claim("c1")
    with pytest.raises(TrainfareError, match="these files belong to another catalog"):
        lake.claim("c2")
