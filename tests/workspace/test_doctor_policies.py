"""The policies that `trainfare doctor` prints allow reading, and nothing else."""

import json
import re

import pytest
from click.testing import CliRunner

from trainfare.cli.main import cli
from trainfare.sources.guides import guides

READING = re.compile(r"(get|list|describe|read|inspect)[a-z]*", re.IGNORECASE)


def printed(*arguments: str) -> str:
    ran = CliRunner().invoke(cli, ["doctor", *arguments], catch_exceptions=False)
    assert ran.exit_code == 0
    return ran.stdout


def changes(policy: str) -> list[str]:
    """Return what a policy allows besides reading: its last word is another verb, or a pattern."""
    return [one for one in _allowed(policy) if not READING.fullmatch(re.split(r"[.:/]", one)[-1])]


@pytest.mark.parametrize("cloud", list(guides()))
def test_a_policy_allows_reading_and_nothing_else(cloud: str) -> None:
    answer = json.loads(printed("--policy", cloud, "--format", "json"))
    policy = answer["policy"]
    assert len(answer["export"]) >= 4
    assert len(answer["commands"]) >= 2
    assert len(_allowed(policy)) >= 2
    assert changes(policy) == []
    assert policy in printed("--policy", cloud)


@pytest.mark.parametrize(
    "policy",
    [
        '{"Statement": [{"Action": ["s3:GetObject", "s3:*"]}]}',
        '{"Statement": [{"Action": "s3:PutObject"}]}',
        '{"includedPermissions": ["storage.objects.create"]}',
        '{"Actions": ["Microsoft.Compute/virtualMachines/write"], "DataActions": []}',
        "allow group x to manage instances in tenancy",
    ],
)
def test_a_policy_that_allows_more_would_be_found(policy: str) -> None:
    assert len(changes(policy)) == 1


def _allowed(policy: str) -> list[str]:
    """Return what a policy allows, in whichever of the four languages it is written."""
    if not policy.startswith("{"):
        lines = [words.split() for words in policy.splitlines()]
        return [words[words.index("to") + 1] for words in lines if words[0] in ("allow", "endorse")]
    content = json.loads(policy)
    if "Statement" in content:
        actions = [one["Action"] for one in content["Statement"]]
        return [one for each in actions for one in ([each] if isinstance(each, str) else each)]
    return content.get("includedPermissions") or [*content["Actions"], *content["DataActions"]]
