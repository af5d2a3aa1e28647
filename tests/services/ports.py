"""Free ports on loopback for services whose port must be known before they start.

A port that the system hands out can be given to any connection of the machine before the service listens on it. These
are below the range from which the system does that, and processes that run tests together have ranges of their own.
"""

import itertools
import os
import re
import socket

FIRST, PER_PROCESS, PROCESSES = 20_000, 700, 17
_NUMBER = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or PROCESSES - 1) % PROCESSES
_STARTING_AT = FIRST + _NUMBER * PER_PROCESS
_OFFSETS = itertools.count(os.getpid())


def free_ports(count: int) -> list[int]:
    """Return ports on which nothing listens, and which nothing else is given for a while."""
    return [free_port() for _ in range(count)]


def free_port() -> int:
    for _ in range(PER_PROCESS):
        port = _STARTING_AT + next(_OFFSETS) % PER_PROCESS
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port is free")
