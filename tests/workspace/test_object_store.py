"""The lake and the bills in an object store: the same commands, the same digits, and clear errors."""

import gzip
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from services import object_store
from services.object_store import ObjectStore
from services.ports import free_port
from sqlalchemy import create_engine, text
from web.server import serving

from trainfare.cli.demo import SETTINGS
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import IncompleteError
from trainfare.files import locations
from trainfare.files.locations import ObjectLocation
from trainfare.simulate import write
from trainfare.store import NewBook
from trainfare.store.builds import HEARTBEAT_TIMEOUT

from . import company
from .company import NOVEMBER, OCTOBER
from .conftest import furnish
from .folder import COMMAND, Digits, Ran, Workspace

pytestmark = pytest.mark.services

BUCKET = "books"
ATTEMPTS = 10


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store.running() as running:
        object_store.make_bucket(running, BUCKET)
        yield running


@pytest.fixture
def store(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """The server; this process has the keys of a writer."""
    for name, value in server.as_("writer").items():
        monkeypatch.setenv(name, value)
    locations.file_system.cache_clear()
    yield server
    locations.file_system.cache_clear()


@pytest.fixture
def root(store: ObjectStore) -> ObjectLocation:
    """A separate folder for each test."""
    return ObjectLocation(f"s3://{BUCKET}/{uuid4().hex}")


@pytest.fixture
def distant(tmp_path: Path, root: ObjectLocation) -> Workspace:
    """October and November, not built yet, with the lake in the object store."""
    made = furnish(tmp_path / "distant")
    made.write("trainfare.toml", company.settings(lake=f'"{root}/lake"'))
    return made


@pytest.fixture(scope="module")
def shared_lake(server: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """October and November, built in the object store, for tests that do not change the books."""
    made = furnish(tmp_path_factory.mktemp("shared_lake") / "workspace")
    made.write("trainfare.toml", company.settings(lake=f'"s3://{BUCKET}/shared_lake/lake"'))
    assert run(made.folder, "build", server.as_("writer")).code == 0
    return made


SHARED_LAKE = ObjectLocation(f"s3://{BUCKET}/shared_lake/lake")


def put(root: ObjectLocation, name: str, path: Path) -> ObjectLocation:
    locations.copy(path, root / name)
    return root / name


def names(lake: ObjectLocation) -> set[str]:
    return {str(one).removeprefix(f"{lake}/") for one in lake.below()} - {".catalog", ".checksums"}


def run(workspace: Path, command: str, environment: dict[str, str]) -> Ran:
    """Run a command as a user does who has only this environment for an object store."""
    env = object_store.environment_without_keys() | {"AWS_CONFIG_FILE": os.devnull} | environment
    env |= {"AWS_EC2_METADATA_DISABLED": "true"}
    ran = subprocess.run([COMMAND, command, "-w", workspace], capture_output=True, text=True, env=env)
    assert "Traceback" not in ran.stderr
    assert "not-to-be-seen" not in ran.stderr + ran.stdout
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_the_demo_month_has_the_same_digits_in_an_object_store(tmp_path: Path, root: ObjectLocation) -> None:
    """The bills, jobs and machines are in the object store, too: as text, compressed and as Parquet."""
    files, here, there = tmp_path / "files", Workspace(tmp_path / "here"), Workspace(tmp_path / "there")
    write(files, 1)
    (files / "jobs.csv.gz").write_bytes(gzip.compress((files / "jobs.csv").read_bytes()))
    owned = f"SELECT * FROM read_csv('{files}/bill-owned.csv', all_varchar = true)"
    DuckDB().write_parquet(owned, files / "bill-owned.parquet", in_order=True)
    settings = SETTINGS.replace("jobs.csv", "jobs.csv.*").replace("bill-owned.csv", "*-owned.parquet")
    for name in ("bill-cloud.csv", "bill-owned.parquet", "jobs.csv.gz", "machines.csv", "measurements.csv"):
        put(root, f"in/{name}", files / name)
    here.write("trainfare.toml", settings.replace('path = "', f'path = "{files}/'))
    there.write("trainfare.toml", f'lake = "{root}/lake"\n' + settings.replace('path = "', f'path = "{root}/in/'))
    assert here.build() == there.build()
    assert here.digits(OCTOBER) == there.digits(OCTOBER)
    assert not (there.folder / "lake").exists()
    for command in ("report", "reconcile", "check"):
        assert here.run(command, "--format", "json").out == there.run(command, "--format", "json").out
    there.require_sound()


def test_two_files_in_an_object_store_are_reported_without_a_workspace(
    workspace: Workspace, root: ObjectLocation
) -> None:
    bill = put(root, "bills [1]/2026-10.csv", workspace.folder / "bills" / "2026-10.csv")
    jobs = put(root, "jobs.csv", workspace.folder / "jobs" / "2026-10.csv")
    here = ("bills/2026-10.csv", "--jobs", "jobs/2026-10.csv")
    os.chdir(workspace.folder)
    near, far = (workspace.run("report", *files, "--format", "json") for files in (here, (bill, "--jobs", jobs)))
    assert (far.code, far.out) == (0, near.out)


def test_errors_in_a_file_name_its_address(workspace: Workspace, root: ObjectLocation) -> None:
    text = (workspace.folder / "bills" / "2026-10.csv").read_text().replace("1170.912345678901", "a lot", 1)
    bad = put(root, "bad.csv", workspace.write("bad.csv", text))
    jobs = workspace.folder / "jobs" / "2026-10.csv"
    ran = workspace.run("report", bad, "--jobs", jobs)
    assert ran.code == 2
    assert ran.err.startswith(f"{bad}:2: EffectiveCost 'a lot' is not an amount\n")
    ran = workspace.run("report", root / "none.csv", "--jobs", jobs)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"{root}/none.csv: there is no such file")
    ran = workspace.run("report", f"{root}/none*.csv", "--jobs", jobs)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"{root}/none*.csv: no file matches this pattern")


