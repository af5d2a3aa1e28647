"""Access: users with passwords, API tokens, and the sessions of signed-in users.

Only the SHA-256 of tokens and sessions is stored: they are 256 random bits, which cannot be guessed from it. Passwords
are not random, so they are stored as argon2 hashes. Every change is a row of the audit log, in the same transaction.
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
"""Lets secret scanners recognize a token."""
MIN_PASSWORD_LENGTH = 10
LAST_USE_SECONDS = 300
"""The precision of the recorded last use of a token."""


@dataclass(frozen=True)
class User:
    """A person. Without a password, only a proxy or an identity provider can authenticate them."""

    name: str
    role: str
    visibility: tuple[str, ...] | None
    has_password: bool
    created_at: datetime
    disabled_at: datetime | None


@dataclass(frozen=True)
class Token:
    """Everything about a token except the token itself."""

    id: int
    name: str
    role: str
    visibility: tuple[str, ...] | None
    scopes: tuple[str, ...]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def is_valid(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class Access:
    """Users, tokens and sessions of a catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Users

    def add_user(self, name: str, role: str, visibility: Sequence[str] | None, password: str | None, by: str) -> User:
        if not name or not name.isprintable() or name != name.strip():
            raise TrainfareError("user", f"{name!r} is not a valid name", "Use the name they sign in with.")
        stored = hash_password(password) if password is not None else None
        row = {"name": name, "role": role, "visibility": _as_json(visibility), "password": stored, "created_at": _now()}
        with self._database.write() as connection:
            if _user(connection, name):
                do = "Change the password with: trainfare user password; or disable the user."
                raise TrainfareError("user", f"user '{name}' already exists", do)
            connection.execute(insert(USERS), row)
            audit.append(connection, by, "user added", {"user": name, "role": role, "visibility": visibility})
            return _as_user(_required(connection, name))

    def set_password(self, name: str, password: str, by: str) -> None:
        """Change a user's password and end their sessions."""
        stored = hash_password(password)
        with self._database.write() as connection:
            _required(connection, name)
            connection.execute(update(USERS).where(USERS.c.name == name).values(password=stored))
            _end_sessions(connection, name)
            audit.append(connection, by, "password changed", {"user": name})

    def disable(self, name: str, by: str) -> None:
        """Disable a user and end their sessions. This is permanent, so that a name always means one person."""
        with self._database.write() as connection:
            if _required(connection, name)["disabled_at"]:
                raise TrainfareError("user", f"'{name}' is already disabled", "Add another user instead.")
            connection.execute(update(USERS).where(USERS.c.name == name).values(disabled_at=_now()))
            _end_sessions(connection, name)
            audit.append(connection, by, "user disabled", {"user": name})

    def users(self) -> list[User]:
        with self._database.read() as connection:
            return [_as_user(row) for row in connection.execute(select(USERS).order_by(USERS.c.name)).mappings()]

    def user(self, name: str) -> User | None:
        """A user who may sign in; None for anybody else."""
        with self._database.read() as connection:
            row = _user(connection, name)
        return _as_user(row) if row and not row["disabled_at"] else None

    def authenticate(self, name: str, password: str) -> User | None:
        """The user, if the password is correct. An unknown name takes as long as a wrong password."""
        from argon2 import PasswordHasher
        from argon2.exceptions import VerificationError

        with self._database.read() as connection:
            row = _user(connection, name)
        stored = row["password"] if row and not row["disabled_at"] else None
        try:
            PasswordHasher().verify(stored or _NO_PASSWORD, password)
        except VerificationError:
            return None
        return _as_user(row) if row and stored else None

    def sync_external_user(self, name: str, role: str, visibility: Sequence[str] | None, by: str) -> User | None:
        """Add or update a user whom an identity provider authenticated, with the role they have there now; None if
        disabled here.
        """
        now = {"role": role, "visibility": _as_json(visibility)}
        with self._database.write() as connection:
            row = _user(connection, name)
            if row and row["disabled_at"]:
                return None
            details = {"user": name, "role": role, "visibility": visibility}
            if row is None:
                connection.execute(insert(USERS), {"name": name, **now, "created_at": _now()})
                audit.append(connection, by, "user added", details)
            elif {key: row[key] for key in now} != now:
                connection.execute(update(USERS).where(USERS.c.name == name).values(now))
                audit.append(connection, by, "user changed", details)
            return _as_user(_required(connection, name))

    # Tokens

    def create_token(
        self,
        name: str,
        role: str,
        visibility: Sequence[str] | None,
        scopes: Sequence[str],
        expires_at: datetime | None,
        by: str,
    ) -> str:
        """Create and return a token. It cannot be retrieved later."""
        token = PREFIX + secrets.token_urlsafe(32)
        row = {
            "name": name,
            "token_sha256": _digest(token),
            "role": role,
            "visibility": _as_json(visibility),
            "scopes": json.dumps(list(scopes)),
            "created_at": _now(),
            "created_by": by,
            "expires_at": expires_at,
        }
        details = {"token": name, "role": role, "visibility": visibility, "scopes": list(scopes)}
        with self._database.write() as connection:
            connection.execute(insert(TOKENS), row)
            audit.append(connection, by, "token created", details | {"expires": expires_at and expires_at.isoformat()})
        return token

    def tokens(self) -> list[Token]:
        with self._database.read() as connection:
            return [_as_token(row) for row in connection.execute(select(TOKENS).order_by(TOKENS.c.id)).mappings()]

    def revoke(self, number: int, by: str) -> Token:
        with self._database.write() as connection:
            found = connection.execute(select(TOKENS).where(TOKENS.c.id == number)).mappings().first()
            if found is None or found["revoked_at"]:
                what = f"there is no token {number}" if found is None else f"token {number} is already revoked"
                raise TrainfareError("token", what, "List them with: trainfare token list")
            connection.execute(update(TOKENS).where(TOKENS.c.id == number).values(revoked_at=_now()))
            audit.append(connection, by, "token revoked", {"token": found["name"], "number": number})
            return _as_token(found)

    def find_token(self, text: str) -> Token | None:
        """The token with this secret, if it is valid. Its last use is recorded to within a few minutes."""
        with self._database.read() as connection:
            row = connection.execute(select(TOKENS).where(TOKENS.c.token_sha256 == _digest(text))).mappings().first()
        found = _as_token(row) if row else None
        if found is None or not found.is_valid(_now()):
            return None
        if found.last_used_at is None or _now() - found.last_used_at > timedelta(seconds=LAST_USE_SECONDS):
            self._record_use(found)
        return found

    def _record_use(self, token: Token) -> None:
        try:
            with self._database.write() as connection:
                connection.execute(update(TOKENS).where(TOKENS.c.id == token.id).values(last_used_at=_now()))
        except IncompleteError:
            return  # Another writer holds the database; the next use is recorded instead.

    # Sessions

    def start_session(self, user: User, hours: int) -> str:
        """Sign a user in and return the session secret, which goes into their cookie and nowhere else."""
        session, now = secrets.token_urlsafe(32), _now()
        row = {"session_sha256": _digest(session), "user_name": user.name, "created_at": now}
        with self._database.write() as connection:
            connection.execute(insert(SESSIONS), row | {"expires_at": now + timedelta(hours=hours)})
            audit.append(connection, user.name, "signed in", {})
        return session

    def session_user(self, session: str) -> User | None:
        query = (
            select(USERS)
            .join(SESSIONS, SESSIONS.c.user_name == USERS.c.name)
            .where(SESSIONS.c.session_sha256 == _digest(session), SESSIONS.c.ended_at.is_(None))
            .where(SESSIONS.c.expires_at > _now(), USERS.c.disabled_at.is_(None))
        )
        with self._database.read() as connection:
            row = connection.execute(query).mappings().first()
        return _as_user(row) if row else None

    def end_session(self, session: str) -> None:
        with self._database.write() as connection:
            mine = SESSIONS.c.session_sha256 == _digest(session)
            name = connection.execute(select(SESSIONS.c.user_name).where(mine, SESSIONS.c.ended_at.is_(None))).scalar()
            if name is not None:
                connection.execute(update(SESSIONS).where(mine).values(ended_at=_now()))
                audit.append(connection, name, "signed out", {})


