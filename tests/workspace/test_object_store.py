"""The lake and the bills in an object store: the same commands, the same digits, and faults told."""

import gzip
import os
import re
import signal
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
from sqlalchemy import create_engine, text
from web.server import serving

from trainfare import places
from trainfare.cli.demo import SETTINGS
from trainfare.engine.duckdb import DuckDB
from trainfare.errors import IncompleteError
from trainfare.places import Remote
from trainfare.simulate import write
from trainfare.store import NewBook
from trainfare.store.builds import SILENT

from . import company
from .company import NOVEMBER, OCTOBER
from .conftest import furnish
from .folder import COMMAND, Ran, Workspace

BUCKET = "books"


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store.running() as running:
        object_store.make_bucket(running, BUCKET)
        yield running


@pytest.fixture
def store(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """The server, with this process let in as one who may write."""
    for name, value in server.as_("writer").items():
        monkeypatch.setenv(name, value)
    places.file_system.cache_clear()
    yield server
    places.file_system.cache_clear()


@pytest.fixture
def root(store: ObjectStore) -> Remote:
    """A folder of its own for each test."""
    return Remote(f"s3://{BUCKET}/{uuid4().hex}")


@pytest.fixture
def distant(tmp_path: Path, root: Remote) -> Workspace:
    """October and November, not built yet, with the lake in the object store."""
    made = furnish(tmp_path / "distant")
    made.write("trainfare.toml", company.settings(lake=f'"{root}/lake"'))
    return made


@pytest.fixture(scope="module")
def standing(server: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """October and November, built in the object store, for every test that leaves its books as they are."""
    made = furnish(tmp_path_factory.mktemp("standing") / "workspace")
    made.write("trainfare.toml", company.settings(lake=f'"s3://{BUCKET}/standing/lake"'))
    assert run(made.folder, "build", server.as_("writer")).code == 0
    return made


STANDING = Remote(f"s3://{BUCKET}/standing/lake")


def put(root: Remote, name: str, path: Path) -> Remote:
    places.copy(path, root / name)
    return root / name


def names(lake: Remote) -> set[str]:
    return {str(one).removeprefix(f"{lake}/") for one in lake.below()} - {".catalog"}


def run(workspace: Path, command: str, environment: dict[str, str]) -> Ran:
    """Run a command as a user does, who has nothing but this environment for an object store."""
    env = object_store.environment_without_keys() | {"AWS_CONFIG_FILE": os.devnull} | environment
    env |= {"AWS_EC2_METADATA_DISABLED": "true"}
    ran = subprocess.run([COMMAND, command, "-w", workspace], capture_output=True, text=True, env=env)
    assert "Traceback" not in ran.stderr
    assert "not-to-be-seen" not in ran.stderr + ran.stdout
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_the_demo_month_has_the_same_digits_in_an_object_store(tmp_path: Path, root: Remote) -> None:
    """Here the bills, the jobs and the machines are in the object store, too, and are read there: text, packed and Parquet."""
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


def test_two_files_in_an_object_store_are_reported_without_a_workspace(workspace: Workspace, root: Remote) -> None:
    bill = put(root, "bills [1]/2026-10.csv", workspace.folder / "bills" / "2026-10.csv")
    jobs = put(root, "jobs.csv", workspace.folder / "jobs" / "2026-10.csv")
    here = ("bills/2026-10.csv", "--jobs", "jobs/2026-10.csv")
    os.chdir(workspace.folder)
    near, far = (workspace.run("report", *told, "--format", "json") for told in (here, (bill, "--jobs", jobs)))
    assert (far.code, far.out) == (0, near.out)


def test_what_is_wrong_with_a_file_is_told_by_its_address(workspace: Workspace, root: Remote) -> None:
    told = (workspace.folder / "bills" / "2026-10.csv").read_text().replace("1170.912345678901", "a lot", 1)
    bad = put(root, "bad.csv", workspace.write("bad.csv", told))
    jobs = workspace.folder / "jobs" / "2026-10.csv"
    ran = workspace.run("report", bad, "--jobs", jobs)
    assert ran.code == 2
    assert ran.err.startswith(f"{bad}:2: EffectiveCost 'a lot' is not an amount\n")
    ran = workspace.run("report", root / "none.csv", "--jobs", jobs)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"{root}/none.csv: there is no such file")
    ran = workspace.run("report", f"{root}/none*.csv", "--jobs", jobs)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"{root}/none*.csv: no file fits this pattern")