def test_books_are_restated_closed_and_explained_there(distant: Workspace, root: ObjectLocation) -> None:
    distant.build()
    assert distant.build() == [f"{month}  unchanged: version 1" for month in (OCTOBER, NOVEMBER)]
    distant.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-4", "1"))
    distant.build()
    distant.close(OCTOBER)
    assert distant.books() == [("2026-10", 1), ("2026-10", 2), ("2026-11", 1)]
    ran = distant.run("explain", f"{company.ALONE}-{OCTOBER}", "--month", OCTOBER)
    assert ran.code == 0, ran.err
    with distant.open() as store:
        assert names(root / "lake") == store.catalog.referenced_files()
    distant.require_sound()


def test_only_the_requested_month_and_columns_are_read(shared_lake: Workspace, store: ObjectStore) -> None:
    engine = DuckDB()
    tables = f"read_parquet('{SHARED_LAKE}/shares/*/*.parquet', hive_partitioning = true)"
    plan = engine.rows(f"EXPLAIN SELECT sum(effective) FROM {tables} WHERE month = '2026-10'")[0][1]
    assert "Scanning Files: 1/2" in plan
    assert re.search(r"Read Parquet.*Projections: effective\s*│\n", plan, re.DOTALL), plan


def test_pages_and_api_answer_from_an_object_store(
    shared_lake: Workspace, store: ObjectStore, built: Workspace
) -> None:
    with serving(shared_lake.folder) as far, serving(built.folder) as near:
        assert far.ask("/readyz").status == 200
        path = "/api/v1/report?window=2026-10&aggregate=team"
        assert far.ask(path).json == near.ask(path).json
        job = f"/api/v1/jobs/{company.ALONE}-{OCTOBER}/explain?window=2026-10"
        assert far.ask(job).body == near.ask(job).body


def test_a_killed_build_breaks_nothing_and_is_swept_when_abandoned(distant: Workspace, root: ObjectLocation) -> None:
    distant.build()
    version, digits = kill_a_build(distant, root)
    assert distant.book(OCTOBER).version == version
    assert distant.digits(OCTOBER) == digits
    with distant.open() as store:
        unused = names(root / "lake") - store.catalog.referenced_files()
        assert unused
        assert store.sweep() == []  # it may still be running
        expire_heartbeats(distant)
        assert names(root / "lake") == store.catalog.referenced_files() | unused
    distant.build()
    with distant.open() as store:
        assert names(root / "lake") == store.catalog.referenced_files()
    assert distant.book(OCTOBER).version == version + 1
    distant.require_sound()


def kill_a_build(workspace: Workspace, root: ObjectLocation) -> tuple[int, Digits]:
    """Kill a build while it writes tables; return the version and the digits before it. If it is faster, try again."""
    for attempt in range(1, ATTEMPTS + 1):
        workspace.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", str(attempt)))
        version, digits = workspace.book(OCTOBER).version, workspace.digits(OCTOBER)
        before = names(root / "lake")
        build = subprocess.Popen([COMMAND, "build", "-w", workspace.folder], stderr=subprocess.DEVNULL)
        while build.poll() is None and len(names(root / "lake") - before) < 4:  # its delivery is stored before tables
            time.sleep(0.02)
        build.kill()
        if build.wait() and workspace.book(OCTOBER).version == version:
            return version, digits
    raise AssertionError("every build was over before it could be killed")


def expire_heartbeats(workspace: Workspace) -> None:
    """Make the heartbeat of every running build too old."""
    heard = (datetime.now(UTC) - HEARTBEAT_TIMEOUT - timedelta(seconds=1)).isoformat(timespec="microseconds")
    engine = create_engine(f"sqlite:///{workspace.folder / 'catalog.sqlite'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE builds SET heartbeat_at = :heard"), {"heard": heard})
    engine.dispose()


