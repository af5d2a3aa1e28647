"""A temporary S3 server for tests whose objects are the files of a folder.

Spark uses the connector of its cluster, and the one for S3 is not a Python package. Hadoop can map any scheme to a
folder, so a worker's `s3a://` refers to the folder that this server serves: two access paths to the same objects.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from .object_store import STARTUP_SECONDS, ObjectStore, secret
from .ports import free_port

COMMAND = Path(sys.executable).with_name("rclone")
WHO = "writer"


@contextmanager
def running(folder: Path) -> Iterator[ObjectStore]:
    """Serve a folder whose subfolders are buckets; yield the server's URL, and stop it by its process id."""
    port = free_port()
    options = (
        f"--addr=127.0.0.1:{port}",
        f"--auth-key={WHO},{secret(WHO)}",
        "--dir-cache-time=1ms",
        "--etag-hash=",
        "--config=",
    )
    server = subprocess.Popen([COMMAND, "serve", "s3", *options, folder], stderr=subprocess.DEVNULL)
    try:
        store = ObjectStore(f"http://127.0.0.1:{port}")
        _wait_until_ready(store, server)
        yield store
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=30)


def connector(folder: Path, bucket: str, scheme: str = "s3a") -> dict[str, str]:
    """Settings with which every worker finds the bucket of this scheme in the folder."""
    return {
        f"spark.hadoop.fs.{scheme}.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
        "spark.hadoop.fs.viewfs.overload.scheme.target.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
        f"spark.hadoop.fs.viewfs.mounttable.{bucket}.linkFallback": f"file://{folder / bucket}",
    }


def _wait_until_ready(store: ObjectStore, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + STARTUP_SECONDS
    while True:
        try:
            urlopen(store.endpoint, timeout=2)
        except HTTPError:
            return
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
