"""Keys: what they seal opens by them alone, under its own name, and unchanged."""

import base64

import pytest

from headway.domain.errors import SecretError, SettingsError
from headway.runtime.secrets.keyring import Key, KeyRing, Sealed, new_key, parse

OLD, NEW = Key("old", bytes(range(32))), Key("new", bytes(range(1, 33)))
CANARY = "canary-8f1e"


def test_what_is_sealed_opens_again() -> None:
    ring = KeyRing((NEW, OLD))
    sealed = ring.seal("connection", "there", CANARY)

    assert sealed.key_id == ring.first == "new"
    assert CANARY.encode() not in sealed.data
    assert ring.open("connection", "there", sealed) == CANARY
    assert ring.seal("connection", "there", CANARY).data != sealed.data


def test_an_older_key_still_opens_what_it_has_sealed() -> None:
    sealed = KeyRing((OLD,)).seal("variable", "v", CANARY)

    assert KeyRing((NEW, OLD)).open("variable", "v", sealed) == CANARY


def test_without_its_key_it_does_not_open_and_the_key_is_named() -> None:
    sealed = KeyRing((OLD,)).seal("variable", "v", CANARY)

    with pytest.raises(SecretError, match=r"with the key 'old', which is not among .*\(new\)"):
        KeyRing((NEW,)).open("variable", "v", sealed)


def test_another_key_of_the_same_id_does_not_open_it() -> None:
    sealed = KeyRing((Key("k", OLD.secret),)).seal("variable", "v", CANARY)

    with pytest.raises(SecretError, match="the key 'k' is another one") as caught:
        KeyRing((Key("k", NEW.secret),)).open("variable", "v", sealed)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(("kind", "name"), [("connection", "w"), ("variable", "v")])
def test_moved_to_another_name_it_does_not_open(kind: str, name: str) -> None:
    ring = KeyRing((OLD,))
    sealed = ring.seal("connection", "v", CANARY)

    with pytest.raises(SecretError, match="cannot be decrypted"):
        ring.open(kind, name, sealed)


def test_under_the_name_of_another_key_it_does_not_open() -> None:
    same = KeyRing((Key("a", OLD.secret), Key("b", OLD.secret)))
    sealed = same.seal("connection", "v", CANARY)

    with pytest.raises(SecretError, match="cannot be decrypted"):
        same.open("connection", "v", Sealed("b", sealed.data))


@pytest.mark.parametrize("place", [0, 11, 12, -1])
def test_changed_or_cut_it_does_not_open(place: int) -> None:
    ring = KeyRing((OLD,))
    data = bytearray(ring.seal("connection", "v", CANARY).data)
    data[place] ^= 1

    for broken in (bytes(data), bytes(data)[:place], b""):
        with pytest.raises(SecretError, match="cannot be decrypted"):
            ring.open("connection", "v", Sealed("old", broken))


def test_keys_are_read_from_lines_and_commas() -> None:
    text = f"# of 2026\n{NEW.to_line()}\n\n {OLD.to_line()} ,\n"

    assert parse(text, "here").keys == (NEW, OLD)
    assert parse(f"{NEW.to_line()},{OLD.to_line()}", "here").keys == (NEW, OLD)
    standard = f"std:{base64.b64encode(bytes([255] * 32)).decode()}"  # with / and not _
    assert standard.count("/")
    with pytest.raises(SettingsError, match="key 1 is not id:key"):
        parse(standard.replace("/", "!"), "here")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "here holds no key"),
        ("# nothing\n", "here holds no key"),
        (CANARY, "here: key 1 is not id:key with a key of 32 bytes"),
        (f"{NEW.to_line()},k:{CANARY}", "here: key 2 is not id:key"),
        (f"k:{base64.b64encode(b'short').decode()}", "key 1 is not id:key"),
        (f"a b:{NEW.to_line().partition(':')[2]}", "The id of a key has 1 to 64"),
        (f":{NEW.to_line().partition(':')[2]}", "The id of a key has 1 to 64"),
        (f"{NEW.to_line()},{NEW.to_line()}", "two keys with the id 'new'"),
        ("k:ü", "key 1 is not id:key"),
    ],
)
def test_what_is_no_key_is_refused_and_not_quoted(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        parse(text, "here")

    assert CANARY not in str(caught.value)


def test_a_new_key_is_like_no_other() -> None:
    first, second = new_key(), new_key()

    assert first.key_id != second.key_id
    assert first.secret != second.secret
    assert parse(first.to_line(), "here").keys == (first,)
    assert new_key("mine").key_id == "mine"
    assert "secret" not in repr(first)
    with pytest.raises(SettingsError, match="The id of a key"):
        new_key("a:b")
