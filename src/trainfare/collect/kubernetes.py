"""Kubernetes: the live API, by list and watch.

- Each kind is listed once, by pages; from then on its changes are watched, from the resource version of the last commit
  on. If the server no longer knows that version (410), the kind is listed again: what is missing then ended between the
  time through which everything was known and that list.
- A pod's times are those that Kubernetes writes into it. Only a removal is dated nowhere: it counts from when it was
  reported, if the watch was open at that time. If it was not, because the collector was down, the pod ended between
  the last time everything was known and the time at which the watch was opened again.
- Versions are compared as numbers, which Kubernetes guarantees since 1.35 and all servers have always done.
- Without news for a few seconds after all watches were opened, everything up to then counts as complete.
- The cursor holds the uid of the cluster, too: a kubeconfig that suddenly names another one records nothing.
"""

import hashlib
import json
import math
import queue
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from trainfare.collect import kubernetes_kinds
from trainfare.collect.kubernetes_api import (
    AbsentError,
    Api,
    BrokenError,
    ExpiredError,
    Place,
    RefusedError,
    connected,
    places,
)
from trainfare.collect.kubernetes_setup import prepare as prepare
from trainfare.collect.protocol import Batch, Observed, Op, Query
from trainfare.errors import TrainfareError, UnreachableError
from trainfare.sources.schedulers import kubernetes_recorded as recorded
from trainfare.sources.schedulers.kubernetes_recorded import SYSTEM as SYSTEM

OPTIONS: tuple[str, ...] = ("cluster", "context", "kubeconfig")
DESCRIPTION = "Kubernetes: pods, nodes, claims and the owners of pods, by list and watch"

MOST_EVENTS = 1000
"""The most events in one batch."""
GATHER_SECONDS = 1.0
QUIET_SECONDS = 2.0
"""How long all watches must be silent before everything counts as known."""
HEARTBEAT_SECONDS = 10.0
"""How often progress is committed while nothing happens."""
PAUSE_SECONDS = 0.2
"""Between the end of a watch and its next opening."""
PATIENCE_SECONDS = 60.0
"""How long a run goes on after its time if news keep coming."""
UNNOTICED = timedelta(seconds=1)
"""A pause between two watches that is shorter than this leaves no doubt about when something happened."""


@dataclass(frozen=True)
class _News:
    """An event of a watch."""

    place: Place
    type: str
    object: dict[str, Any]
    at: datetime
    """When it was reported."""
    is_old: bool
    """Whether it happened before the watch was opened."""
    is_late: bool
    """Whether that may have been long before: at any time after `since`."""
    since: datetime | None


@dataclass(frozen=True)
class _Opened:
    """A watch was opened. With doubt, something may have happened long before, and is under way."""

    place: Place
    has_doubt: bool


@dataclass(frozen=True)
class _Expired:
    """A watch cannot be opened any more: the kind has to be listed."""

    place: Place


_Message = _News | _Opened | _Expired


@dataclass
class _State:
    """What is known, as it will be committed."""

    uid: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    through: datetime | None = None

    def cursor(self) -> str:
        through = self.through.isoformat() if self.through else None
        return json.dumps({"cluster": self.uid, "versions": self.versions, "through": through}, sort_keys=True)


def collect(query: Query) -> Iterator[Batch]:
    """Yield what the cluster has, then what changes; what is not permitted is left out, and an error at the end."""
    with connected(query) as api:
        recorder = _Recorder(api, query)
        yield from recorder.listed()
        yield from recorder.watched()
        recorder.require_permission()


