"""A temporary Slurm for tests: munge, MariaDB, slurmdbd, slurmctld and four slurmd on loopback, in a temporary folder.

The nodes only pose as large: their GPUs are device files of /dev/null, so jobs get real GPU indices and real records.
"""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from .ports import free_ports

CLUSTER = "lab"
NODE_GPUS = {"a100-0": 4, "a100-1": 4, "h100-0": 8, "cpu-0": 0}
ACCOUNTS = ("vision", "nlp")
STARTUP_SECONDS = 60
STOP_SECONDS = 30
PROGRAMS = (
    "munged",
    "mariadb-install-db",
    "mariadbd",
    "mariadb",
    "slurmdbd",
    "slurmctld",
    "slurmd",
    "sbatch",
    "sacct",
    "sacctmgr",
    "scontrol",
)


def missing() -> str | None:
    """Return why no cluster can be started here; None if one can."""
    if os.geteuid() != 0:
        return "Slurm's daemons and their device files need root"
    if absent := [program for program in PROGRAMS if not shutil.which(program, path=_path())]:
        return f"{', '.join(absent)} not installed"
    return None


@dataclass(frozen=True)
class SlurmCluster:
    """A running cluster."""

    folder: Path

    def call(self, *command: str, **environment: str) -> str:
        """Run a Slurm command against this cluster and return its output."""
        variables = {**os.environ, "PATH": _path(), "SLURM_CONF": str(self.folder / "slurm.conf"), **environment}
        done = subprocess.run(command, env=variables, cwd=self.folder, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def submit(self, *options: str, script: str) -> str:
        """Submit a batch job and return its number."""
        return self.call("sbatch", "--parsable", "--output=/dev/null", *options, f"--wrap={script}").strip()

    def wait(self, job: str, *states: str, seconds: float = 60) -> None:
        """Wait until the controller reports the job in one of the states."""

        def reached() -> bool:
            shown = self.call("scontrol", "--oneliner", "show", "job", job)
            return any(f"JobState={state} " in shown for state in states)

        _wait(reached, f"job {job} to be {' or '.join(states)}", seconds)

    def wait_recorded(self, job: str, state: str) -> None:
        """Wait until the database has the job in that state; the controller may send it seconds later."""
        query = ("sacct", "--noheader", "--allocations", "--parsable2", "--format=State", f"--jobs={job}")
        _wait(lambda: state in self.call(*query), f"the database to have job {job} as {state}")


@contextmanager
def running() -> Iterator[SlurmCluster]:
    """Start a cluster, yield it, and stop every daemon by its process id, last started first."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as made, ExitStack() as daemons:
        cluster, ports = SlurmCluster(Path(made)), free_ports(3 + len(NODE_GPUS))
        cluster.folder.chmod(0o755)
        daemons.enter_context(_telling_logs(cluster.folder))
        _write_settings(cluster.folder, ports)
        _start_munge(daemons, cluster.folder)
        _start_database(daemons, cluster.folder, ports[0])
        daemons.enter_context(_daemon(cluster.folder, "slurmdbd", "-D"))
        _wait(lambda: _listens(ports[1]), "slurmdbd")
        _wait(lambda: _works(cluster, "sacctmgr", "--noheader", "list", "cluster"), "slurmdbd to answer")
        _add_accounts(cluster)
        daemons.enter_context(_daemon(cluster.folder, "slurmctld", "-D", "-i"))
        _wait(lambda: _listens(ports[2]), "slurmctld")
        for node in NODE_GPUS:
            daemons.enter_context(_daemon(cluster.folder, "slurmd", "-D", "-N", node))
        _wait(lambda: _idle_nodes(cluster) == len(NODE_GPUS), "the nodes to be idle")
        try:
            yield cluster
        finally:
            cluster.call("scancel", "--quiet", f"--clusters={CLUSTER}", "--user=root")
            _wait(lambda: not cluster.call("squeue", "--noheader").strip(), "the jobs to end")


@contextmanager
def _telling_logs(folder: Path) -> Iterator[None]:
    """Add the daemons' logs to an error, because they are deleted with the folder."""
    try:
        yield
    except Exception as error:
        for log in sorted(folder.glob("*.log")):
            error.add_note(f"{log.name}: {log.read_text(errors='replace')[-2000:]}")
        raise


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def _wait(reached: Callable[[], bool], what: str, seconds: float = STARTUP_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.1)


def _works(cluster: SlurmCluster, *command: str) -> bool:
    try:
        cluster.call(*command)
    except RuntimeError:
        return False
    return True


def _idle_nodes(cluster: SlurmCluster) -> int:
    return cluster.call("sinfo", "--noheader", "--Node", "--format=%N %T", "--partition=every").count(" idle\n")


@contextmanager
def _daemon(folder: Path, program: str, *options: str) -> Iterator[None]:
    """Run a program in the foreground as our child; stop exactly that process and wait for it."""
    environment = {**os.environ, "PATH": _path(), "SLURM_CONF": str(folder / "slurm.conf")}
    with (folder / "daemons.log").open("ab") as log:
        process = subprocess.Popen(
            [program, *options], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_SECONDS)


def _start_munge(daemons: ExitStack, folder: Path) -> None:
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o600)
    options = {"key-file": key, "socket": folder / "munge.socket", "pid-file": folder / "munged.pid"}
    options |= {"log-file": folder / "munged.log", "seed-file": folder / "munge.seed"}
    arguments = [f"--{name}={path}" for name, path in options.items()]
    daemons.enter_context(_daemon(folder, "munged", "--foreground", "--force", *arguments))
    _wait(lambda: (folder / "munge.socket").exists(), "munged")


