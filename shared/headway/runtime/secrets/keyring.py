"""The keys by which connections and variables are encrypted where they are stored.

AES-256 in GCM.  What a value is of, its kind and its name, is authenticated with it: one
that was moved to another name does not open.
"""

import base64
import binascii
import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from headway.domain.errors import SecretError, SettingsError
from headway.domain.hints import Action, act, hint

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
_MAKE_ONE: Final = hint(act(Action.CREATE_KEY), " makes one.")
_KEY_ID: Final = re.compile(r"[A-Za-z0-9_.\-]{1,64}")


@dataclass(frozen=True, slots=True)
class Key:
    """A key and the name that is stored with whatever it encrypts."""

    key_id: str
    secret: bytes = field(repr=False)

    def to_line(self) -> str:
        """Return the form that `parse` reads."""
        return f"{self.key_id}:{base64.urlsafe_b64encode(self.secret).decode()}"


@dataclass(frozen=True, slots=True)
class Sealed:
    """An encrypted value: by which key, and a nonce with the ciphertext behind it."""

    key_id: str
    data: bytes


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Keys in order: the first one encrypts, each one decrypts what it has encrypted."""

    keys: tuple[Key, ...]

    @property
    def first(self) -> str:
        """The id of the key that encrypts."""
        return self.keys[0].key_id

    def seal(self, kind: str, name: str, text: str) -> Sealed:
        """Encrypt the text for that name."""
        key, nonce = self.keys[0], secrets.token_bytes(NONCE_BYTES)
        data = _cipher(key.secret).encrypt(nonce, text.encode(), _about(kind, name, key.key_id))
        return Sealed(key.key_id, nonce + data)

    def open(self, kind: str, name: str, sealed: Sealed) -> str:
        """Decrypt what was sealed for that name; SecretError when it was not, or cannot be."""
        secret = next((key.secret for key in self.keys if key.key_id == sealed.key_id), None)
        if secret is None:
            known = ", ".join(key.key_id for key in self.keys)
            raise SecretError(
                f"The {kind} {name!r} is encrypted with the key {sealed.key_id!r}, which is not "
                f"among the keys here ({known}). Add that key to HEADWAY_SECRETS_KEYS or its file."
            )
        from cryptography.exceptions import InvalidTag

        nonce, data = sealed.data[:NONCE_BYTES], sealed.data[NONCE_BYTES:]
        try:
            text = _cipher(secret).decrypt(nonce, data, _about(kind, name, sealed.key_id))
            return text.decode()
        except (InvalidTag, ValueError):
            raise SecretError(
                f"The {kind} {name!r} cannot be decrypted: the key {sealed.key_id!r} is another "
                "one than that which has encrypted it, or what is stored was changed."
            ) from None


def new_key(key_id: str | None = None) -> Key:
    """Return a new key, with a random id unless it is given one; SettingsError if that is none."""
    return Key(_checked_id(key_id or f"k{secrets.token_hex(4)}"), secrets.token_bytes(KEY_BYTES))


def parse(text: str, where: str) -> KeyRing:
    """Read keys, `id:key` each, apart by commas or lines; `#` begins a line that says nothing.

    SettingsError, which quotes no key, when they cannot be read.
    """
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    words = [word.strip() for line in lines for word in line.split(",") if word.strip()]
    keys = tuple(_key(number, word, where) for number, word in enumerate(words, 1))
    if not keys:
        raise SettingsError(f"{where} holds no key.", hint=_MAKE_ONE)
    if twice := _twice(key.key_id for key in keys):
        raise SettingsError(f"{where} has two keys with the id {twice!r}; remove one.")
    return KeyRing(keys)


def _key(number: int, word: str, where: str) -> Key:
    key_id, _, encoded = word.partition(":")
    try:
        secret = base64.b64decode(encoded.encode("ascii"), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        secret = b""
    if len(secret) != KEY_BYTES:
        raise SettingsError(
            f"{where}: key {number} is not id:key with a key of {KEY_BYTES} bytes in base64.",
            hint=_MAKE_ONE,
        )
    return Key(_checked_id(key_id), secret)


def _checked_id(key_id: str) -> str:
    if not _KEY_ID.fullmatch(key_id):
        raise SettingsError(
            "The id of a key has 1 to 64 letters, digits, dashes, dots and underscores."
        )
    return key_id


def _twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]


def _cipher(secret: bytes) -> "AESGCM":
    # Here and not above: only who opens or seals needs a library of this size in memory.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(secret)


def _about(kind: str, name: str, key_id: str) -> bytes:
    return json.dumps([kind, name, key_id]).encode()