class _Recorder:
    """Records one cluster."""

    def __init__(self, api: Api, query: Query) -> None:
        self._api, self._query, self._where = api, query, f"collector {query.name}"
        self._cluster = query.options.get("cluster", query.name)
        self._state = self._known_cluster()
        self._refused: list[Place] = []
        self._said: dict[str, bytes] = {}
        """What the watch last said of each object that is not over: most of its events say the same once more."""
        self._news: queue.Queue[_Message | BaseException] = queue.Queue(MOST_EVENTS)
        try:
            self._places = places(api)
        except (RefusedError, AbsentError):
            do = "Check the address in the kubeconfig, and that the role system:discovery is bound as usual."
            raise UnreachableError(self._where, "the API server does not show which kinds it has", do) from None

    def _known_cluster(self) -> _State:
        """Return the state of the last commit, provided that it is of this cluster."""
        try:
            uid = str(self._api.get(f"/api/v1/namespaces/{kubernetes_kinds.CLUSTER_ID}")["metadata"]["uid"])
        except (RefusedError, AbsentError):
            uid = ""
        if not self._query.cursor:
            return _State(uid)
        known = json.loads(self._query.cursor)
        if uid and known["cluster"] and uid != known["cluster"]:
            do = "Give each cluster a collector of its own, with its own name."
            raise TrainfareError(self._where, "the recordings of this name are of another cluster", do)
        through = datetime.fromisoformat(known["through"]) if known["through"] else None
        return _State(uid or known["cluster"], dict(known["versions"]), through)

    def require_permission(self) -> None:
        """Raise an error that names what may not be read, and the rule that permits it."""
        if not self._refused:
            return
        names = " and ".join(one.kind.resource for one in self._refused)
        rules = "\n  ".join(kubernetes_kinds.rules(one.kind for one in self._refused))
        do = f"Add to the rules of its cluster role:\n  {rules}"
        raise UnreachableError(self._where, f"the cluster does not permit it to list and watch {names}", do)

    # Lists

    def listed(self) -> Iterator[Batch]:
        """List every kind that was never listed."""
        started = self._api.now()
        missing = [one for one in self._places if one.kind.name not in self._state.versions]
        for place in missing:
            yield from self._list(place)
        if len(missing) == len(self._places) and not self._refused:
            self._state.through = started
            yield Batch((), self._state.cursor(), started)

    def _list(self, place: Place) -> Iterator[Batch]:
        """Yield the pages of a kind, then what the recording has and the list has not."""
        seen: set[str] = set()
        version = ""
        try:
            for items, listed_at in self._api.list(place.path):
                found = tuple(self._observed(place, Op.SEEN, one) for one in items)
                seen |= {one.uid for one in found}
                version = listed_at
                yield Batch(found, self._state.cursor(), None)
        except ExpiredError:  # the next page took too long to be asked for
            do = "Run it again; the API server compacts its history too often for a list of this size."
            raise UnreachableError(self._where, f"the list of {place.kind.resource} expired", do) from None
        except (RefusedError, AbsentError):
            self._refused.append(place)
            return
        gone = [uid for uid in self._query.open_uids(place.kind.name) if uid not in seen]
        self._state.versions[place.kind.name] = version
        missed = tuple(self._gone(place, uid, self._state.through) for uid in gone)
        yield Batch(missed, self._state.cursor(), None)

    # Watches

    def watched(self) -> Iterator[Batch]:
        """Follow all kinds until everything is known, and for as long as the query says."""
        followed = [one for one in self._places if one.kind.name in self._state.versions]
        for place in followed:
            self._follow(place, self._state.through)
        # The kinds of which older events may be under way, with the time of the last one; not opened yet: never.
        behind = {one.kind.name: math.inf for one in followed}
        until, committed = time.monotonic() + self._query.wait_seconds, time.monotonic()
        while behind or time.monotonic() < until:
            arrived = self._gather()
            _settle(behind, arrived, time.monotonic())
            for one in arrived:
                if isinstance(one, _Expired):
                    yield from self._list_again(one.place)
            news = [one for one in arrived if isinstance(one, _News)]
            is_current = not behind and len(arrived) < MOST_EVENTS
            if news or (is_current and time.monotonic() > committed + HEARTBEAT_SECONDS):
                yield self._batch(news, is_current)
                committed = time.monotonic()
            if time.monotonic() > until + PATIENCE_SECONDS:
                return
        yield self._batch([], is_current=True)

    def _follow(self, place: Place, since: datetime | None) -> None:
        _Watch(self._api, place, self._state.versions[place.kind.name], since, self._news).start()

    def _list_again(self, place: Place) -> Iterator[Batch]:
        """List a kind whose version has expired, and follow it from there."""
        before = self._api.now()
        yield from self._list(place)
        if place not in self._refused:
            self._follow(place, before)

    def _gather(self) -> list[_Message]:
        """Return what arrives within a moment; an error of a watch is raised."""
        arrived: list[_Message] = []
        until = time.monotonic() + GATHER_SECONDS
        while len(arrived) < MOST_EVENTS and (left := until - time.monotonic()) > 0:
            try:
                one = self._news.get(timeout=left)
            except queue.Empty:
                break
            if isinstance(one, BaseException):
                raise one
            arrived.append(one)
        return arrived

    def _batch(self, news: Iterable[_News], is_current: bool) -> Batch:
        """Return what happened as a batch; if that is everything, it is complete until a moment ago."""
        observed: list[Observed] = []
        for one in news:
            observed += self._happened(one)
            self._state.versions[one.place.kind.name] = str(one.object["metadata"]["resourceVersion"])
        through = self._api.now() - timedelta(seconds=QUIET_SECONDS)
        if is_current:
            self._state.through = max(through, self._state.through or through)
        is_complete = is_current and not self._refused
        return Batch(tuple(observed), self._state.cursor(), self._state.through if is_complete else None)

    def _happened(self, one: _News) -> list[Observed]:
        """Return what an event says. Of a removal while nobody listened, the last state, then that it is gone."""
        if one.type == "BOOKMARK":
            return []
        last = self._observed(one.place, Op.SEEN, one.object)
        if one.type != "DELETED":
            return [] if self._is_repeated(last) else [last]
        self._said.pop(last.uid, None)
        if last.op is Op.ENDED:
            return [last]
        if one.is_late:
            return [last, self._gone(one.place, last.uid, one.since)]
        return [self._observed(one.place, Op.DELETED, one.object, one.at)]

    def _is_repeated(self, one: Observed) -> bool:
        """Return whether the watch said the same before."""
        if one.op is Op.ENDED:
            self._said.pop(one.uid, None)
            return False
        said = hashlib.blake2b(msgspec.json.encode(one.fields), digest_size=16).digest()
        is_repeated = self._said.get(one.uid) == said
        self._said[one.uid] = said
        return is_repeated

    # Observations

    def _observed(self, place: Place, op: Op, one: dict[str, Any], at: datetime | None = None) -> Observed:
        try:
            fields = recorded.allowed(one, place.kind.name)
            found = recorded.op_of(one) if op is Op.SEEN else op
            metadata = one["metadata"]
            version = str(metadata["resourceVersion"])
            return Observed(self._cluster, place.kind.name, str(metadata["uid"]), found, fields, at, version)
        except (KeyError, TypeError, AttributeError) as error:
            do = "Check the address in the kubeconfig."
            what = f"the API server lists {place.kind.resource} that are not objects: {error}"
            raise UnreachableError(self._where, what, do) from None

    def _gone(self, place: Place, uid: str, since: datetime | None) -> Observed:
        return Observed(self._cluster, place.kind.name, uid, Op.GONE, {}, since)


