"""A real Spark Connect server for tests, on loopback."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from services.ports import free_port
from services.spark_cluster import STARTUP_SECONDS, home

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """Start a server and yield its address."""
    port = free_port()
    given = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    options = [option for name, value in given.items() for option in ("--conf", f"{name}={value}")]
    command = [home() / "bin" / "spark-submit", "--class", SERVER, "--master", "local[1]", *options, "spark-internal"]
    with (folder / "connect.log").open("wb") as log:
        server = subprocess.Popen(
            command, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        _wait(server, port)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def _wait(server: "subprocess.Popen[bytes]", port: int) -> None:
    until = time.monotonic() + STARTUP_SECONDS
    while True:
        assert server.poll() is None, "the server ended"
        assert time.monotonic() < until, "the server did not come up"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