def test_an_abandoned_build_can_publish_nothing(shared_lake: Workspace, store: ObjectStore) -> None:
    """Its machine slept for an hour. Its files were swept, so the catalog must not name them."""
    book = shared_lake.book(OCTOBER)
    with shared_lake.open() as opened, opened.lake.building() as build_id:
        late = opened.lake.book_path("shares", OCTOBER, build_id)
        with late.open("wb") as written:
            written.write(b"rows")
        assert opened.sweep() == []
        expire_heartbeats(shared_lake)
        assert list(opened.sweep()) == [late]
        values = {name: getattr(book, name) for name in NewBook.__dataclass_fields__}
        values["files"] = dict.fromkeys(book.files, opened.lake.relative(late))
        with pytest.raises(IncompleteError, match="was abandoned"):
            opened.catalog.publish(OCTOBER, 1, NewBook(**values))
    assert shared_lake.book(OCTOBER).version == 1


def test_an_object_that_was_not_written_completely_does_not_exist(root: ObjectLocation) -> None:
    for size in (10, 60 * 2**20):  # the second is uploaded in parts
        with pytest.raises(ZeroDivisionError):
            write_half(root / "half", size)
        assert not (root / "half").exists()


def write_half(location: ObjectLocation, size: int) -> None:
    with location.open("wb") as written:
        written.write(b"x" * size)
        _ = 1 / 0


def test_objects_of_another_catalog_are_rejected(
    shared_lake: Workspace, store: ObjectStore, workspace: Workspace
) -> None:
    workspace.write("trainfare.toml", company.settings(lake=f'"{SHARED_LAKE}"'))
    ran = workspace.run("build")
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"{SHARED_LAKE}: these files belong to another catalog")


def test_keys_are_stored_nowhere(shared_lake: Workspace, store: ObjectStore) -> None:
    secret = object_store.secret("writer").encode()
    found = [path for path in shared_lake.folder.rglob("*") if path.is_file() and secret in path.read_bytes()]
    for one in SHARED_LAKE.below():
        with one.open() as file:
            assert secret not in file.read()
    assert found == []


def test_missing_write_permission_is_reported(
    distant: Workspace, shared_lake: Workspace, server: ObjectStore, root: ObjectLocation
) -> None:
    ran = run(distant.folder, "build", server.as_("reader"))
    assert (ran.code, ran.err) == (
        4,
        f"{root}/lake/.catalog: the object store denied access\n"
        "  Check which keys are set, and their permissions on this bucket.\n",
    )
    shared_lake.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))
    ran = run(shared_lake.folder, "build", server.as_("reader"))
    assert ran.code == 4
    assert re.match(rf"{SHARED_LAKE}/deliveries/\S+\.parquet: the object store denied access\n", ran.err), ran.err
    assert run(shared_lake.folder, "report", server.as_("reader")).code == 0


def test_wrong_and_missing_keys_are_reported(distant: Workspace, server: ObjectStore, root: ObjectLocation) -> None:
    ran = run(distant.folder, "build", server.as_("reader") | {"AWS_SECRET_ACCESS_KEY": "not-to-be-seen-and-wrong"})
    assert (ran.code, ran.err.splitlines()[0]) == (4, f"{root}/lake/.catalog: the object store denied access")
    ran = run(distant.folder, "build", {"AWS_ENDPOINT_URL": server.endpoint})
    assert (ran.code, ran.err) == (
        4,
        f"{root}/lake/.catalog: no credentials for the object store\n"
        "  Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.\n",
    )


def test_a_missing_bucket_is_reported(distant: Workspace, server: ObjectStore) -> None:
    distant.write("trainfare.toml", company.settings(lake='"s3://no-such-bucket/lake"'))
    ran = run(distant.folder, "build", server.as_("writer"))
    assert (ran.code, ran.err) == (
        4,
        "s3://no-such-bucket/lake/.catalog: there is no such bucket\n  Check its name, or create it.\n",
    )


def test_an_unreachable_store_is_reported(shared_lake: Workspace, server: ObjectStore) -> None:
    """The settings name the endpoint; the environment takes precedence, as with every AWS tool."""
    unreachable = f'"http://127.0.0.1:{free_port()}"'
    shared_lake.write("trainfare.toml", company.settings(lake=f'"{SHARED_LAKE}"', s3_endpoint=unreachable))
    keys = server.as_("reader")
    assert run(shared_lake.folder, "report", keys).code == 0
    del keys["AWS_ENDPOINT_URL"]
    ran = run(shared_lake.folder, "report", keys)
    assert (ran.code, ran.err) == (
        4,
        f"{SHARED_LAKE}/.catalog: the object store does not answer at {unreachable.strip(chr(34))}\n"
        "  Check the network and AWS_ENDPOINT_URL.\n",
    )


def test_a_missing_extra_is_reported_with_the_install_command(distant: Workspace, root: ObjectLocation) -> None:
    hidden = "import sys; sys.modules['s3fs'] = None; from trainfare.cli import main; main()"
    command = [sys.executable, "-c", hidden, "build", "-w", str(distant.folder)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (
        2,
        "s3://: an object store needs the package s3fs\n  Install it: pip install 'trainfare[s3]'\n",
    )
