"""What is read from Kubernetes: the kinds, where an API server has them, and the permissions that reading them takes.

Pods hold nodes; claims say which devices they were given. Owners only name and label pods, and an operator that is not
installed has none, so any of them may be missing.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from trainfare.sources.schedulers.kubernetes_recorded import CLAIM, NODE, POD, VOLCANO_JOB


@dataclass(frozen=True)
class Kind:
    """A kind of object: its name in recordings, and its place in the API."""

    name: str
    group: str
    plural: str
    is_needed: bool = False
    """Whether nothing can be recorded without it."""

    @property
    def resource(self) -> str:
        """The name that people and permissions use, such as `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


KINDS = (
    Kind(NODE, "", "nodes", is_needed=True),
    Kind(POD, "", "pods", is_needed=True),
    Kind(CLAIM, "resource.k8s.io", "resourceclaims"),
    Kind("Job", "batch", "jobs"),
    Kind("JobSet", "jobset.x-k8s.io", "jobsets"),
    Kind("TrainJob", "trainer.kubeflow.org", "trainjobs"),
    Kind("PyTorchJob", "kubeflow.org", "pytorchjobs"),
    Kind("MPIJob", "kubeflow.org", "mpijobs"),
    Kind("RayJob", "ray.io", "rayjobs"),
    Kind("RayCluster", "ray.io", "rayclusters"),
    Kind(VOLCANO_JOB, "batch.volcano.sh", "jobs"),
    Kind("Workflow", "argoproj.io", "workflows"),
)
ROLE = "trainfare"
CLUSTER_ID = "kube-system"
"""The namespace whose uid identifies a cluster: it is created once."""


def rules(kinds: Iterable[Kind]) -> list[str]:
    """Return the rules of a role that may read these kinds, as lines of YAML."""
    by_group: dict[str, list[str]] = {}
    for one in kinds:
        by_group.setdefault(one.group, []).append(one.plural)
    return [
        f'- {{apiGroups: ["{group}"], resources: [{", ".join(sorted(plurals))}], verbs: [list, watch]}}'
        for group, plurals in by_group.items()
    ]


def role(kinds: Iterable[Kind] = KINDS) -> list[str]:
    """Return the least privilege as lines of YAML: a cluster role that reads these kinds, and changes nothing."""
    identity = f'- {{apiGroups: [""], resources: [namespaces], resourceNames: [{CLUSTER_ID}], verbs: [get]}}'
    head = ("apiVersion: rbac.authorization.k8s.io/v1", "kind: ClusterRole", f"metadata: {{name: {ROLE}}}", "rules:")
    return [*head, *rules(kinds), identity]
