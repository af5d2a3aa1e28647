"""A temporary S3 server for tests: SeaweedFS on free loopback ports, with its objects in a temporary folder."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .ports import free_ports

COMMAND = Path(sys.executable).with_name("weed")
STARTUP_SECONDS = 60
MAY = {
    "admin": ["Admin", "Read", "Write", "List", "Tagging"],
    "writer": ["Read", "Write", "List"],
    "reader": ["Read", "List"],
}
"""The users and their permissions. Each has its name as the access key, and a secret derived from it."""


@dataclass(frozen=True)
class ObjectStore:
    endpoint: str

    def as_(self, who: str) -> dict[str, str]:
        """Environment variables with keys for this store."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": who,
            "AWS_SECRET_ACCESS_KEY": secret(who),
            "AWS_REGION": "us-east-1",
        }


def secret(who: str) -> str:
    return f"not-to-be-seen-of-{who}"


@contextmanager
def running() -> Iterator[ObjectStore]:
    """Start a server, yield its URL, and stop it by its process id."""
    with tempfile.TemporaryDirectory(prefix="s3-", ignore_cleanup_errors=True) as made:
        folder, ports = Path(made), free_ports(8)
        (folder / "data").mkdir()
        people = [
            {"name": who, "credentials": [{"accessKey": who, "secretKey": secret(who)}], "actions": may}
            for who, may in MAY.items()
        ]
        (folder / "people.json").write_text(json.dumps({"identities": people}), encoding="utf-8")
        names = ("master.port", "volume.port", "filer.port", "s3.port")
        named = [f"-{name}{kind}={ports.pop()}" for name in names for kind in ("", ".grpc")]
        endpoint = next(one.partition("=")[2] for one in named if one.startswith("-s3.port="))
        options = (
            "-volume.max=20",
            "-master.volumeSizeLimitMB=64",
            "-volume.preStopSeconds=0",
            "-s3.iam=false",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
        )
        command = [COMMAND, "server", "-dir=data", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"]
        with (folder / "server.log").open("wb") as log:
            server = subprocess.Popen(
                [*command, "-s3.config=people.json", *options, *named], cwd=folder, stdout=log, stderr=log
            )
            try:
                store = ObjectStore(f"http://127.0.0.1:{endpoint}")
                _wait_until_ready(store, server, folder / "server.log")
                yield store
            finally:
                server.send_signal(signal.SIGTERM)
                try:
                    server.wait(timeout=5)
                except subprocess.TimeoutExpired:  # it waits for its connections to end; nothing here has to outlive it
                    server.kill()
                    server.wait(timeout=30)


def _wait_until_ready(store: ObjectStore, server: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until it accepts users: without keys it responds with 403 as soon as it has loaded them."""
    deadline = time.monotonic() + STARTUP_SECONDS
    while True:
        try:
            urllib.request.urlopen(store.endpoint, timeout=2)
        except urllib.error.HTTPError:
            return
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(log.read_text(encoding="utf-8", errors="replace")[-2000:]) from None
            time.sleep(0.1)
        else:
            return


def make_bucket(store: ObjectStore, name: str) -> None:
    """Create a bucket as the user who may."""
    import s3fs

    keys = {"key": "admin", "secret": secret("admin"), "endpoint_url": store.endpoint}
    deadline = time.monotonic() + STARTUP_SECONDS
    while True:
        try:
            s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False, **keys).mkdir(name)
        except (OSError, PermissionError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def environment_without_keys() -> dict[str, str]:
    """This process's environment without any credentials for an object store."""
    return {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
