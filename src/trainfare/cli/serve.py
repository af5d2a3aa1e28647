"""`trainfare serve`: pages, API and metrics."""

import ipaddress
import os
import secrets
from contextlib import ExitStack
from pathlib import Path

import click

from trainfare.cli import options, published, terminal
from trainfare.config import Config
from trainfare.errors import TrainfareError, UnwritableError


@click.command()
@options.workspace_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="The port.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
def serve(workspace: Path, host: str, port: int, workers: int) -> None:
    """Serve the published books: pages, API and metrics. Ctrl-C ends it."""
    import uvicorn

    _require_sign_in(options.settings_of(workspace), workspace, host)
    _require_cache(workspace)
    os.environ["TRAINFARE_FORM_SECRET"] = secrets.token_hex(32)
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


def _require_sign_in(config: Config, workspace: Path, host: str) -> None:
    """Who can be reached from elsewhere must know who asks."""
    if config.serve.sign_in == "none" and not _is_loopback(host):
        do = 'Write sign_in = "local", "oidc" or "proxy" below [serve] in the settings, or leave --host out.'
        raise TrainfareError("--host", f"{host} can be reached from elsewhere, and nobody would have to sign in", do)
    if config.serve.sign_in == "oidc":
        from trainfare.web import oidc

        if not config.oidc.issuer:
            do = "Name your identity provider there: issuer, client_id, address and roles."
            raise TrainfareError(f"{config.where} [oidc]", 'sign_in is "oidc", and there is no provider', do)
        oidc.require_installed()
    if config.serve.sign_in == "local":
        with ExitStack() as stack:
            users = published.open_store(stack, config, workspace).catalog.access.users()
        if not any(user.has_password and not user.disabled_at for user in users):
            do = f"Add one with: {options.command('user add NAME --role admin')}"
            raise TrainfareError("[serve] sign_in", "nobody has a password to sign in with", do)


def _require_cache(workspace: Path) -> None:
    """What is made of a version once is kept below `cache`, so somebody has to be able to write there."""
    from trainfare.report import digest

    cache = digest.kept_in(workspace)
    folder = cache if cache.is_dir() else workspace
    if not os.access(folder, os.W_OK):
        raise UnwritableError(str(folder.resolve()))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
