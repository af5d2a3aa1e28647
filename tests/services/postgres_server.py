"""A temporary PostgreSQL for tests: a new cluster in a temporary folder, reachable through a socket in it."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

STARTUP_SECONDS = 60
# Nothing here outlives the tests, so nothing needs to reach the disk.
SETTINGS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "listen_addresses=", "max_connections=50")


def missing() -> str | None:
    """Return why no server can be started here; None if one can."""
    if binaries() is None:
        return "PostgreSQL's server is not installed"
    if os.geteuid() == 0 and "postgres" not in {user.pw_name for user in pwd.getpwall()}:
        return "PostgreSQL refuses to run as root and there is no user postgres"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    return None


def binaries() -> Path | None:
    """Find the newest PostgreSQL on the PATH or in Debian's location."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    installed = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(installed, key=lambda path: int(path.parent.name), default=None)


@contextmanager
def running() -> Iterator[str]:
    """Start a server, yield the folder of its socket, and stop it by its process id."""
    home = binaries()
    assert home is not None
    with tempfile.TemporaryDirectory(prefix="pg-") as made:
        folder, identity = Path(made), _identity()
        if identity:
            shutil.chown(folder, "postgres")
        options: dict[str, Any] = {"cwd": folder, "stderr": subprocess.STDOUT, **identity}
        with (folder / "server.log").open("wb") as log:
            options["stdout"] = log
            create: list[str | Path] = [
                home / "initdb",
                "-D",
                "data",
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--no-locale",
                "-N",
            ]
            subprocess.run(create, check=True, **options)
            flags = [flag for setting in SETTINGS for flag in ("-c", setting)]
            server = subprocess.Popen([home / "postgres", "-D", "data", "-k", folder, *flags], **options)
            try:
                _wait_until_ready(folder, server)
                yield str(folder)
            finally:
                server.send_signal(signal.SIGINT)
                server.wait(timeout=30)


def execute(socket: str, statement: str) -> None:
    """Run one statement in the database `postgres`, outside of any transaction."""
    import psycopg

    with psycopg.connect(host=socket, user="postgres", dbname="postgres", autocommit=True) as connection:
        connection.execute(statement.encode())


def new_database(socket: str) -> str:
    """Create an empty database and return its URL."""
    name = f"test_{uuid4().hex}"
    execute(socket, f"CREATE DATABASE {name}")
    return f"postgresql://postgres@/{name}?host={socket}"


def drop(url: str) -> None:
    socket, name = _parts(url)
    execute(socket, f"DROP DATABASE {name} WITH (FORCE)")


def copied(url: str) -> str:
    """Copy the database of this URL, which may be in use, and return the URL of the copy."""
    socket, _ = _parts(url)
    made = new_database(socket)
    quiet = ("-q", "-v", "ON_ERROR_STOP=1")
    subprocess.run(_command("psql", made, *quiet), check=True, input=dump(url), stdout=subprocess.DEVNULL)
    return made


def dump(url: str) -> bytes:
    """Return the content of a database as SQL statements."""
    return subprocess.run(_command("pg_dump", url), check=True, capture_output=True).stdout


def _command(name: str, url: str, *options: str) -> list[str | Path]:
    home = binaries()
    assert home is not None
    socket, database = _parts(url)
    return [home / name, "-h", socket, "-U", "postgres", *options, database]


def _parts(url: str) -> tuple[str, str]:
    """The folder of the server's socket, and the database."""
    parts = urlsplit(url)
    (socket,) = parse_qs(parts.query)["host"]
    return socket, parts.path[1:]


def _identity() -> dict[str, Any]:
    return {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}


def _wait_until_ready(folder: Path, server: "subprocess.Popen[bytes]") -> None:
    import psycopg

    deadline = time.monotonic() + STARTUP_SECONDS
    while True:
        try:
            execute(str(folder), "SELECT 1")
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((folder / "server.log").read_text(encoding="utf-8")) from None
            time.sleep(0.05)
        else:
            return
