"""`trainfare init --kubernetes` and `--slurm`: a workspace that works, what is missing, and the least privilege."""

import re
from pathlib import Path

import pytest
import yaml

from trainfare.cli import main

from . import kubernetes_server
from .kubernetes_objects import node, pod
from .test_slurm_recorded import Recorded


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    printed = capsys.readouterr()
    return int(left.value.code or 0), printed.out, printed.err


def test_a_workspace_for_kubernetes_collects_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with kubernetes_server.running() as server:
        kubeconfig = server.kubeconfig(tmp_path)
        server.put(pod("a", 1))
        server.put(node())
        code, out, err = run(capsys, "init", str(tmp_path / "w"), "--kubernetes", "--kubeconfig", str(kubeconfig))
        assert code == 0, err
        assert "missing" not in err
        assert "to collect nodes, pods, jobs.batch.\n" in err
        code, collected, err = run(capsys, "collect", "-w", str(tmp_path / "w"))
        assert code == 0, err
        assert collected.startswith("lab  recorded=2 ")
    kinds = [one["kind"] for one in yaml.safe_load_all(out)]
    assert kinds == [
        *("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "ConfigMap"),
        *("PersistentVolumeClaim", "Deployment"),
    ]


def test_the_role_only_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with kubernetes_server.running() as server:
        kubeconfig = server.kubeconfig(tmp_path)
        _, out, _ = run(capsys, "init", str(tmp_path / "w"), "--kubernetes", "--kubeconfig", str(kubeconfig))
    (role,) = [one for one in yaml.safe_load_all(out) if one["kind"] == "ClusterRole"]
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"list", "watch", "get"}
    assert "secrets" not in out
    page = (Path(__file__).parents[2] / "docs" / "howto" / "collect-kubernetes.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert yaml.safe_load(shown) == role, "the page shows the same role"


@pytest.mark.parametrize("hides_reviews", [False, True])
def test_missing_permissions_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hides_reviews: bool
) -> None:
    with kubernetes_server.running() as server:
        server.refused, server.hides_reviews = {"/api/v1/nodes", "/apis/batch/v1/jobs"}, hides_reviews
        kubeconfig = server.kubeconfig(tmp_path)
        code, _, err = run(capsys, "init", str(tmp_path / "w"), "--kubernetes", "--kubeconfig", str(kubeconfig))
    assert code == 0
    assert (
        "missing: not permitted: list and watch nodes, jobs.batch; the cluster role that is printed permits it\n" in err
    )


def test_a_cluster_that_rejects_us_creates_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with kubernetes_server.running() as server:
        kubeconfig = server.kubeconfig(tmp_path, "wrong")
        code, out, err = run(capsys, "init", str(tmp_path / "w"), "--kubernetes", "--kubeconfig", str(kubeconfig))
    assert (code, out) == (4, "")
    assert err.startswith("collector init: the API server does not accept the credentials\n")
    assert not (tmp_path / "w").exists()


def test_a_workspace_for_slurm_collects_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Recorded(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "programs"), prepend=":")
    code, out, err = run(capsys, "init", str(tmp_path / "w"), "--slurm")
    assert code == 0, err
    assert "missing" not in err
    assert f"collect -w {tmp_path / 'w'} --every 5m\n" in out
    code, collected, err = run(capsys, "collect", "-w", str(tmp_path / "w"))
    assert code == 0, err
    assert collected.startswith("lab  recorded=0 ")


@pytest.mark.parametrize(("level", "is_missing"), [("None", True), ("Operator", False), ("Administrator", False)])
def test_a_user_who_does_not_see_all_jobs_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, level: str, is_missing: bool
) -> None:
    recorded = Recorded(tmp_path)
    shown = "Configuration data as of 2026-11-17T23:20:00\nClusterName = lab\nPrivateData = accounts,jobs,usage\n"
    recorded.prints("config", shown)
    recorded.program("sacctmgr", f"echo {level}")
    monkeypatch.setenv("PATH", str(tmp_path / "programs"), prepend=":")
    monkeypatch.setattr("getpass.getuser", lambda: "collector")
    code, out, err = run(capsys, "init", str(tmp_path / "w"), "--slurm")
    assert code == 0
    assert ("the user collector does not see the jobs of other users" in err) is is_missing
    assert "sacctmgr --immediate modify user collector set adminlevel=Operator" in out


def test_an_option_of_another_system_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for system in ((), ("--slurm",)):
        code, _, err = run(capsys, "init", str(tmp_path / "w"), *system, "--context", "lab")
        assert code == 2
        assert err.startswith("--context: belongs to a system that was not chosen\n")
