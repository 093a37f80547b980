"""Errors of the library, by their status. The text names the field; it never has a reward in it."""

from __future__ import annotations


class Error(Exception):
    """Base of all. `code` is the number of gRPC's status."""

    code = 2


class Cancelled(Error):
    """The client was closed meanwhile."""

    code = 1


class InvalidArgument(Error, ValueError):
    """A value has a wrong shape or is out of range."""

    code = 3


class DeadlineExceeded(Error, TimeoutError):
    """The server did not answer in time."""

    code = 4


class NotFound(Error, LookupError):
    """The server has no such model, arm or user."""

    code = 5


class AlreadyExists(Error):
    """The name is taken."""

    code = 6


class ResourceExhausted(Error):
    """The user's events are used up, the queue is full, or the server sends callers away."""

    code = 8


class FailedPrecondition(Error):
    """The model is weaker than the policy, or has changed; or the store is not durable."""

    code = 9


class Aborted(Error):
    """Something else came between; ask again."""

    code = 10


class Unimplemented(Error):
    """This build of the library does not have it."""

    code = 12


class Internal(Error):
    """A fault of the library."""

    code = 13


class Unavailable(Error, ConnectionError):
    """No server, or the store failed; nothing was sent."""

    code = 14


class DataLoss(Error):
    """The store is damaged, or an older copy of itself."""

    code = 15


class Unauthenticated(Error):
    """The server does not know the caller's token."""

    code = 16


class PermissionDenied(Error):
    """The server knows the caller and refuses the call."""

    code = 7


_BY_CODE = {kind.code: kind for kind in Error.__subclasses__()}


def error_of(code: int, message: str) -> Error:
    """The error of a status."""
    return _BY_CODE.get(code, Error)(message)
