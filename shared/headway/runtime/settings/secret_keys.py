"""The settings of connections and variables: their keys, and what an operator has provided."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import Field, SecretStr

from headway.domain.errors import SecretError, SettingsError
from headway.domain.hints import Action, act, hint
from headway.domain.variable import LARGEST_SECRET, Secret, SecretKind, provided
from headway.runtime.secrets import keyring
from headway.runtime.secrets.keyring import Key, KeyRing
from headway.runtime.settings import configuration
from headway.runtime.settings.configuration import Settings

KEYS_FILE: Final = "secret-keys"
"""The file of keys in HEADWAY_HOME, where the settings name none."""

UNFINISHED_KEYS_FILE: Final = f"{KEYS_FILE}.new"
"""What it is called until all of it is written."""

PREFIXES: Final[Mapping[SecretKind, str]] = {
    SecretKind.CONNECTION: "HEADWAY_CONN_",
    SecretKind.VARIABLE: "HEADWAY_VAR_",
}
"""Under which names the environment of a worker holds connections and variables."""

FOLDERS: Final[Mapping[SecretKind, str]] = {
    SecretKind.CONNECTION: "connections",
    SecretKind.VARIABLE: "variables",
}

_OWN: Final = ("HEADWAY_OIDC_CLIENT_SECRET", "HEADWAY_SECRETS_", *PREFIXES.values())


class SecretsSettings(Settings):
    """Where the keys are, and which folder holds what was mounted."""

    section = "secrets"
    secret = True
    keys: SecretStr | None = Field(
        None,
        description="Keys that encrypt connections and variables in the database: "
        "`id:key`, separated by commas. The first key encrypts, all keys decrypt. "
        "For workers, the commands of users, and parsers with `parse_time_secrets`.",
    )
    keys_file: Path | None = Field(
        None,
        description="A file of such keys, one a line; default: `secret-keys` in "
        "HEADWAY_HOME. The file is read each time a key is needed.",
    )
    folder: Path | None = Field(
        None,
        description="A folder with files `connections/ID` and `variables/KEY`, as "
        "Kubernetes mounts secrets. These files take precedence over the database. "
        "For workers.",
    )


@dataclass(frozen=True, slots=True)
class Provided:
    """What an operator has put into the environment, and into a folder, of this process."""

    environment: Mapping[str, str] = field(repr=False)
    folder: Path | None

    def has(self, kind: SecretKind, name: str) -> bool:
        """Tell whether anything has that name, which was checked."""
        return variable_of(kind, name) in self.environment or (
            self.folder is not None and (self.folder / FOLDERS[kind] / name).is_file()
        )

    def find(self, kind: SecretKind, name: str) -> Secret | None:
        """Return what has that name, which was checked; None if nothing has.

        SecretError when it cannot be read.
        """
        text = self.environment.get(variable_of(kind, name))
        if text is None and self.folder is not None:
            text = _content(self.folder / FOLDERS[kind] / name, f"{kind} {name!r}")
        return None if text is None else provided(kind, name, text)


def variable_of(kind: SecretKind, name: str) -> str:
    """Return the variable of the environment that may hold it: dashes and dots become `_`."""
    return PREFIXES[kind] + name.upper().replace("-", "_").replace(".", "_")


def provided_here() -> Provided:
    """Return what was provided to this process."""
    return Provided(configuration.environment(), configuration.read(SecretsSettings).folder)


def keys() -> KeyRing:
    """Return the keys as they are now; SecretError when there are none, SettingsError if bad."""
    given = configuration.read(SecretsSettings)
    if given.keys is not None:
        if given.keys_file is not None:
            raise SettingsError(
                "HEADWAY_SECRETS_KEYS and HEADWAY_SECRETS_KEYS_FILE are both set; keep one."
            )
        return keyring.parse(given.keys.get_secret_value(), "HEADWAY_SECRETS_KEYS")
    file = given.keys_file or configuration.home() / KEYS_FILE
    if given.keys_file is None and not file.exists():
        raise SecretError(
            "There is no key to encrypt and decrypt connections and variables with. Set "
            "HEADWAY_SECRETS_KEYS or HEADWAY_SECRETS_KEYS_FILE of what is to use it, or give its "
            f"HEADWAY_HOME a file {KEYS_FILE}.",
            hint=hint(act(Action.CREATE_KEY), " makes a key."),
        )
    try:
        return keyring.parse(file.read_text(encoding="utf-8"), str(file))
    except OSError as error:
        raise SettingsError(f"The keys in {file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise SettingsError(f"{file} is no text, and holds no keys.") from None


def keys_file() -> Path:
    """Return the file that keys are in, or would be; SettingsError if they are not in a file."""
    given = configuration.read(SecretsSettings)
    if given.keys is not None:
        raise SettingsError("The keys are in HEADWAY_SECRETS_KEYS, not in a file; add it there.")
    return given.keys_file or configuration.home() / KEYS_FILE


def check() -> None:
    """Raise SettingsError if keys were given and cannot be used, or the folder is none."""
    given = configuration.read(SecretsSettings)
    if given.keys is not None or given.keys_file is not None:
        keys()
    if given.folder is not None and not given.folder.is_dir():
        raise SettingsError(f"HEADWAY_SECRETS_FOLDER: {given.folder} is no folder.")


def make_keys_file(home: Path) -> None:
    """Make a file of one new key in a home that has none, unless the settings give keys."""
    given, file = configuration.read(SecretsSettings), home / KEYS_FILE
    if given.keys is None and given.keys_file is None and not file.exists():
        write_keys(file, [keyring.new_key()])


def write_keys(file: Path, ring: list[Key]) -> None:
    """Put keys into a file that only this account may read, in one step."""
    whole = file.with_name(f"{file.name}.new")
    whole.unlink(missing_ok=True)
    with os.fdopen(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write("".join(f"{key.to_line()}\n" for key in ring))
        opened.flush()
        os.fsync(opened.fileno())
    whole.replace(file)


def private_paths() -> tuple[Path, ...]:
    """Return where keys and mounted secrets lie, if the settings say so."""
    given = configuration.read(SecretsSettings)
    return tuple(path.absolute() for path in (given.keys_file, given.folder) if path is not None)


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a process that has no use for keys, connections and variables."""
    return {name: value for name, value in environment.items() if not name.startswith(_OWN)}


def _content(file: Path, what: str) -> str | None:
    """Return a mounted file without the end of its last line; None where there is none."""
    try:
        with file.open("rb") as opened:
            data = opened.read(LARGEST_SECRET + 1)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise SecretError(f"The file of the {what} cannot be read: {error.strerror}.") from None
    if len(data) > LARGEST_SECRET:
        raise SecretError(f"The file of the {what} has more than {LARGEST_SECRET:,} bytes.")
    try:
        return data.decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise SecretError(f"The file of the {what} is no text in UTF-8.") from None
