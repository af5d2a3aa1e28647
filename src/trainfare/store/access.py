"""Who may come in: people with passwords, tokens for programs, and the sessions of those who signed in.

Of tokens and sessions only the SHA-256 is kept: they are 256 random bits, which nobody can guess from it. Passwords are not
random, so they are kept as argon2 makes of them. Every change is a row of the audit log, in the same transaction.
"""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, RowMapping, insert, select, update

from trainfare.errors import IncompleteError, TrainfareError
from trainfare.store import audit
from trainfare.store.database import Database
from trainfare.store.schema import SESSIONS, TOKENS, USERS

PREFIX = "trainfare_"
"""So that tools that look for lost secrets know one."""
SHORTEST_PASSWORD = 10
USE_SECONDS = 300
"""How exactly the last use of a token is remembered."""


@dataclass(frozen=True)
class User:
    """A person. Without a password only a proxy or an identity provider can say that it is them."""

    name: str
    role: str
    sees: tuple[str, ...] | None
    has_password: bool
    created_at: datetime
    disabled_at: datetime | None


@dataclass(frozen=True)
class Token:
    """What is known of a token, but for the token itself."""

    id: int
    name: str
    role: str
    sees: tuple[str, ...] | None
    scopes: tuple[str, ...]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def holds(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class Access:
    """Users, tokens and sessions of a catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Users

    def add_user(self, name: str, role: str, sees: Sequence[str] | None, password: str | None, by: str) -> User:
        if not name or not name.isprintable() or name != name.strip():
            raise TrainfareError("user", f"{name!r} is not a name", "Use the name they sign in with.")
        kept = hashed(password) if password is not None else None
        row = {"name": name, "role": role, "sees": _as_json(sees), "password": kept, "created_at": _now()}
        with self._database.write() as connection:
            if _user(connection, name):
                do = "Change it with: trainfare user password, or disable it."
                raise TrainfareError("user", f"there is a user '{name}' already", do)
            connection.execute(insert(USERS), row)
            audit.append(connection, by, "user added", {"user": name, "role": role, "sees": sees})
            return _as_user(_required(connection, name))

    def set_password(self, name: str, password: str, by: str) -> None:
        """Give a user another password; whoever is signed in with the old one is signed out."""
        kept = hashed(password)
        with self._database.write() as connection:
            _required(connection, name)
            connection.execute(update(USERS).where(USERS.c.name == name).values(password=kept))
            _end_sessions(connection, name)
            audit.append(connection, by, "password changed", {"user": name})

    def disable(self, name: str, by: str) -> None:
        """Let a user in no more, and sign them out. Never undone, so that a name stays one person."""
        with self._database.write() as connection:
            if _required(connection, name)["disabled_at"]:
                raise TrainfareError("user", f"'{name}' is disabled already", "Add another user instead.")
            connection.execute(update(USERS).where(USERS.c.name == name).values(disabled_at=_now()))
            _end_sessions(connection, name)
            audit.append(connection, by, "user disabled", {"user": name})

    def users(self) -> list[User]:
        with self._database.read() as connection:
            return [_as_user(row) for row in connection.execute(select(USERS).order_by(USERS.c.name)).mappings()]

    def user(self, name: str) -> User | None:
        """A user who may come in; None for anybody else."""
        with self._database.read() as connection:
            row = _user(connection, name)
        return _as_user(row) if row and not row["disabled_at"] else None

    def with_password(self, name: str, password: str) -> User | None:
        """The user, if that is their password. A name that is not there takes as long as a wrong password."""
        from argon2 import PasswordHasher
        from argon2.exceptions import VerificationError

        with self._database.read() as connection:
            row = _user(connection, name)
        kept = row["password"] if row and not row["disabled_at"] else None
        try:
            PasswordHasher().verify(kept or _NO_PASSWORD, password)
        except VerificationError:
            return None
        return _as_user(row) if row and kept else None

    def arrived(self, name: str, role: str, sees: Sequence[str] | None, by: str) -> User | None:
        """A person for whom an identity provider answers, with the role they have there now; None if they are disabled here."""
        now = {"role": role, "sees": _as_json(sees)}
        with self._database.write() as connection:
            row = _user(connection, name)
            if row and row["disabled_at"]:
                return None
            told = {"user": name, "role": role, "sees": sees}
            if row is None:
                connection.execute(insert(USERS), {"name": name, **now, "created_at": _now()})
                audit.append(connection, by, "user added", told)
            elif {key: row[key] for key in now} != now:
                connection.execute(update(USERS).where(USERS.c.name == name).values(now))
                audit.append(connection, by, "user changed", told)
            return _as_user(_required(connection, name))

    # Tokens

    def create_token(
        self,
        name: str,
        role: str,
        sees: Sequence[str] | None,
        scopes: Sequence[str],
        expires_at: datetime | None,
        by: str,
    ) -> str:
        """A new token. This is the only time that it can be seen."""
        token = PREFIX + secrets.token_urlsafe(32)
        row = {
            "name": name,
            "token_sha256": _digest(token),
            "role": role,
            "sees": _as_json(sees),
            "scopes": json.dumps(list(scopes)),
            "created_at": _now(),
            "created_by": by,
            "expires_at": expires_at,
        }
        told = {"token": name, "role": role, "sees": sees, "scopes": list(scopes)}
        with self._database.write() as connection:
            connection.execute(insert(TOKENS), row)
            audit.append(connection, by, "token created", told | {"expires": expires_at and expires_at.isoformat()})
        return token

    def tokens(self) -> list[Token]:
        with self._database.read() as connection:
            return [_as_token(row) for row in connection.execute(select(TOKENS).order_by(TOKENS.c.id)).mappings()]

    def revoke(self, number: int, by: str) -> Token:
        with self._database.write() as connection:
            found = connection.execute(select(TOKENS).where(TOKENS.c.id == number)).mappings().first()
            if found is None or found["revoked_at"]:
                what = f"there is no token {number}" if found is None else f"token {number} is revoked already"
                raise TrainfareError("token", what, "List them with: trainfare token list")
            connection.execute(update(TOKENS).where(TOKENS.c.id == number).values(revoked_at=_now()))
            audit.append(connection, by, "token revoked", {"token": found["name"], "number": number})
            return _as_token(found)

    def of_token(self, text: str) -> Token | None:
        """The token this is, if it still counts; that it was used is remembered to some minutes."""
        with self._database.read() as connection:
            row = connection.execute(select(TOKENS).where(TOKENS.c.token_sha256 == _digest(text))).mappings().first()
        found = _as_token(row) if row else None
        if found is None or not found.holds(_now()):
            return None
        if found.last_used_at is None or _now() - found.last_used_at > timedelta(seconds=USE_SECONDS):
            self._used(found)
        return found

    def _used(self, token: Token) -> None:
        try:
            with self._database.write() as connection:
                connection.execute(update(TOKENS).where(TOKENS.c.id == token.id).values(last_used_at=_now()))
        except IncompleteError:
            return  # somebody writes for long; the next use is remembered instead

    # Sessions

    def start_session(self, user: User, hours: int) -> str:
        """Sign a user in; what comes back goes into their cookie, and nowhere else."""
        session, now = secrets.token_urlsafe(32), _now()
        row = {"session_sha256": _digest(session), "user_name": user.name, "created_at": now}
        with self._database.write() as connection:
            connection.execute(insert(SESSIONS), row | {"expires_at": now + timedelta(hours=hours)})
            audit.append(connection, user.name, "signed in", {})
        return session

    def of_session(self, session: str) -> User | None:
        wanted = (
            select(USERS)
            .join(SESSIONS, SESSIONS.c.user_name == USERS.c.name)
            .where(SESSIONS.c.session_sha256 == _digest(session), SESSIONS.c.ended_at.is_(None))
            .where(SESSIONS.c.expires_at > _now(), USERS.c.disabled_at.is_(None))
        )
        with self._database.read() as connection:
            row = connection.execute(wanted).mappings().first()
        return _as_user(row) if row else None

    def end_session(self, session: str) -> None:
        with self._database.write() as connection:
            mine = SESSIONS.c.session_sha256 == _digest(session)
            name = connection.execute(select(SESSIONS.c.user_name).where(mine, SESSIONS.c.ended_at.is_(None))).scalar()
            if name is not None:
                connection.execute(update(SESSIONS).where(mine).values(ended_at=_now()))
                audit.append(connection, name, "signed out", {})


def hashed(password: str) -> str:
    """A password as it is kept."""
    from argon2 import PasswordHasher

    if len(password) < SHORTEST_PASSWORD:
        do = f"Use at least {SHORTEST_PASSWORD} characters; a few words are easy to keep in mind."
        raise TrainfareError("password", "it is too short", do)
    return PasswordHasher().hash(password)


_NO_PASSWORD = "$argon2id$v=19$m=65536,t=3,p=4$c29tZXRoaW5nIHNhbHR5$NTcjR1uGhGJtFJvH7G7Z4+Hj3H0Sz7SzMGnm0C6vUqQ"
"""What the password of somebody unknown is compared with: nothing matches it, and comparing takes as long as any."""


def _now() -> datetime:
    return datetime.now(UTC)


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _as_json(sees: Sequence[str] | None) -> str | None:
    return None if sees is None else json.dumps(list(sees))


def _seen(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(json.loads(text))


def _user(connection: Connection, name: str) -> RowMapping | None:
    return connection.execute(select(USERS).where(USERS.c.name == name)).mappings().first()


def _required(connection: Connection, name: str) -> RowMapping:
    if row := _user(connection, name):
        return row
    raise TrainfareError("user", f"there is no user '{name}'", "List them with: trainfare user list")


def _end_sessions(connection: Connection, name: str) -> None:
    open_ = (SESSIONS.c.user_name == name, SESSIONS.c.ended_at.is_(None))
    connection.execute(update(SESSIONS).where(*open_).values(ended_at=_now()))


def _as_user(row: RowMapping) -> User:
    has_password = row["password"] is not None
    return User(row["name"], row["role"], _seen(row["sees"]), has_password, row["created_at"], row["disabled_at"])


def _as_token(row: RowMapping) -> Token:
    told: dict[str, Any] = {
        name: value for name, value in row.items() if name not in ("token_sha256", "sees", "scopes")
    }
    return Token(**told, sees=_seen(row["sees"]), scopes=tuple(json.loads(row["scopes"])))
