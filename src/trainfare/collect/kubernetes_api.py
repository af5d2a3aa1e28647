"""The API of a Kubernetes cluster: requests, pages and watches, and what went wrong as errors for people.

Lightkube reads the kubeconfig, runs its credential plugins and renews the token of a service account; requests are our
own, because a collector has to see where a watch ends and what time the server has. "Now" is the server's clock if it
differs from ours by more than the second that its answers are rounded to.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import msgspec

from trainfare.collect.kubernetes_kinds import KINDS, Kind
from trainfare.collect.protocol import Query
from trainfare.errors import TrainfareError, UnreachableError

if TYPE_CHECKING:
    import httpx2

PAGE = 500
TRIES = 4
CONNECT_SECONDS, READ_SECONDS = 10, 60
WATCH_SECONDS = 240
"""How long one watch is open: the server then ends it, and it is opened again."""
SILENCE_SECONDS = 100
"""A server reports its progress about every minute: a watch that is silent for longer is opened again."""
CLOCK_ROUNDING = timedelta(seconds=2)


class RefusedError(Exception):
    """The server does not permit this."""


class ExpiredError(Exception):
    """The server no longer knows what happened since this version."""


class BrokenError(Exception):
    """The connection of a watch ended, and not by the server."""


class AbsentError(Exception):
    """The server does not have this."""


@dataclass(frozen=True)
class Event:
    """A line of a watch."""

    type: str
    object: dict[str, Any]

    @property
    def version(self) -> str:
        return str(self.object["metadata"]["resourceVersion"])

    @property
    def is_progress(self) -> bool:
        """Whether the server only says how far the watch is."""
        return self.type == "BOOKMARK"


class Api:
    """One API server."""

    def __init__(self, client: "httpx2.Client", query: Query) -> None:
        self._client, self.where = client, f"collector {query.name}"
        self._secret = query.token
        self._ahead = timedelta()
        self.closing = threading.Event()

    def now(self) -> datetime:
        """The time by the clock of the server."""
        return datetime.now(UTC) + self._ahead

    def get(self, path: str, **parameters: str) -> Any:
        """Return what the server has there. It is asked again if it is busy or cannot be reached."""
        return self._request("GET", path, parameters)

    def post(self, path: str, body: Any) -> Any:
        """Return the answer to a question that takes a document."""
        return self._request("POST", path, {}, body)

    def _request(self, method: str, path: str, parameters: dict[str, str], body: Any = None) -> Any:
        import httpx2

        for tried in range(1, TRIES + 1):
            try:
                response = self._client.request(method, path, params=parameters, json=body)
            except httpx2.HTTPError as error:
                if tried == TRIES:
                    raise self._unreachable(error) from None
            else:
                self._require_success(response, is_last=tried == TRIES)
                if response.is_success:
                    self._read_clock(response)
                    return self._document(response.content)
            self.closing.wait(2**tried / 4)
        raise AssertionError("the last try returns or raises")

    def list(self, path: str) -> Iterator[tuple[list[dict[str, Any]], str]]:
        """Yield the objects of a kind by pages, each with the version at which the list is complete."""
        token = ""
        while True:
            page = self.get(path, limit=str(PAGE), **({"continue": token} if token else {}))
            yield page.get("items") or [], str(page["metadata"]["resourceVersion"])
            token = page["metadata"].get("continue") or ""
            if not token:
                return

    def version(self, path: str) -> str:
        """Return the version of everything that has happened so far."""
        return str(self.get(path, limit="1")["metadata"]["resourceVersion"])

    def watch(self, path: str, version: str) -> Iterator[Event]:
        """Yield what happens after a version until the server ends the watch; if the connection does, an error."""
        import httpx2

        parameters = {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true"}
        parameters["timeoutSeconds"] = str(WATCH_SECONDS)
        timeout = httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS, read=SILENCE_SECONDS)
        try:
            with self._client.stream("GET", path, params=parameters, timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                    self._require_success(response, is_last=True)
                self._read_clock(response)
                pending = b""
                for chunk in response.iter_bytes():
                    *lines, pending = (pending + chunk).split(b"\n")
                    yield from map(self._event, lines)
        except (httpx2.HTTPError, httpx2.StreamError):
            raise BrokenError from None

    def _event(self, line: bytes) -> Event:
        document = self._document(line)
        event = Event(document["type"], document["object"])
        if event.type == "ERROR":
            code = event.object.get("code")
            if code == 410:
                raise ExpiredError
            what = f"the watch failed: {event.object.get('message')}"
            raise UnreachableError(self.where, what, "Run it again: it continues where it was.")
        return event

    def _document(self, content: bytes) -> Any:
        try:
            return msgspec.json.decode(content)
        except ValueError:
            do = "Check the address in the kubeconfig: something else may answer there, such as a proxy."
            raise UnreachableError(self.where, "the answer is not one of a Kubernetes API server", do) from None

    def _require_success(self, response: "httpx2.Response", is_last: bool) -> None:
        code = response.status_code
        if response.is_success or (not is_last and (code == 429 or code >= 500)):
            return
        if code == 401:
            do = "Check that the token or certificate has not expired, and that it is one of this cluster."
            raise UnreachableError(self.where, "the API server does not accept the credentials", do)
        if code == 403:
            raise RefusedError
        if code == 404:
            raise AbsentError
        if code == 410:
            raise ExpiredError
        do = "Check the API server; nothing was lost, and the next run continues where this one was."
        raise UnreachableError(self.where, f"the API server answers with status {code}", do)

    def _unreachable(self, error: Exception) -> UnreachableError:
        reason = str(error).replace(self._secret or "\0", "***") or type(error).__name__
        do = "Check the address in the kubeconfig, its certificates, and the network between here and the cluster."
        return UnreachableError(self.where, f"the API server cannot be reached: {reason}", do)

    def _read_clock(self, response: "httpx2.Response") -> None:
        try:
            served = parsedate_to_datetime(response.headers["Date"])
        except (KeyError, ValueError):
            return
        ahead = served - datetime.now(UTC)
        self._ahead = ahead if abs(ahead) > CLOCK_ROUNDING else timedelta()


@contextmanager
def connected(query: Query) -> Iterator[Api]:
    """Connect to the cluster that the options name, or in which this runs."""
    where = f"collector {query.name}"
    try:
        import httpx2
        import yaml
        from lightkube.config import client_adapter
        from lightkube.config.models import User
        from lightkube.core.exceptions import ConfigError
    except ModuleNotFoundError:
        do = "Install it: pip install 'trainfare[kubernetes]'"
        raise TrainfareError(where, "lightkube is not installed", do) from None
    timeout = httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    try:
        chosen = _configuration(query)
        chosen = chosen._replace(user=User(token=query.token) if query.token else chosen.user or User())
        client = client_adapter.Client(chosen, client_adapter.ConnectionParams(timeout=timeout))
    except (ConfigError, OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
        is_other = isinstance(error, TypeError | AttributeError)
        reason = "it is something else" if is_other else str(error).splitlines()[0]
        reason = f"it lacks {error}" if isinstance(error, KeyError) else reason
        do = 'Name a kubeconfig and a context of it: options = { kubeconfig = "~/.kube/config", context = "lab" }.'
        raise TrainfareError(where, f"the kubeconfig cannot be used: {reason}", do) from None
    with client:
        api = Api(client, query)
        try:
            yield api
        finally:
            api.closing.set()


def context_name(query: Query) -> str:
    """Return the context that is used; empty in a pod, which has a service account instead."""
    chosen = _configuration(query)
    return str(chosen.context_name) if chosen.fname else ""


def _configuration(query: Query) -> Any:
    """Return the settings of one context: of the file in the options, else as kubectl and service accounts find it."""
    from lightkube.config.kubeconfig import KubeConfig

    named = query.options.get("kubeconfig")
    if named:
        path = str(query.folder / named) if not named.startswith("~") else named
        return KubeConfig.from_file(path).get(query.options.get("context"))
    return KubeConfig.from_env().get(query.options.get("context"))


@dataclass(frozen=True)
class Place:
    """Where the API server has a kind."""

    kind: Kind
    path: str


def places(api: Api) -> list[Place]:
    """Return where this server has the kinds that are read; it may lack those of operators."""
    groups = {one["name"]: one for one in api.get("/apis")["groups"]}
    found = [Place(one, f"/api/v1/{one.plural}") for one in KINDS if not one.group]
    wanted = [one for one in KINDS if one.group in groups]
    for group in dict.fromkeys(one.group for one in wanted):
        missing = [one for one in wanted if one.group == group]
        preferred = groups[group]["preferredVersion"]["groupVersion"]
        for version in dict.fromkeys((preferred, *(one["groupVersion"] for one in groups[group]["versions"]))):
            if missing:
                served = _plurals(api, version)
                found += [Place(one, f"/apis/{version}/{one.plural}") for one in missing if one.plural in served]
                missing = [one for one in missing if one.plural not in served]
    return found


def _plurals(api: Api, version: str) -> set[str]:
    """Return the resources of a version; none if the server that extends the API with it is down."""
    try:
        return {one["name"] for one in api.get(f"/apis/{version}")["resources"]}
    except AbsentError:
        return set()
