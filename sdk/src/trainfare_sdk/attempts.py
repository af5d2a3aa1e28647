"""Numbers attempts where no scheduler does: the first free number of a job in the spool folder is claimed by a file."""

from __future__ import annotations

import hashlib
import os
import re

FOLDER = "attempts"
MOST = 100_000


def claim(spool: str, job: str, run: str) -> int:
    """Return the attempt of `run`: the one it already has, or the first that no other run has claimed.

    A file appears together with its content (a hard link), so two processes never read half a claim.
    """
    folder = os.path.join(spool, FOLDER, _folder_name(job))
    os.makedirs(folder, exist_ok=True)
    draft = os.path.join(folder, f".{os.urandom(6).hex()}-{os.getpid()}")
    with open(draft, "w", encoding="utf-8") as file:
        file.write(run)
    try:
        for number in range(1, MOST):
            path = os.path.join(folder, str(number))
            try:
                os.link(draft, path)
            except FileExistsError:
                with open(path, encoding="utf-8") as file:
                    if file.read() != run:
                        continue
            return number
    finally:
        os.unlink(draft)
    raise OSError("no free attempt")


def _folder_name(job: str) -> str:
    """Return a folder name that is safe on any file system and different for every job."""
    plain = re.sub("[^A-Za-z0-9.-]", "-", job)[:40].lstrip(".-")
    return plain + "-" + hashlib.sha256(job.encode("utf-8", "surrogatepass")).hexdigest()[:12]