def test_books_are_restated_closed_and_explained_there(distant: Workspace, root: Remote) -> None:
    distant.build()
    assert distant.build() == [f"{month}  nothing changed: version 1 stands" for month in (OCTOBER, NOVEMBER)]
    distant.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-4", "1"))
    distant.build()
    distant.close(OCTOBER)
    assert distant.books() == [("2026-10", 1), ("2026-10", 2), ("2026-11", 1)]
    ran = distant.run("explain", f"{company.ALONE}-{OCTOBER}", "--month", OCTOBER)
    assert ran.code == 0, ran.err
    with distant.open() as store:
        assert names(root / "lake") == store.catalog.referenced_files()
    distant.require_sound()


def test_only_the_month_and_the_columns_that_are_asked_for_are_read(standing: Workspace, store: ObjectStore) -> None:
    engine = DuckDB()
    tables = f"read_parquet('{STANDING}/shares/*/*.parquet', hive_partitioning = true)"
    plan = engine.rows(f"EXPLAIN SELECT sum(effective) FROM {tables} WHERE month = '2026-10'")[0][1]
    assert "Scanning Files: 1/2" in plan
    assert re.search(r"Read Parquet.*Projections: effective\s*│\n", plan, re.DOTALL), plan


def test_pages_and_api_answer_from_an_object_store(standing: Workspace, store: ObjectStore, built: Workspace) -> None:
    with serving(standing.folder) as far, serving(built.folder) as near:
        assert far.ask("/readyz").status == 200
        asked = "/api/v1/report?window=2026-10&aggregate=team"
        assert far.ask(asked).json == near.ask(asked).json
        job = f"/api/v1/jobs/{company.ALONE}-{OCTOBER}/explain?window=2026-10"
        assert far.ask(job).body == near.ask(job).body


def test_a_killed_build_breaks_nothing_and_is_swept_when_it_is_given_up(distant: Workspace, root: Remote) -> None:
    distant.build()
    digits = distant.digits(OCTOBER)
    distant.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))
    before = names(root / "lake")
    build = subprocess.Popen([COMMAND, "build", "-w", distant.folder], stderr=subprocess.DEVNULL)
    while len(names(root / "lake") - before) < 4:  # its delivery is taken in, and it writes tables
        assert build.poll() is None, "the build was over before it could be killed"
        time.sleep(0.05)
    build.send_signal(signal.SIGKILL)
    build.wait()
    assert distant.book(OCTOBER).version == 1
    assert distant.digits(OCTOBER) == digits
    with distant.open() as store:
        rubbish = names(root / "lake") - store.catalog.referenced_files()
        assert rubbish
        assert store.sweep() == []  # it may still be running, for all we know
        forget(distant)
        assert names(root / "lake") == store.catalog.referenced_files() | rubbish
    distant.build()
    with distant.open() as store:
        assert names(root / "lake") == store.catalog.referenced_files()
    assert distant.book(OCTOBER).version == 2
    distant.require_sound()


def forget(workspace: Workspace) -> None:
    """Let every running build be silent for too long."""
    heard = (datetime.now(UTC) - SILENT - timedelta(seconds=1)).isoformat(timespec="microseconds")
    engine = create_engine(f"sqlite:///{workspace.folder / 'catalog.sqlite'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE builds SET heard_at = :heard"), {"heard": heard})
    engine.dispose()


def test_a_build_that_was_given_up_can_publish_nothing(standing: Workspace, store: ObjectStore) -> None:
    """Its machine slept for an hour. What it wrote is gone, so the catalog must not name it."""
    book = standing.book(OCTOBER)
    with standing.open() as opened, opened.lake.building() as build_id:
        late = opened.lake.book_path("shares", OCTOBER, build_id)
        with late.open("wb") as written:
            written.write(b"rows")
        assert opened.sweep() == []
        forget(standing)
        assert list(opened.sweep()) == [late]
        told = {name: getattr(book, name) for name in NewBook.__dataclass_fields__}
        told["files"] = dict.fromkeys(book.files, opened.lake.relative(late))
        with pytest.raises(IncompleteError, match="was given up"):
            opened.catalog.publish(OCTOBER, 1, NewBook(**told))
    assert standing.book(OCTOBER).version == 1