def hash_password(password: str) -> str:
    """The hash of a password, as it is stored."""
    from argon2 import PasswordHasher

    if len(password) < MIN_PASSWORD_LENGTH:
        do = f"Use at least {MIN_PASSWORD_LENGTH} characters. A few words are easy to remember."
        raise TrainfareError("password", "it is too short", do)
    return PasswordHasher().hash(password)


_NO_PASSWORD = "$argon2id$v=19$m=65536,t=3,p=4$c29tZXRoaW5nIHNhbHR5$NTcjR1uGhGJtFJvH7G7Z4+Hj3H0Sz7SzMGnm0C6vUqQ"
"""Compared with the password of an unknown user: nothing matches it, and the comparison takes the usual time."""


def _now() -> datetime:
    return datetime.now(UTC)


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _as_json(visibility: Sequence[str] | None) -> str | None:
    return None if visibility is None else json.dumps(list(visibility))


def _visibility(text: str | None) -> tuple[str, ...] | None:
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
    return User(
        row["name"], row["role"], _visibility(row["visibility"]), has_password, row["created_at"], row["disabled_at"]
    )


def _as_token(row: RowMapping) -> Token:
    values: dict[str, Any] = {
        name: value for name, value in row.items() if name not in ("token_sha256", "visibility", "scopes")
    }
    return Token(**values, visibility=_visibility(row["visibility"]), scopes=tuple(json.loads(row["scopes"])))