def _start_database(daemons: ExitStack, folder: Path, port: int) -> None:
    data, door = folder / "mysql", folder / "mysql.socket"
    install = ("--no-defaults", f"--datadir={data}", "--user=root", "--auth-root-authentication-method=normal")
    subprocess.run(["mariadb-install-db", *install, "--skip-test-db"], check=True, capture_output=True)
    # Nothing here outlives the tests, so nothing needs to reach the disk.
    quick = ("--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900")
    where = (f"--datadir={data}", f"--socket={door}", f"--port={port}", "--bind-address=127.0.0.1")
    daemons.enter_context(_daemon(folder, "mariadbd", "--no-defaults", "--user=root", *where, *quick))
    client = ["mariadb", "--no-defaults", f"--socket={door}", "--user=root", "--execute"]
    _wait(lambda: subprocess.run([*client, "SELECT 1"], capture_output=True).returncode == 0, "MariaDB")
    grant = "CREATE USER slurm@'%' IDENTIFIED BY 'slurm'; GRANT ALL ON slurm_acct_db.* TO slurm@'%';"
    grant += "CREATE USER slurm@localhost IDENTIFIED BY 'slurm'; GRANT ALL ON slurm_acct_db.* TO slurm@localhost"
    subprocess.run([*client, f"CREATE DATABASE slurm_acct_db; {grant}"], check=True, capture_output=True)


def _add_accounts(cluster: SlurmCluster) -> None:
    cluster.call("sacctmgr", "--immediate", "add", "cluster", CLUSTER)
    for account in ACCOUNTS:
        cluster.call("sacctmgr", "--immediate", "add", "account", account, "Organization=test", "Description=test")
        cluster.call("sacctmgr", "--immediate", "add", "user", "root", f"account={account}", "wckey=cc-1001")


def _write_settings(folder: Path, ports: list[int]) -> None:
    database, accounting, controller, *nodes = ports
    for number in range(max(NODE_GPUS.values())):
        os.mknod(folder / f"gpu{number}", 0o020666, os.makedev(1, 3))
    places = {"folder": folder, "database": database, "accounting": accounting, "controller": controller}
    lines = [
        f"NodeName={node} NodeHostname={node} NodeAddr=127.0.0.1 Port={port} CPUs=16 RealMemory=65536 State=UNKNOWN"
        + (f" Gres=gpu:{node.split('-')[0]}:{gpus}" if gpus else "")
        for (node, gpus), port in zip(NODE_GPUS.items(), nodes, strict=True)
    ]
    (folder / "slurm.conf").write_text(_SLURM.format(**places) + "\n".join(lines) + "\n")
    (folder / "slurmdbd.conf").write_text(_SLURMDBD.format(**places))
    (folder / "slurmdbd.conf").chmod(0o600)
    (folder / "cgroup.conf").write_text("")
    (folder / "gres.conf").write_text(
        "AutoDetect=off\n"
        + "".join(
            f"NodeName={node} Name=gpu Type={node.split('-')[0]} File={folder}/gpu[0-{gpus - 1}]\n"
            for node, gpus in NODE_GPUS.items()
            if gpus
        )
    )


# cred_expire is also how long a requeued job must wait before it may start again: 120 seconds by default.
_SLURM = """\
ClusterName=lab
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
MpiDefault=none
MailProg=/bin/true
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdTimeout=60
KillWait=5
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={accounting}
AccountingStoragePass={folder}/munge.socket
AccountingStorageEnforce=associations
AccountingStorageTRES=gres/gpu,gres/gpu:a100,gres/gpu:h100
AccountingStoreFlags=job_comment
TrackWCKey=yes
DefMemPerCPU=1024
PropagateResourceLimits=NONE
PartitionName=ondemand Nodes=ALL PriorityTier=10 PreemptMode=OFF
PartitionName=spot Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE GraceTime=0
PartitionName=every Nodes=ALL Default=YES PriorityTier=10 PreemptMode=OFF
"""

_SLURMDBD = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={accounting}
SlurmUser=root
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
TrackWCKey=yes
"""
