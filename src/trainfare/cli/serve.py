"""`trainfare serve`: pages, API and metrics."""

import ipaddress
from pathlib import Path

import click

from trainfare.cli import options, terminal
from trainfare.errors import TrainfareError


@click.command()
@options.workspace_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="The port.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
def serve(workspace: Path, host: str, port: int, workers: int) -> None:
    """Serve the published books: pages, API and metrics. Ctrl-C ends it."""
    import os

    import uvicorn

    options.settings_of(workspace)
    if not _is_loopback(host):
        do = "Leave --host out."
        raise TrainfareError("--host", f"{host} can be reached from elsewhere, and nobody would have to sign in", do)
    os.environ["TRAINFARE_WORKSPACE"] = str(workspace.resolve())
    terminal.talk(f"Trainfare is on http://{host}:{port}   (Ctrl-C ends it)")
    uvicorn.run(
        "trainfare.web.serving:from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        log_level="warning",
        access_log=False,
        server_header=False,
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
