"""What a new collector for Slurm needs: which permissions are missing, the least privilege, and a service."""

import getpass
import re
import sys

from trainfare.collect.protocol import Query, Setup
from trainfare.errors import UnreachableError
from trainfare.settings.collectors import usable_name

COMMANDS = ("scontrol", "sdiag", "sacct")
_SERVICE = """\
# The least privilege in Slurm: a user who sees the jobs of all users. Only needed with PrivateData=jobs.
#   sacctmgr --immediate add user {user} account=root adminlevel=Operator
#   sacctmgr --immediate modify user {user} set adminlevel=Operator    # if the user exists
# Save this as /etc/systemd/system/trainfare.service, then: systemctl enable --now trainfare
[Unit]
Description=Trainfare records the jobs of this cluster
After=network-online.target

[Service]
User={user}
ExecStart={python} -m trainfare collect -w {folder} --every 5m
Restart=always
RestartSec=30

[Install]
WantedBy=multi-user.target
"""


def prepare(query: Query) -> Setup:
    """Return what is needed to collect from this cluster. Nothing is recorded, and nothing is changed."""
    from trainfare.collect import slurm

    shown = slurm.call(query, "scontrol", "show", "config")
    name = re.search(r"^ClusterName\s*=\s*(\S+)", shown, re.MULTILINE)
    slurm.call(query, "sdiag")
    slurm.call(query, "sacct", "--allocations", "--noheader", "--parsable2", "--starttime=now-1minute", "--endtime=now")
    user = getpass.getuser()
    hides = re.search(r"^PrivateData\s*=\s*(.*\bjobs\b.*)$", shown, re.MULTILINE)
    missing: tuple[str, ...] = ()
    if hides and not _is_operator(query, user):
        missing = (f"PrivateData={hides[1].strip()}: the user {user} does not see the jobs of other users",)
    return Setup(
        name=usable_name(name[1] if name else ""),
        options={key: value for key, value in query.options.items() if key in slurm.OPTIONS},
        found=COMMANDS,
        missing=missing,
        manifest=_SERVICE.format(user=user, python=sys.executable, folder=query.folder.resolve()),
    )


def _is_operator(query: Query, user: str) -> bool:
    """Return whether a user sees everything: root, an operator or an administrator."""
    from trainfare.collect import slurm

    if user in ("root", "slurm"):
        return True
    try:
        printed = slurm.call(query, "sacctmgr", "--noheader", "--parsable2", "show", "user", user, "format=AdminLevel")
    except UnreachableError:
        return False
    return printed.strip().lower().startswith(("operator", "admin"))
