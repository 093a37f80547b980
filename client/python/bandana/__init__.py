"""bandana: recommends arms, and learns what users like without learning what they did.

    client = bandana.Client("http://127.0.0.1:7073", "articles", store="device.db")
    shown = client.select("user-1", [[1.0, 0.0], [0.0, 1.0]])
    client.report(shown, 1.0)

The reward is randomized on this device before anything is sent; docs/sdk.md is the guide.
"""

from . import aio, errors
from .admin import Admin
from .client import Client, Store
from .errors import (
    Aborted,
    AlreadyExists,
    Cancelled,
    DataLoss,
    DeadlineExceeded,
    Error,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from .types import (
    Arms,
    AtMost,
    BackendAnswer,
    Boost,
    Delivery,
    Leave,
    ModelInfo,
    Options,
    Pin,
    Policy,
    Range,
    RankedArm,
    Readings,
    Rules,
    Selection,
    Spent,
    Stats,
    Stream,
)

__all__ = [name for name in dir() if not name.startswith("_")]
