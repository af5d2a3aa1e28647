"""`trainfare serve`: web pages, API and Prometheus metrics."""

import errno
import ipaddress
import os
import secrets
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import click

from trainfare.cli import options, published, terminal
from trainfare.errors import TrainfareError, UnwritableError
from trainfare.settings.config import Config

BACKLOG = 2048
"""Connections that may wait to be accepted."""
WORKER_SECONDS = 30
"""A process that does not respond to its parent for so long is replaced."""
STOP_SECONDS = 10
"""After a signal, connections end within a few seconds; whatever goes on longer is given up."""


@click.command()
@options.workspace_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="The port.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="The number of processes.")
def serve(workspace: Path, host: str, port: int, workers: int) -> None:
    """Serve the published books: web pages, API and Prometheus metrics. Stop with Ctrl-C."""
    _require_sign_in(options.load_settings(workspace), workspace, host)
    _require_cache(workspace)
    os.environ["TRAINFARE_FORM_SECRET"] = secrets.token_hex(32)
    os.environ["TRAINFARE_WORKSPACE"] = str(workspace.resolve())
    with _listening_socket(host, port) as listening:
        shown = f"[{host}]" if ":" in host else host
        terminal.message(
            f"Trainfare is on http://{shown}:{listening.getsockname()[1]}   (stop with Ctrl-C)",
        )
        _run(listening, workers)


def _run(listening: socket.socket, workers: int) -> None:
    """Serve on a socket until a signal stops the processes."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from trainfare.serve.connections import TimedProtocol

    config = uvicorn.Config(
        "trainfare.serve.process:from_environment",
        factory=True,
        workers=workers,
        http=TimedProtocol,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # they are honored from the proxies of the settings only
        timeout_graceful_shutdown=STOP_SECONDS,
        timeout_worker_healthcheck=WORKER_SECONDS,
    )
    if workers > 1:
        Multiprocess(config, sockets=[listening]).run()
        return
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def _require_sign_in(config: Config, workspace: Path, host: str) -> None:
    """Require authentication if the service can be reached from other machines."""
    if config.serve.sign_in == "none" and not _is_loopback(host):
        do = 'Set sign_in = "local", "oidc" or "proxy" in [serve], or leave --host out.'
        raise TrainfareError("--host", f"{host} can be reached from other machines, but sign-in is off", do)
    if config.serve.sign_in == "oidc":
        from trainfare.serve.auth import oidc

        if not config.oidc.issuer:
            do = "Set issuer, client_id, address and roles of your identity provider there."
            raise TrainfareError(f"{config.where} [oidc]", 'sign_in is "oidc", but no provider is set', do)
        oidc.require_installed()
    if config.serve.sign_in == "local":
        with ExitStack() as stack:
            users = published.open_store(stack, config, workspace).catalog.access.users()
        if not any(user.has_password and not user.disabled_at for user in users):
            do = f"Add one with: {options.command('user add NAME --role admin')}"
            raise TrainfareError("[serve] sign_in", "no user has a password to sign in with", do)


def _require_cache(workspace: Path) -> None:
    """Require write access to the `cache` folder, where the service stores what it derives from each version."""
    from trainfare.store.grain_files import kept_in

    cache = kept_in(workspace)
    folder = cache if cache.is_dir() else workspace
    if not os.access(folder, os.W_OK):
        raise UnwritableError(str(folder.resolve()))


def _listening_socket(host: str, port: int) -> socket.socket:
    """Listen on the address, or report why that is not possible. What is announced afterwards is true."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(BACKLOG)
            listening.set_inheritable(True)
        except BaseException:
            listening.close()
            raise
        return listening
    except socket.gaierror:
        raise TrainfareError("--host", f"'{host}' is not an address of this machine", "Use an IP address.") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            do = "Stop the other service, or choose another port with --port."
            raise TrainfareError("--port", f"{port} is already in use on {host}", do) from None
        what = f"cannot listen on {host}:{port} ({(error.strerror or '').lower()})"
        raise TrainfareError("serve", what, "Choose another --host or --port.") from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
