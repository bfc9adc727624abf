"""What an operator provides: keys, and connections and variables beside the database."""

from pathlib import Path

import pytest

from headway.domain.connection import Connection
from headway.domain.errors import SecretError, SettingsError
from headway.domain.hints import Action, act, hint
from headway.domain.variable import LARGEST_SECRET, SecretKind, StoredVariable
from headway.runtime.secrets import keyring
from headway.runtime.settings import secret_keys
from headway.runtime.settings.secret_keys import Provided

CANARY = "canary-8f1e"
KEY = keyring.new_key("k1")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    for name in ("KEYS", "KEYS_FILE", "FOLDER"):
        monkeypatch.delenv(f"HEADWAY_SECRETS_{name}", raising=False)
    return tmp_path


@pytest.fixture
def mounted(tmp_path: Path) -> Provided:
    """A folder as Kubernetes mounts it: each file a link into a folder of this moment."""
    for folder in ("connections", "variables"):
        (tmp_path / folder / "..data").mkdir(parents=True)
    return Provided({}, tmp_path)


def put(provided: Provided, folder: str, name: str, content: bytes) -> None:
    assert provided.folder is not None
    (provided.folder / folder / "..data" / name).write_bytes(content)
    (provided.folder / folder / name).symlink_to(Path("..data") / name)


def test_the_environment_holds_connections_and_variables() -> None:
    given = {"HEADWAY_CONN_MY_DB_1": f"db://me:{CANARY}@h", "HEADWAY_VAR_REGION": "eu"}
    provided = Provided(given, None)

    for name in ("my_db_1", "MY_DB_1", "my-db.1"):
        found = provided.find(SecretKind.CONNECTION, name)
        assert isinstance(found, Connection)
        assert (found.conn_id, found.password) == (name, CANARY)
        assert provided.has(SecretKind.CONNECTION, name)
    assert provided.find(SecretKind.VARIABLE, "region") == StoredVariable(key="region", value="eu")
    assert provided.find(SecretKind.VARIABLE, "my_db_1") is None
    assert not provided.has(SecretKind.VARIABLE, "my_db_1")
    assert CANARY not in repr(provided)


def test_files_hold_them_too(mounted: Provided) -> None:
    put(mounted, "connections", "my-db", b'{"conn_type": "db", "host": "h"}\n')
    put(mounted, "variables", "text", b" two\nlines\n")

    assert mounted.find(SecretKind.CONNECTION, "my-db") == Connection(
        conn_id="my-db", conn_type="db", host="h"
    )
    assert mounted.find(SecretKind.VARIABLE, "text") == StoredVariable(
        key="text", value=" two\nlines"
    )
    assert mounted.has(SecretKind.VARIABLE, "text")
    assert mounted.find(SecretKind.VARIABLE, "my-db") is None
    assert mounted.find(SecretKind.VARIABLE, "..data") is None
    assert not mounted.has(SecretKind.VARIABLE, "..data")


def test_the_environment_comes_before_the_files(mounted: Provided) -> None:
    put(mounted, "variables", "v", b"file")

    both = Provided({"HEADWAY_VAR_V": "environment"}, mounted.folder)
    assert both.find(SecretKind.VARIABLE, "v") == StoredVariable(key="v", value="environment")


def test_a_file_that_is_too_large_or_no_text_is_refused(mounted: Provided) -> None:
    put(mounted, "variables", "large", b"x" * (LARGEST_SECRET + 1))
    put(mounted, "variables", "binary", b"\xff\xfe")

    with pytest.raises(SecretError, match="The file of the variable 'large' has more than"):
        mounted.find(SecretKind.VARIABLE, "large")
    with pytest.raises(SecretError, match="The file of the variable 'binary' is no text"):
        mounted.find(SecretKind.VARIABLE, "binary")


def test_keys_come_from_the_environment_or_a_file_or_the_home(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SecretError, match="There is no key to encrypt and decrypt") as caught:
        secret_keys.keys()
    assert caught.value.hint == hint(act(Action.CREATE_KEY), " makes a key.")

    secret_keys.make_keys_file(home)
    made = secret_keys.keys()
    assert (home / "secret-keys").stat().st_mode & 0o777 == 0o600
    secret_keys.make_keys_file(home)
    assert secret_keys.keys() == made

    named = home / "elsewhere"
    secret_keys.write_keys(named, [KEY])
    monkeypatch.setenv("HEADWAY_SECRETS_KEYS_FILE", str(named))
    assert secret_keys.keys().keys == (KEY,)
    assert secret_keys.private_paths() == (named,)

    monkeypatch.setenv("HEADWAY_SECRETS_KEYS", KEY.to_line())
    with pytest.raises(SettingsError, match="both set; keep one"):
        secret_keys.keys()
    monkeypatch.delenv("HEADWAY_SECRETS_KEYS_FILE")
    assert secret_keys.keys().keys == (KEY,)


def test_no_file_is_made_where_keys_are_given(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_SECRETS_KEYS", KEY.to_line())
    secret_keys.make_keys_file(home)

    assert not (home / "secret-keys").exists()


def test_a_file_of_keys_replaces_the_one_there_in_one_step(home: Path) -> None:
    file = home / "keys"
    file.write_text("a broken one")
    file.chmod(0o644)
    (home / "keys.new").write_text("left behind")

    secret_keys.write_keys(file, [KEY])

    assert keyring.parse(file.read_text(), "file").keys == (KEY,)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in home.iterdir()] == ["keys"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("KEYS", f"k:{CANARY}", "HEADWAY_SECRETS_KEYS: key 1 is not id:key"),
        ("KEYS_FILE", "/nowhere/keys", "The keys in /nowhere/keys cannot be read"),
        ("FOLDER", "/nowhere/folder", "HEADWAY_SECRETS_FOLDER: /nowhere/folder is no folder"),
    ],
)
def test_what_is_given_and_of_no_use_is_refused_at_the_start(
    name: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret_keys.check()
    monkeypatch.setenv(f"HEADWAY_SECRETS_{name}", value)

    with pytest.raises(SettingsError, match=message) as caught:
        secret_keys.check()
    assert CANARY not in str(caught.value)


def test_other_services_are_started_without_secrets() -> None:
    given = {
        "HEADWAY_SECRETS_KEYS": "k", "HEADWAY_SECRETS_FOLDER": "f", "HEADWAY_CONN_A": "c",
        "HEADWAY_VAR_A": "v", "HEADWAY_HOME": "h", "PATH": "p",
    }  # fmt: skip

    assert secret_keys.without_secrets(given) == {"HEADWAY_HOME": "h", "PATH": "p"}