class _Watch(threading.Thread):
    """Follows one kind: puts what happens into a queue."""

    def __init__(self, api: Api, place: Place, version: str, since: datetime | None, news: "queue.Queue[Any]") -> None:
        super().__init__(daemon=True)
        self._api, self._place, self._version, self._since, self._into = api, place, version, since, news

    def run(self) -> None:
        try:
            while not self._api.closing.is_set():
                self._follow()
                self._api.closing.wait(PAUSE_SECONDS)
        except ExpiredError:
            self._put(_Expired(self._place))
        except (RefusedError, AbsentError):
            what = f"the cluster no longer permits it to watch {self._place.kind.resource}"
            self._put(UnreachableError(self._api.where, what, "Run it again: it then says what to permit."))
        except Exception as error:
            self._put(error)

    def _follow(self) -> None:
        """Follow one watch until it ends."""
        before = self._number(self._api.version(self._place.path))
        has_doubt = self._since is None or self._api.now() - self._since > UNNOTICED
        self._put(_Opened(self._place, has_doubt))
        try:
            for event in self._api.watch(self._place.path, self._version):
                self._version, now = event.version, self._api.now()
                is_old = self._number(self._version) <= before
                late = is_old and has_doubt
                self._put(_News(self._place, event.type, event.object, now, is_old, late, self._since))
                if self._api.closing.is_set():
                    return
                self._since = now if not is_old or event.is_progress else self._since
        except BrokenError:
            return
        self._since = self._api.now()

    def _number(self, version: str) -> int:
        try:
            return int(version)
        except ValueError:
            do = "Check what serves this API: versions of Kubernetes are numbers."
            raise UnreachableError(self._api.where, f"the resource version '{version}' is no number", do) from None

    def _put(self, one: Any) -> None:
        """Hand something over, unless nobody takes it any more."""
        while not self._api.closing.is_set():
            try:
                self._into.put(one, timeout=1)
            except queue.Full:
                continue
            return


def _settle(behind: dict[str, float], arrived: Iterable[_Message], now: float) -> None:
    """Note which kinds are up to date: something new happened, or nothing did for a while."""
    for one in arrived:
        if isinstance(one, _Expired) or (one.has_doubt if isinstance(one, _Opened) else one.is_old):
            behind[one.place.kind.name] = now
        else:
            behind.pop(one.place.kind.name, None)
    for name in [name for name, since in behind.items() if now > since + QUIET_SECONDS]:
        del behind[name]