def test_what_is_not_written_to_its_end_is_not_there(root: Remote) -> None:
    for size in (10, 60 * 2**20):  # the second is put in parts
        with pytest.raises(ZeroDivisionError):
            write_half(root / "half", size)
        assert not (root / "half").exists()


def write_half(place: Remote, size: int) -> None:
    with place.open("wb") as written:
        written.write(b"x" * size)
        _ = 1 / 0


def test_another_catalogs_objects_are_refused(standing: Workspace, store: ObjectStore, workspace: Workspace) -> None:
    workspace.write("trainfare.toml", company.settings(lake=f'"{STANDING}"'))
    ran = workspace.run("build")
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"{STANDING}: these files belong to another catalog")


def test_keys_are_kept_nowhere(standing: Workspace, store: ObjectStore) -> None:
    secret = object_store.secret("writer").encode()
    kept = [path for path in standing.folder.rglob("*") if path.is_file() and secret in path.read_bytes()]
    for one in STANDING.below():
        with one.open() as opened:
            assert secret not in opened.read()
    assert kept == []


def test_who_may_not_write_is_told(distant: Workspace, standing: Workspace, server: ObjectStore, root: Remote) -> None:
    ran = run(distant.folder, "build", server.as_("reader"))
    assert (ran.code, ran.err) == (
        4,
        f"{root}/lake/.catalog: the object store does not let us in\n"
        "  Check whose keys are set, and what they may do with this bucket.\n",
    )
    standing.write_bill(OCTOBER, company.restated(company.lines(OCTOBER), "gpu-1", "1"))
    ran = run(standing.folder, "build", server.as_("reader"))
    assert ran.code == 4
    assert re.match(rf"{STANDING}/deliveries/\S+\.parquet: the object store does not let us in\n", ran.err), ran.err
    assert run(standing.folder, "report", server.as_("reader")).code == 0


def test_wrong_keys_and_no_keys_are_told(distant: Workspace, server: ObjectStore, root: Remote) -> None:
    ran = run(distant.folder, "build", server.as_("reader") | {"AWS_SECRET_ACCESS_KEY": "not-to-be-seen-and-wrong"})
    assert (ran.code, ran.err.splitlines()[0]) == (4, f"{root}/lake/.catalog: the object store does not let us in")
    ran = run(distant.folder, "build", {"AWS_ENDPOINT_URL": server.endpoint})
    assert (ran.code, ran.err) == (
        4,
        f"{root}/lake/.catalog: there are no keys for the object store\n"
        "  Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.\n",
    )


def test_a_bucket_that_is_not_there_is_told(distant: Workspace, server: ObjectStore) -> None:
    distant.write("trainfare.toml", company.settings(lake='"s3://no-such-bucket/lake"'))
    ran = run(distant.folder, "build", server.as_("writer"))
    assert (ran.code, ran.err) == (
        4,
        "s3://no-such-bucket/lake/.catalog: there is no such bucket\n  Check its name, or make it.\n",
    )


def test_a_store_that_does_not_answer_is_told(standing: Workspace, server: ObjectStore) -> None:
    """The settings say where it is; what the environment says comes first, as with every AWS tool."""
    silent = f'"http://127.0.0.1:{object_store.free_ports(1)[0]}"'
    standing.write("trainfare.toml", company.settings(lake=f'"{STANDING}"', s3_endpoint=silent))
    keys = server.as_("reader")
    assert run(standing.folder, "report", keys).code == 0
    del keys["AWS_ENDPOINT_URL"]
    ran = run(standing.folder, "report", keys)
    assert (ran.code, ran.err) == (
        4,
        f"{STANDING}/.catalog: the object store does not answer at {silent.strip(chr(34))}\n"
        "  Check the network and AWS_ENDPOINT_URL.\n",
    )


def test_without_the_extra_it_says_what_to_install(distant: Workspace, root: Remote) -> None:
    hidden = "import sys; sys.modules['s3fs'] = None; from trainfare.cli import main; main()"
    command = [sys.executable, "-c", hidden, "build", "-w", str(distant.folder)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (
        2,
        "s3://: an object store needs the package s3fs\n  Install it: pip install 'trainfare[s3]'\n",
    )
