"""The durable rows in SQLite: the file of the C++ SDK, which may open it in turn (docs/formats/device_store.md, "Device store")."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import struct
import threading
from dataclasses import dataclass

from . import _abi
from ._seal import KEY_BYTES, Sealer
from .errors import DataLoss, Error, FailedPrecondition, InvalidArgument, Unavailable

_APPLICATION_ID = 0x62646E61  # "bdna"
_FORMAT = 3
_KEY_CHECK = b"bandana device store"


@dataclass(frozen=True)
class Form:
    name: str
    columns: tuple[str, ...]
    keys: int
    sealed: int
    empty_in_clear: bool
    digested: bool


def forms(library: _abi.Library) -> list[Form]:
    out: list[Form] = []
    while True:
        table = _abi.sized(_abi.Table)
        try:
            library.table_form(len(out), table)
        except InvalidArgument:
            return out
        names = tuple(table.names[i].decode() for i in range(table.columns))
        out.append(Form(table.name.decode(), names, table.keys, table.sealed, bool(table.empty_in_clear), bool(table.digested)))


class Anchor:
    """The file beside the store that remembers how far it had come (client/src/store/anchor.h)."""

    MAGIC, SLOT = b"bdanchr1", 512

    def __init__(self, fd: int, mark: dict):
        self._fd, self.mark = fd, mark

    @classmethod
    def encode(cls, mark: dict) -> bytes:
        numbers = struct.pack("<4Q", mark["position"], mark["run"], mark["events"], mark["streams"])
        body = cls.MAGIC + mark["identity"] + numbers + mark["ledger_hash"]
        return (body + hashlib.sha256(body).digest()[:8]).ljust(cls.SLOT, b"\0")

    @classmethod
    def decode(cls, slot: bytes) -> dict | None:
        body, checksum = slot[:88], slot[88:96]
        if body[:8] != cls.MAGIC or hashlib.sha256(body).digest()[:8] != checksum:
            return None
        position, run, events, streams = struct.unpack("<4Q", body[24:56])
        return {"identity": body[8:24], "position": position, "run": run, "events": events, "streams": streams, "ledger_hash": body[56:88]}

    @classmethod
    def open(cls, path: str) -> "Anchor | None":
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as why:
            raise Unavailable(f"device store: cannot open {path}: {why.strerror}") from why
        raw = os.pread(fd, 2 * cls.SLOT, 0)
        marks = [mark for at in (0, cls.SLOT) if (mark := cls.decode(raw[at : at + cls.SLOT]))]
        if not marks:
            os.close(fd)
            raise DataLoss(f"device store: {path} is damaged")
        return cls(fd, max(marks, key=lambda mark: mark["position"]))

    @classmethod
    def create(cls, path: str, mark: dict) -> "Anchor":
        _write_durably(path, cls.encode(mark) * 2)
        anchor = cls.open(path)
        assert anchor is not None
        return anchor

    def write(self, mark: dict) -> None:
        """Call it only with what is durable. A failed write costs nothing but the notice."""
        try:
            os.pwrite(self._fd, self.encode(mark), mark["position"] % 2 * self.SLOT)
        except OSError:
            return
        self.mark = mark

    def close(self) -> None:
        try:
            os.fdatasync(self._fd)
        finally:
            os.close(self._fd)


def _sync_folder(path: str) -> None:
    fd = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_durably(path: str, content: bytes) -> None:
    draft = f"{path}.new-{os.getpid()}"
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(fd, view) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(draft, path)
        _sync_folder(path)
    except OSError as why:
        raise Unavailable(f"device store: cannot write {path}: {why.strerror}") from why


# A process's POSIX locks on a file go when any descriptor of it is closed, so a file that is open
# here must not even be looked at a second time.
_claims: set[tuple[int, int]] = set()
_refused: set[str] = set()
_claims_lock = threading.Lock()


class Rows:
    """One process at a time has the file. Not thread-safe."""

    def __init__(self, library: _abi.Library, path: str, key: bytes):
        if key and len(key) != KEY_BYTES:
            raise InvalidArgument(f"store: key must have {KEY_BYTES} bytes, got {len(key)}")
        if sqlite3.sqlite_version_info < (3, 37):
            raise FailedPrecondition(f"store: SQLite 3.37 or newer is needed, this Python has {sqlite3.sqlite_version}")
        self._library, self.path, self._forms = library, path, forms(library)
        self._claim: tuple[int, int] | None = None
        self._database: sqlite3.Connection | None = None
        self._anchor: Anchor | None = None
        self.broken = False
        self.taken_over = False
        try:
            self._open(key)
        except BaseException as why:
            self.close()
            locked = isinstance(why, sqlite3.OperationalError) and "locked" in str(why)
            if locked or isinstance(why, Unavailable):
                with _claims_lock:
                    _refused.add(path)
            if locked:
                raise Unavailable(f"device store: {path} is owned by another process") from why
            if isinstance(why, sqlite3.DatabaseError):
                raise DataLoss(f"device store: {path}: {why}") from why
            raise

    # --- opening ---------------------------------------------------------------------------------

    def _open(self, key: bytes) -> None:
        if not os.path.lexists(self.path):
            self._create()
        try:
            info = os.stat(self.path)
        except OSError as why:
            raise Unavailable(f"device store: cannot open {self.path}: {why.strerror}") from why
        self._take((info.st_dev, info.st_ino))
        self._check_header(info)
        self._database = self._connect(self.path)
        self._execute("PRAGMA locking_mode=EXCLUSIVE")
        if self._database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise DataLoss(f"{self.path}: device store: damaged")
        self._execute("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA secure_delete=ON", "PRAGMA wal_autocheckpoint=0",
                      "PRAGMA temp_store=MEMORY", "BEGIN EXCLUSIVE", "COMMIT", _kept_table())  # fmt: skip
        with _claims_lock:
            self.taken_over = self.path in _refused
            _refused.discard(self.path)
        row = self._database.execute("SELECT identity, run, key_check FROM store").fetchone()
        if row is None or len(row[0]) != 16:
            raise DataLoss("device store: no identity")
        self.identity, run, check = row
        self._sealer = Sealer(self._key_of(key, run == 0), self.identity)
        if run > 0:
            try:
                opened = self._sealer.open(_KEY_CHECK, check)
            except DataLoss:
                opened = b""
            if opened != _KEY_CHECK:
                raise FailedPrecondition("device store: the key is not the one it was sealed with")
        else:
            self._database.execute("UPDATE store SET key_check = ?", (self._sealer.seal(_KEY_CHECK, _KEY_CHECK),))
        self._texts = [self._texts_of(form) for form in self._forms]

    def _take(self, file: tuple[int, int]) -> None:
        with _claims_lock:
            if file in _claims:
                raise Unavailable(f"device store: {self.path} is owned by another Store of this process")
            _claims.add(file)
        self._claim = file

    @staticmethod
    def _connect(path: str) -> sqlite3.Connection:
        return sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=64)

    def _execute(self, *statements: str) -> None:
        assert self._database is not None
        for statement in statements:
            self._database.execute(statement)

    def _create(self) -> None:
        """Builds the whole file under another name and links it into place."""
        anchor = Anchor.open(self.path + ".anchor")
        if anchor is not None:
            position = anchor.mark["position"]
            anchor.close()
            if position > 0:
                raise DataLoss(
                    f"device store: {self.path} is gone, and with it the ledger: restore it, or remove {self.path}.anchor to begin anew"
                )
            os.unlink(self.path + ".anchor")
        draft = f"{self.path}.new-{os.getpid()}"
        try:
            os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
            database = self._connect(draft)
            try:
                database.execute("PRAGMA synchronous=FULL")
                database.executescript("BEGIN IMMEDIATE;" + _schema())
                random = os.urandom(48)
                database.execute("INSERT INTO store VALUES (1, ?, 0, 0, 0, 0, 0, 0, ?, x'')", (random[:16], random[16:]))
                database.execute(f"PRAGMA application_id={_APPLICATION_ID}")
                database.execute(f"PRAGMA user_version={_FORMAT}")
                database.execute("COMMIT")
            finally:
                database.close()
            try:
                os.link(draft, self.path)
            except FileExistsError:
                pass
            _sync_folder(self.path)
        except OSError as why:
            raise Unavailable(f"device store: cannot create {self.path}: {why.strerror}") from why
        finally:
            if os.path.exists(draft):
                os.unlink(draft)

    def _check_header(self, info: os.stat_result) -> None:
        """Without SQLite: opening a foreign database could already roll it back."""
        if not stat.S_ISREG(info.st_mode):
            raise DataLoss(f"{self.path} is not a file")
        with open(self.path, "rb") as file:
            header = file.read(100)
        if len(header) < 100 or header[:16] != b"SQLite format 3\0" or struct.unpack(">i", header[68:72])[0] != _APPLICATION_ID:
            raise DataLoss(f"{self.path} is not a bandana device store")
        version = struct.unpack(">i", header[60:64])[0]
        if version != _FORMAT:
            raise DataLoss(
                f"{self.path} has device store format {version}, this version reads {_FORMAT}; the C++ SDK migrates format 2 when it opens it"
            )
        if info.st_mode & 0o077:
            os.chmod(self.path, 0o600)

    def _key_of(self, key: bytes, fresh: bool) -> bytes:
        path = self.path + ".key"
        try:
            with open(path, "rb") as file:
                own = file.read()
        except FileNotFoundError:
            own = b""
        if own and len(own) != KEY_BYTES:
            raise DataLoss(f"{path} is damaged: it is no key")
        if key:
            if not fresh and own:
                raise FailedPrecondition("device store: it was made without a key: key must be empty")
            if own:
                os.unlink(path)
            return key
        if not own and not fresh:
            raise FailedPrecondition(
                f"device store: it is sealed: key is needed, or, if it was made without one, the file {path}"
            )
        if not own:
            own = os.urandom(KEY_BYTES)
            _write_durably(path, own)
        return own

    def check_anchor(self, position: int, mark_of_rows) -> dict | None:
        """The newest mark that is known. `mark_of_rows`: of a store that has none yet."""
        path = self.path + ".anchor"
        anchor = Anchor.open(path)
        if anchor is None:
            if position > 0:
                raise DataLoss(f"device store: {path} is missing: {self.path} may be an older copy of itself")
            anchor = Anchor.create(path, mark_of_rows())
        if anchor.mark["identity"] != self.identity:
            anchor.close()
            raise DataLoss(f"device store: {path} is of another store than {self.path}")
        self._anchor = anchor
        return anchor.mark

    # --- rows ------------------------------------------------------------------------------------

    @staticmethod
    def _texts_of(form: Form) -> tuple[str, str, str]:
        columns = form.columns + (("digest",) if form.digested else ())
        keys = form.columns[: form.keys]
        updates = ", ".join(f"{name} = excluded.{name}" for name in columns[form.keys :])
        return (
            f"SELECT {', '.join(columns)} FROM {form.name}",
            f"INSERT INTO {form.name}({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
            f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {updates}",
            f"DELETE FROM {form.name} WHERE " + " AND ".join(f"{name} = ?" for name in keys),
        )

    def _seal_name(self, table: int, cells) -> bytes:
        memory, size = _abi.Memory(), _abi.c_size_t(4096)
        out = _abi.ctypes.create_string_buffer(size.value)
        array, count = memory.cells(cells)
        self._library.seal_name(table, array, count, out, size)
        return out.raw[: size.value]

    def _digest(self, table: int, cells) -> bytes:
        memory, out = _abi.Memory(), _abi.ctypes.create_string_buffer(8)
        array, count = memory.cells(cells)
        self._library.row_digest(table, array, count, out)
        return out.raw

    def all(self):
        """Each row as (table, cells), private cells opened."""
        assert self._database is not None
        for table, form in enumerate(self._forms):
            for row in self._database.execute(self._texts[table][0]):
                cells = list(row)
                if form.digested and cells.pop() != self._digest(table, cells):
                    raise DataLoss(f"device store: a row is damaged ({form.name})")
                if form.sealed >= 0 and (cells[form.sealed] or not form.empty_in_clear):
                    cells[form.sealed] = self._sealer.open(self._seal_name(table, cells), cells[form.sealed])
                yield table, cells

    def commit(self, changes) -> None:
        """Makes all of (table, erased, cells) durable, or none of it. Errors: UNAVAILABLE; then look at `broken`."""
        assert self._database is not None
        if self.broken:
            raise Unavailable("device store: I/O failed before; open it anew")
        try:
            self._database.execute("BEGIN IMMEDIATE")
            for table, erased, cells in changes:
                if erased:
                    self._database.execute(self._texts[table][2], cells)
                    continue
                self._database.execute(self._texts[table][1], self._stored(table, list(cells)))
        except (sqlite3.Error, Error) as why:
            self._roll_back()
            raise Unavailable(f"device store: {why}") from why
        try:
            self._database.execute("COMMIT")
        except sqlite3.Error as why:
            # Nobody knows what is on the disk.
            self.broken = True
            raise Unavailable(f"device store: {why}") from why

    def _roll_back(self) -> None:
        assert self._database is not None
        try:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
        except sqlite3.Error:
            self.broken = True

    def _stored(self, table: int, cells: list) -> list:
        form = self._forms[table]
        if form.sealed >= 0 and (cells[form.sealed] or not form.empty_in_clear):
            cells[form.sealed] = self._sealer.seal(self._seal_name(table, cells), cells[form.sealed])
        if form.digested:
            cells.append(self._digest(table, cells))
        return cells

    def write_mark(self, mark: dict) -> None:
        if self._anchor is not None:
            self._anchor.write(mark)

    def scrub(self) -> None:
        """Moves the log into the file, so that older versions of what was erased go."""
        try:
            if self._database is not None and not self.broken:
                self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error:
            pass

    def close(self) -> None:
        if self._anchor is not None:
            self._anchor.close()
            self._anchor = None
        if self._database is not None:
            self.scrub()
            self._database.close()
            self._database = None
        if self._claim is not None:
            with _claims_lock:
                _claims.discard(self._claim)
            self._claim = None


def _schema() -> str:
    with open(os.path.join(os.path.dirname(__file__), "schema.sql"), encoding="utf-8") as file:
        return file.read()


def _kept_table() -> str:
    """Files of before have no table of what is kept; the schema's last statement makes it."""
    schema = _schema()
    return schema[schema.index("CREATE TABLE IF NOT EXISTS") :]
