"""AES-256-GCM of the system's OpenSSL, by ctypes: Python's standard library has none."""

from __future__ import annotations

import ctypes
import ctypes.util
import hashlib
import hmac
import os

from .errors import DataLoss, FailedPrecondition, Unavailable

KEY_BYTES = 32
_VERSION = 1
_NONCE_BYTES = 12
_TAG_BYTES = 16
_DOMAIN = b"bandana-device-store-1"
_SET_TAG = 0x11
_GET_TAG = 0x10


def _load() -> ctypes.CDLL:
    for name in ("libcrypto.so.3", "libcrypto.so.1.1", ctypes.util.find_library("crypto")):
        if name is None:
            continue
        try:
            lib = ctypes.CDLL(name)
        except OSError:
            continue
        pointer = ctypes.c_void_p
        lib.EVP_CIPHER_CTX_new.restype = pointer
        lib.EVP_aes_256_gcm.restype = pointer
        lib.EVP_CIPHER_CTX_free.argtypes = [pointer]
        lib.EVP_CipherInit_ex.argtypes = [pointer, pointer, pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
        lib.EVP_CipherUpdate.argtypes = [pointer, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int), ctypes.c_char_p, ctypes.c_int]
        lib.EVP_CipherFinal_ex.argtypes = [pointer, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)]
        lib.EVP_CIPHER_CTX_ctrl.argtypes = [pointer, ctypes.c_int, ctypes.c_int, ctypes.c_char_p]
        return lib
    raise FailedPrecondition("store: no libcrypto of OpenSSL is here, which seals what is private (Debian: libssl3)")


class Sealer:
    """Bytes open for the row and in the store for which they were sealed, and nowhere else.

    The format is that of the C++ SDK (client/src/store/key_sealer.h). Not thread-safe.
    """

    def __init__(self, key: bytes, identity: bytes):
        self._identity = identity
        self._lib = _load()
        self._key = hmac.digest(key, _DOMAIN + identity, hashlib.sha256)
        self._context = self._lib.EVP_CIPHER_CTX_new()
        if not self._context:
            raise Unavailable("device store: the cipher failed")

    def __del__(self) -> None:
        if getattr(self, "_context", None):
            self._lib.EVP_CIPHER_CTX_free(self._context)

    def _pass(self, nonce: bytes, associated: bytes, text: bytes, encrypt: int, tag: bytes = b"") -> bytes | None:
        lib, context, n = self._lib, self._context, ctypes.c_int()
        out = ctypes.create_string_buffer(len(text) + _TAG_BYTES)
        ok = (
            lib.EVP_CipherInit_ex(context, lib.EVP_aes_256_gcm(), None, self._key, nonce, encrypt) == 1
            and lib.EVP_CipherUpdate(context, None, n, associated, len(associated)) == 1
            and (not text or lib.EVP_CipherUpdate(context, out, n, text, len(text)) == 1)
            and (encrypt == 1 or lib.EVP_CIPHER_CTX_ctrl(context, _SET_TAG, _TAG_BYTES, tag) == 1)
        )
        rest = ctypes.create_string_buffer(_TAG_BYTES)
        if not ok or lib.EVP_CipherFinal_ex(context, rest, n) != 1:
            return None
        if encrypt == 0:
            return out.raw[: len(text)]
        if lib.EVP_CIPHER_CTX_ctrl(context, _GET_TAG, _TAG_BYTES, rest) != 1:
            return None
        return out.raw[: len(text)] + rest.raw

    def seal(self, row: bytes, plain: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._pass(nonce, self._identity + row, plain, 1)
        if sealed is None:
            raise Unavailable("device store: the cipher failed")
        return bytes([_VERSION]) + nonce + sealed

    def open(self, row: bytes, stored: bytes) -> bytes:
        plain = None
        if len(stored) >= 1 + _NONCE_BYTES + _TAG_BYTES and stored[0] == _VERSION:
            nonce, body, tag = stored[1:13], stored[13:-_TAG_BYTES], stored[-_TAG_BYTES:]
            plain = self._pass(nonce, self._identity + row, body, 0, tag)
        if plain is None:
            raise DataLoss("device store: sealed bytes were changed, or are of another row or store")
        return plain
