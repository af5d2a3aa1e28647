"""How to get the files: export steps of each cloud with the least privilege they take, and of the job log."""

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

import msgspec

from trainfare.sources.schedulers import slurm_runs


@dataclass(frozen=True)
class Guide:
    """What to do in one cloud."""

    name: str
    providers: tuple[str, ...]
    """What the provider's name on a bill contains, in lower case."""
    export: tuple[str, ...]
    """The steps that create the export, once."""
    commands: tuple[str, ...]
    """The command lines that fetch the bill and list the machines."""
    policy: str
    """A read-only policy for whoever runs these commands."""
    policy_use: str
    policy_note: str


@cache
def guides() -> dict[str, Guide]:
    """Return the guides by the name of their cloud on the command line."""
    text = resources.files("trainfare.sources").joinpath("guides.toml").read_text(encoding="utf-8")
    found = {key: msgspec.convert(section, Guide) for key, section in tomllib.loads(text).items()}
    return {key: replace(guide, policy=guide.policy.strip()) for key, guide in found.items()}


def guide_of(provider: str) -> str | None:
    """Return the key of the guide for a provider's name on a bill."""
    return next((key for key, one in guides().items() if any(part in provider.lower() for part in one.providers)), None)


def job_log_export() -> str:
    """Return how to export a job log."""
    other = "With another scheduler, write a job file: docs/reference/files.md."
    return f"With Slurm, {slurm_runs.EXPORT[0].lower()}{slurm_runs.EXPORT[1:]} > jobs.txt. {other}"
