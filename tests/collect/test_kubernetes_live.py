"""The collector for Kubernetes against an API server that does everything that can go wrong."""

import json
import random
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from trainfare.collect import kubernetes
from trainfare.collect.run import Collected, collect
from trainfare.errors import TrainfareError, UnreachableError
from trainfare.settings.collectors import CollectorSettings
from trainfare.settings.config import Config
from trainfare.sources.recordings import recording
from trainfare.store import Store

from . import kubernetes_server
from .kubernetes_objects import node, pod
from .kubernetes_server import TOKEN, FakeServer
from .test_slurm_recorded import placements

SETTINGS = CollectorSettings(name="lab", system="kubernetes", options={"kubeconfig": "kubeconfig"})
COLUMNS = "job_id, attempt, machine_id, gpus, state, ended, json_extract_string(labels, '$.ended_between')"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for less than with a real cluster, and read recordings by small parts."""
    monkeypatch.setattr(kubernetes, "QUIET_SECONDS", 0.4)
    monkeypatch.setattr(kubernetes, "GATHER_SECONDS", 0.05)
    monkeypatch.setattr(kubernetes, "UNNOTICED", timedelta(seconds=0.15))
    monkeypatch.setattr(kubernetes, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(recording, "_PAGE", 2)
    monkeypatch.setattr(recording, "_LIGHT_PAGE", 3)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FakeServer]:
    with kubernetes_server.running() as running:
        running.kubeconfig(tmp_path)
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path) as opened:
        yield opened


class Cluster:
    """A server, and a workspace that records it."""

    def __init__(self, server: FakeServer, store: Store, folder: Path) -> None:
        self.server, self.store, self.config = server, store, Config(folder=folder)

    def collect(self, wait_seconds: float = 0.0, settings: CollectorSettings = SETTINGS) -> Collected:
        return collect(self.config, settings, self.store, seal=True, wait_seconds=wait_seconds)

    def listening(self, seconds: float) -> threading.Thread:
        """Listen meanwhile; it is open when this returns."""
        before = len(self.server.requests)
        thread = threading.Thread(target=self.collect, args=(seconds,))
        thread.start()
        while sum("watch=true" in one for one in self.server.requests[before:]) < 3:
            time.sleep(0.02)
        time.sleep(0.5)
        return thread

    def rows(self, columns: str = COLUMNS) -> list[tuple[Any, ...]]:
        return sorted(placements(self.store).rows(f"SELECT {columns} FROM read"), key=str)


@pytest.fixture
def cluster(server: FakeServer, store: Store, tmp_path: Path) -> Cluster:
    return Cluster(server, store, tmp_path)


def hour(number: int) -> datetime:
    return datetime(2026, 10, 1, number)


def test_what_exists_is_listed_by_pages_and_what_changes_is_watched(cluster: Cluster) -> None:
    for number in range(7):
        cluster.server.put(pod(f"p{number}", 1))
    cluster.server.put(node())
    first = cluster.collect()
    assert (first.recorded, first.complete_through is not None) == (8, True)
    assert sum("continue=" in one for one in cluster.server.requests) == 2
    cluster.server.requests.clear()
    cluster.server.put(pod("p0", 1, 3))
    cluster.server.put(pod("new", 2))
    second = cluster.collect()
    assert (second.recorded, second.unchanged) == (2, 0)
    assert not any("limit=500" in one for one in cluster.server.requests), "nothing is listed again"
    rows = cluster.rows()
    assert len(rows) == 8
    assert ("ml/p0", 1, "n1", 1, "completed", hour(3), None) in rows
    assert ("ml/new", 1, "n1", 1, "running", None, None) in rows
    assert cluster.collect().recorded == 0


def test_a_removal_that_was_heard_is_exact_and_one_that_was_missed_is_between_two_times(cluster: Cluster) -> None:
    for name in ("heard", "missed"):
        cluster.server.put(pod(name, 1))
    cluster.collect()
    thread = cluster.listening(2.0)
    heard = datetime.now(UTC)
    cluster.server.remove("Pod", "uid-heard")
    thread.join()
    before = datetime.now(UTC)
    time.sleep(1.2)
    cluster.server.remove("Pod", "uid-missed")
    after = datetime.now(UTC)
    cluster.collect()
    (first, second) = cluster.rows("job_id, ended, state, json_extract_string(labels, '$.ended_between')")
    assert first[0] == "ml/heard"
    assert abs(first[1].replace(tzinfo=UTC) - heard) < timedelta(seconds=2)
    assert first[2:] == ("unknown", None)
    low, high = (datetime.fromisoformat(text) for text in second[3].split(" and "))
    assert second[1].replace(tzinfo=UTC) == low <= before
    assert high >= after.replace(microsecond=0)
    assert before - low < timedelta(seconds=3), "everything was known until shortly before"


def test_a_pod_that_came_and_went_unheard_does_not_end_before_it_began(cluster: Cluster) -> None:
    cluster.server.put(node())
    cluster.collect()
    time.sleep(0.2)
    later = pod("brief", 1)
    moment = (datetime.now(UTC) + timedelta(seconds=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    later["status"]["conditions"][0]["lastTransitionTime"] = later["metadata"]["creationTimestamp"] = moment
    cluster.server.put(later)
    cluster.server.remove("Pod", "uid-brief")
    cluster.collect()
    ((started, ended, between),) = cluster.rows("started, ended, json_extract_string(labels, '$.ended_between')")
    assert started == ended
    assert between


def test_a_removed_pod_whose_containers_were_over_ended_with_them(cluster: Cluster) -> None:
    """A node of Kubernetes 1.20 removes a pod without another word about its phase."""
    cluster.server.put(pod("a", 1))
    cluster.collect()
    time.sleep(0.2)
    cluster.server.put(pod("a", 1, 4, phase="Running"))
    cluster.server.remove("Pod", "uid-a")
    cluster.collect()
    assert cluster.rows() == [("ml/a", 1, "n1", 1, "unknown", hour(4), None)]


def test_a_pod_does_not_outlive_its_node(cluster: Cluster) -> None:
    cluster.server.put(node())
    cluster.server.put(pod("a", 1))
    cluster.collect()
    thread = cluster.listening(2.0)
    cluster.server.remove("Node", "uid-n1")
    time.sleep(1.1)
    cluster.server.remove("Pod", "uid-a")
    thread.join()
    ((ended, state),) = cluster.rows("ended, state")
    assert state == "node_failed"
    assert ended.replace(tzinfo=UTC) < datetime.now(UTC) - timedelta(seconds=1)


def test_an_expired_version_lists_again_and_what_vanished_is_gone(cluster: Cluster) -> None:
    for name in ("stays", "vanishes"):
        cluster.server.put(pod(name, 1))
    cluster.collect()
    time.sleep(0.2)
    cluster.server.remove("Pod", "uid-vanishes")
    cluster.server.put(pod("new", 2))
    cluster.server.forget()
    done = cluster.collect()
    assert done.complete_through
    states = {row[0]: (row[4], bool(row[6])) for row in cluster.rows()}
    assert states == {"ml/stays": ("running", False), "ml/vanishes": ("unknown", True), "ml/new": ("running", False)}
    assert cluster.collect().recorded == 0


def test_a_watch_that_ends_at_once_is_opened_again(cluster: Cluster) -> None:
    cluster.server.watch_seconds = 0.05
    cluster.server.put(pod("a", 1))
    cluster.collect()
    thread = cluster.listening(2.0)
    cluster.server.put(pod("a", 1, 2))
    thread.join()
    assert cluster.rows() == [("ml/a", 1, "n1", 1, "completed", hour(2), None)]


def test_a_server_that_is_busy_is_asked_again(cluster: Cluster) -> None:
    cluster.server.put(pod("a", 1))
    cluster.server.failures = 2
    assert cluster.collect().recorded == 1


def test_the_time_of_a_removal_is_that_of_the_server(cluster: Cluster) -> None:
    cluster.server.ahead = timedelta(hours=2)
    cluster.server.put(pod("a", 1))
    cluster.collect()
    thread = cluster.listening(1.5)
    cluster.server.remove("Pod", "uid-a")
    removed = cluster.server.now()
    thread.join()
    ((ended,),) = cluster.rows("ended")
    assert abs(ended.replace(tzinfo=UTC) - removed) < timedelta(seconds=4)


def test_a_pod_without_a_node_holds_nothing_until_it_has_one(cluster: Cluster) -> None:
    cluster.server.put(pod("a", None, phase="Pending", node=None))
    cluster.collect()
    assert cluster.rows() == []
    cluster.server.put(pod("a", 2))
    cluster.collect()
    assert [row[:5] for row in cluster.rows()] == [("ml/a", 1, "n1", 1, "running")]


def test_sixty_kilobytes_of_labels_are_recorded(cluster: Cluster) -> None:
    labels = {f"example.com/label-{number}": "x" * 63 for number in range(700)} | {"team": "nlp"}
    cluster.server.put(pod("a", 1, labels=labels))
    assert len(json.dumps(labels)) > 60_000
    cluster.collect()
    assert cluster.rows("job_id, team") == [("ml/a", "nlp")]


def test_labels_of_the_owners_fill_in_for_those_a_pod_lacks(cluster: Cluster) -> None:
    owned = pod("a", 1, owner=("Job", "bert"), labels={"cost-center": "7"})
    owned["metadata"]["ownerReferences"][0]["uid"] = "uid-job"
    labels = {"team": "nlp", "cost-center": "9", "kueue.x-k8s.io/queue-name": "gpu"}
    metadata = {"name": "bert", "namespace": "ml", "uid": "uid-job", "labels": labels}
    spec = {"template": {"spec": {"containers": [{"env": [{"value": "s3cret"}]}]}}}
    cluster.server.put({"kind": "Job", "metadata": metadata, "spec": spec})
    cluster.server.put(owned)
    cluster.collect()
    queue = "json_extract_string(labels, '$.queue')"
    assert cluster.rows(f"job_id, team, cost_center, {queue}") == [("ml/bert", "nlp", "7", "gpu")]


def test_secrets_are_recorded_nowhere(cluster: Cluster, tmp_path: Path) -> None:
    cluster.server.put(pod("a", 1, annotations={"note": "s3cret"}))
    cluster.collect()
    sealed = [cluster.store.lake.path(one.archive) for _, one in cluster.store.catalog.recordings.segments()]
    stored = [tmp_path / "catalog.sqlite", *map(Path, map(str, sealed))]
    assert len(stored) > 1
    assert not any(b"s3cret" in path.read_bytes() for path in stored)


# What goes wrong


def failure(cluster: Cluster, settings: CollectorSettings = SETTINGS) -> str:
    with pytest.raises(TrainfareError) as caught:
        cluster.collect(settings=settings)
    assert TOKEN not in str(caught.value)
    return str(caught.value)


def test_a_wrong_token(cluster: Cluster, tmp_path: Path) -> None:
    cluster.server.kubeconfig(tmp_path, "wrong")
    assert failure(cluster) == (
        "collector lab: the API server does not accept the credentials\n"
        "  Check that the token or certificate has not expired, and that it is one of this cluster."
    )


def test_a_token_of_the_settings_replaces_that_of_the_kubeconfig(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.server.kubeconfig(tmp_path, "wrong")
    monkeypatch.setenv("LAB_TOKEN", TOKEN)
    options = {"kubeconfig": "kubeconfig", "context": "lab"}
    settings = CollectorSettings(name="lab", system="kubernetes", token="env:LAB_TOKEN", options=options)
    cluster.server.put(pod("a", 1))
    assert cluster.collect(settings=settings).recorded == 1


def test_what_is_not_permitted_is_named_with_its_rule_and_the_rest_is_recorded(cluster: Cluster) -> None:
    cluster.server.refused = {"/apis/batch/v1/jobs"}
    cluster.server.put(pod("a", 1))
    assert failure(cluster) == (
        "collector lab: the cluster does not permit it to list and watch jobs.batch\n"
        "  Add to the rules of its cluster role:\n"
        '  - {apiGroups: ["batch"], resources: [jobs], verbs: [list, watch]}'
    )
    cluster.server.refused = set()
    assert cluster.collect().recorded == 0
    assert [row[0] for row in cluster.rows()] == ["ml/a"]


def test_nothing_is_complete_without_permission_for_everything(cluster: Cluster) -> None:
    cluster.server.refused = {"/api/v1/nodes"}
    cluster.server.put(pod("a", 1))
    assert "list and watch nodes\n" in failure(cluster)
    assert cluster.store.catalog.recordings.state("lab").complete_through is None


def test_a_server_that_does_not_answer(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainfare.collect.kubernetes_api.TRIES", 1)
    cluster.server.port = 1
    cluster.server.kubeconfig(tmp_path)
    assert failure(cluster).startswith("collector lab: the API server cannot be reached: ")


def test_something_else_that_answers(cluster: Cluster) -> None:
    cluster.server.answer = (200, "<html>Sign in</html>")
    assert failure(cluster).startswith("collector lab: the answer is not one of a Kubernetes API server\n")


def test_another_cluster_under_the_same_name_records_nothing(cluster: Cluster) -> None:
    cluster.server.put(pod("a", 1))
    cluster.collect()
    cluster.server.uid = "cluster-2"
    cluster.server.remove("Pod", "uid-a")
    assert failure(cluster).startswith("collector lab: the recordings of this name are of another cluster\n")
    assert [row[4] for row in cluster.rows()] == ["running"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "Configuration file"),
        ("{", "while parsing"),
        ("[]", "it is something else"),
        ("{}", "it lacks 'clusters'"),
        ('{"clusters": [], "contexts": []}', "No current context"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used(cluster: Cluster, tmp_path: Path, content: str | None, what: str) -> None:
    path = tmp_path / "kubeconfig"
    path.unlink()
    if content is not None:
        path.write_text(content, encoding="utf-8")
    text = failure(cluster)
    assert text.startswith("collector lab: the kubeconfig cannot be used: ")
    assert what in text


def test_a_context_that_does_not_exist(cluster: Cluster) -> None:
    options = {"kubeconfig": "kubeconfig", "context": "lob"}
    text = failure(cluster, CollectorSettings(name="lab", system="kubernetes", options=options))
    assert "Context 'lob' not found" in text


def test_a_server_that_breaks_down_while_listening_is_an_error_and_nothing_is_lost(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainfare.collect.kubernetes_api.TRIES", 1)
    cluster.server.put(pod("a", 1))
    cluster.collect()
    raised: list[BaseException] = []

    def listen() -> None:
        try:
            cluster.collect(5.0)
        except TrainfareError as error:
            raised.append(error)

    thread = threading.Thread(target=listen)
    thread.start()
    time.sleep(1)
    cluster.server.put(pod("a", 1, 2))
    time.sleep(0.5)
    cluster.server.answer = (500, "{}")
    thread.join()
    assert isinstance(raised[0], UnreachableError)
    cluster.server.answer = None
    cluster.server.put(pod("b", 3))
    cluster.collect()
    assert [(row[0], row[4]) for row in cluster.rows()] == [("ml/a", "completed"), ("ml/b", "running")]


# Random histories


def test_random_histories_are_recorded_as_they_happened(cluster: Cluster) -> None:
    """The model writes down what it does; the collector runs now and then, and its versions expire now and then."""
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    truth: dict[str, tuple[str, datetime | None]] = {}
    for number in range(40):
        step = chance.random()
        alive = [name for name, (state, _) in truth.items() if state == "running"]
        if step < 0.4 or not alive:
            truth[f"p{number}"] = ("running", None)
            cluster.server.put(pod(f"p{number}", 1))
        elif step < 0.7:
            name = chance.choice(alive)
            truth[name] = ("completed", hour(5))
            cluster.server.put(pod(name, 1, 5))
        else:
            name = chance.choice(alive)
            truth[name] = ("unknown", datetime.now(UTC))
            cluster.server.remove("Pod", f"uid-{name}")
        if chance.random() < 0.1:
            cluster.server.forget()
        if chance.random() < 0.25:
            cluster.collect()
    cluster.collect()
    seen = {row[0].removeprefix("ml/"): row for row in cluster.rows()}
    for name, (state, moment) in truth.items():
        if name not in seen:  # it came and went between two lists, and nothing remembers it
            assert state != "running", f"seed {seed}"
            continue
        assert state == seen[name][4], f"seed {seed}: {name}"
        if state == "unknown" and moment:
            low, high = (datetime.fromisoformat(text) for text in seen[name][6].split(" and "))
            slack = timedelta(seconds=1)
            assert low - slack <= moment <= high + slack, f"seed {seed}: {name}"
        else:
            assert seen[name][5] == moment, f"seed {seed}: {name}"
