"""What the environment says about this process: its job, attempt, machine, rank, and the ids that other systems use.

The SDK has the same functions, because neither package depends on the other; a test compares what both find.
"""

import os
import re
from collections.abc import Mapping

IDS = (
    ("slurm_job_id", "SLURM_JOB_ID"),
    ("slurm_step_id", "SLURM_STEP_ID"),
    ("torchelastic_run_id", "TORCHELASTIC_RUN_ID"),
    ("pod_name", "POD_NAME"),
    ("pod_uid", "POD_UID"),
    ("pod_namespace", "POD_NAMESPACE"),
    ("sagemaker_job", "TRAINING_JOB_NAME"),
    ("sagemaker_arn", "TRAINING_JOB_ARN"),
    ("batch_job_id", "AWS_BATCH_JOB_ID"),
    ("ray_job_id", "RAY_JOB_ID"),
    ("skypilot_task_id", "SKYPILOT_TASK_ID"),
    ("wandb_run_id", "WANDB_RUN_ID"),
    ("mlflow_run_id", "MLFLOW_RUN_ID"),
    ("github_run_id", "GITHUB_RUN_ID"),
    ("gitlab_job_id", "CI_JOB_ID"),
    ("buildkite_job_id", "BUILDKITE_JOB_ID"),
)
"""Under which name an id becomes part of the start event, and the variable that holds it."""
JOB_VARIABLES = ("TRAINING_JOB_NAME", "AWS_BATCH_JOB_ID", "SKYPILOT_TASK_ID", "RAY_JOB_ID", "JOB_NAME")
"""Which of these names the job if nobody else does; Slurm comes before all of them."""
ASSET_TAG = "/sys/devices/virtual/dmi/id/board_asset_tag"
"""Where EC2 instances state their own id."""

_INSTANCE = re.compile(r"i-[0-9a-f]{8,17}")
Environment = Mapping[str, str]


def native_job(env: Environment) -> str | None:
    """Return the id under which Slurm's accounting lists this job: an array's task is `ARRAY_TASK`."""
    array, task = env.get("SLURM_ARRAY_JOB_ID"), env.get("SLURM_ARRAY_TASK_ID")
    return array + "_" + task if array and task else env.get("SLURM_JOB_ID") or None


def job_id(env: Environment, name: str | None) -> str | None:
    """Return the job's id: what started it decides, then the given name, then other systems; None if all are silent."""
    others = (env[key] for key in JOB_VARIABLES if env.get(key))
    return env.get("TRAINFARE_JOB") or native_job(env) or name or next(others, None)


def attempt(env: Environment) -> int | None:
    """Return the attempt that the system which started this process counts; None if it does not count."""
    given = _whole(env.get("TRAINFARE_ATTEMPT"))
    if given:
        return given
    if native_job(env):
        return (_whole(env.get("SLURM_RESTART_COUNT")) or 0) + 1
    return _whole(env.get("AWS_BATCH_JOB_ATTEMPT")) or None


def run_key(env: Environment) -> str | None:
    """Return what all processes of one attempt have in common although nobody numbers attempts; None if nothing."""
    if env.get("TRAINFARE_RUN"):
        return env["TRAINFARE_RUN"]
    run = env.get("TORCHELASTIC_RUN_ID")
    if run and run != "none":
        return run + "-" + (env.get("TORCHELASTIC_RESTART_COUNT") or "0")
    return None


def machine(env: Environment, asset_tag: str = ASSET_TAG) -> str:
    """Return the machine's name as a log or a bill writes it: the scheduler's, the instance id, or the host name."""
    return env.get("TRAINFARE_MACHINE") or env.get("SLURMD_NODENAME") or _instance(asset_tag) or os.uname().nodename


def gpus(env: Environment) -> int | None:
    """Return the number of GPUs that this process may use on this machine; None if it is not limited."""
    on_node = _whole(env.get("SLURM_GPUS_ON_NODE"))
    if on_node is not None:
        return on_node
    visible = env.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return None
    devices = [one.strip() for one in visible.split(",")]
    known = [one for one in devices if one and one != "NoDevFiles"]
    return devices.index("-1") if "-1" in devices else len(known)


def cluster(env: Environment) -> str | None:
    """Return the cluster that numbers these jobs."""
    return env.get("TRAINFARE_CLUSTER") or env.get("SLURM_CLUSTER_NAME") or None


def ids(env: Environment) -> dict[str, str]:
    """Return the ids by which other systems know this process."""
    return {name: env[variable] for name, variable in IDS if env.get(variable)}


def owner(env: Environment) -> str | None:
    """Return who runs this; root in a container is nobody in particular."""
    user = env.get("SLURM_JOB_USER") or env.get("USER")
    return user if user and user != "root" else None


def _instance(asset_tag: str) -> str | None:
    try:
        with open(asset_tag, encoding="ascii") as file:
            tag = file.read(64).strip()
    except (OSError, ValueError):
        return None
    return tag if _INSTANCE.fullmatch(tag) else None


def _whole(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch("[0-9]{1,9}", text) else None
