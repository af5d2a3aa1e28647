"""What a new collector for Kubernetes needs: which permissions are missing, the least privilege, and a manifest."""

from importlib import metadata

from trainfare.collect import kubernetes_kinds
from trainfare.collect.kubernetes_api import Api, Place, RefusedError, connected, context_name, places
from trainfare.collect.kubernetes_kinds import ROLE
from trainfare.collect.protocol import Query, Setup
from trainfare.settings.collectors import usable_name

VERBS = ("list", "watch")
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_MANIFEST = """\
# Let Trainfare record this cluster, with the least privilege: it reads, and changes nothing.
# The image must have Python 3.11 and: pip install 'trainfare[kubernetes]=={version}'
# Apply with: kubectl apply -f FILE
apiVersion: v1
kind: Namespace
metadata: {{name: {name}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: {name}, namespace: {name}}}
---
{role}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {name}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {name}}}
subjects:
- {{kind: ServiceAccount, name: {name}, namespace: {name}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: {name}}}
data:
  trainfare.toml: |
    [[collector]]
    name = "{collector}"
    system = "kubernetes"
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}, namespace: {name}}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {{requests: {{storage: 20Gi}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: {name}}}
spec:
  replicas: 1
  strategy: {{type: Recreate}}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      serviceAccountName: {name}
      securityContext: {{runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000}}
      containers:
      - name: collect
        image: registry.example.com/trainfare:{version}
        command: [trainfare, collect, -w, /workspace, --every, 30s]
        resources: {{requests: {{cpu: 100m, memory: 256Mi}}, limits: {{memory: 1Gi}}}}
        volumeMounts:
        - {{name: workspace, mountPath: /workspace}}
        - {{name: settings, mountPath: /workspace/trainfare.toml, subPath: trainfare.toml}}
      volumes:
      - {{name: workspace, persistentVolumeClaim: {{claimName: {name}}}}}
      - {{name: settings, configMap: {{name: {name}}}}}
"""


def prepare(query: Query) -> Setup:
    """Return what is needed to collect from this cluster. Nothing is recorded, and nothing is changed."""
    with connected(query) as api:
        found = places(api)
        missing = [one for one in found if not _is_permitted(api, one)]
        context = context_name(query)
    name = usable_name(context)
    problems: tuple[str, ...] = ()
    if missing:
        names = ", ".join(one.kind.resource for one in missing)
        problems = (f"not permitted: list and watch {names}; the cluster role that is printed permits it",)
    manifest = _MANIFEST.format(
        name=ROLE,
        collector=name,
        version=metadata.version("trainfare"),
        role="\n".join(kubernetes_kinds.role()),
    )
    options = {key: query.options[key] for key in ("kubeconfig",) if key in query.options}
    return Setup(
        name=name,
        options=options | ({"context": context} if context else {}),
        found=tuple(one.kind.resource for one in found),
        missing=problems,
        manifest=manifest,
    )


def _is_permitted(api: Api, place: Place) -> bool:
    """Ask the API server; one that does not say is asked for the objects themselves."""
    try:
        for verb in VERBS:
            attributes = {"group": place.kind.group, "resource": place.kind.plural, "verb": verb}
            answer = api.post(REVIEWS, {"kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}})
            if not answer["status"].get("allowed"):
                return False
    except RefusedError:
        try:
            api.version(place.path)
        except RefusedError:
            return False
    return True
