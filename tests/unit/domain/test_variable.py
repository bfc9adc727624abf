import pytest

from headway.domain.connection import Connection
from headway.domain.errors import DagError, SecretError
from headway.domain.variable import (
    LARGEST_SECRET,
    Secret,
    SecretKind,
    StoredVariable,
    from_text,
    kind_of,
    provided,
    to_text,
)

CANARY = "canary-8f1e"


@pytest.mark.parametrize(
    "secret",
    [
        StoredVariable(key="v", value=""),
        StoredVariable(key="v", value='{"a": "ä"}\n', plain=True),
        Connection(conn_id="c", conn_type="t", password=CANARY, extra={"a": [1]}),
    ],
)
def test_what_is_kept_is_the_same_when_it_is_read_again(secret: Secret) -> None:
    kind, name = kind_of(secret)

    assert from_text(kind, name, to_text(secret)) == secret


def test_what_somebody_wrote_is_read_as_it_is() -> None:
    assert provided(SecretKind.VARIABLE, "v", '{"value": 1}') == StoredVariable(
        key="v", value='{"value": 1}'
    )
    assert provided(SecretKind.CONNECTION, "c", "t://h") == Connection(
        conn_id="c", conn_type="t", host="h"
    )


@pytest.mark.parametrize(
    ("value", "plain", "secrets"),
    [
        (CANARY, False, {CANARY}),
        (CANARY, True, set()),
        ("", False, set()),
        (f" {CANARY}\n", False, {f" {CANARY}\n", CANARY}),
        ('{"a": ["x", 1], "pin": 4711, "token": 4712}', False, {"x", "4712"}),
        ('{"secret": false, "token": true, "a": "False", "b": null}', False, set()),
        ("[" * 5000, False, {"[" * 5000}),
        ("4711", False, {"4711"}),
    ],
)
def test_what_no_log_may_show(value: str, plain: bool, secrets: set[str]) -> None:
    found = StoredVariable(key="v", value=value, plain=plain).secrets()

    assert found - {value, value.strip()} == secrets - {value, value.strip()}
    assert (value in found) == bool(value and not plain)


@pytest.mark.regression
@pytest.mark.parametrize("word", ["false", "true", "False\n", "null", "none", "off"])
def test_a_word_of_every_log_is_no_secret(word: str) -> None:
    assert not StoredVariable(key="v", value=word).secrets()
    connection = Connection(conn_id="c", conn_type="t", extra={"token": word.strip()})
    assert not connection.secrets()


def test_only_a_plain_one_shows_itself() -> None:
    assert repr(StoredVariable(key="v", value=CANARY)) == "Variable('v', '***')"
    assert repr(StoredVariable(key="v", value="eu", plain=True)) == "Variable('v', 'eu')"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (f"{CANARY}\0", "NUL character"),
        (f"{CANARY}\ud800", "half a surrogate pair"),
        (CANARY * LARGEST_SECRET, "it may have 262,144"),
    ],
)
def test_what_cannot_be_kept_is_refused_without_being_quoted(value: str, message: str) -> None:
    with pytest.raises(SecretError, match=message) as caught:
        StoredVariable(key="v", value=value)

    assert CANARY not in str(caught.value)


def test_a_value_of_the_largest_size_is_kept() -> None:
    """Its size is that in UTF-8."""
    assert StoredVariable(key="v", value="ä" * (LARGEST_SECRET // 2)).value
    with pytest.raises(SecretError, match="has 262,145 bytes"):
        StoredVariable(key="v", value="a" * (LARGEST_SECRET + 1))


def test_a_key_may_be_the_name_of_a_file() -> None:
    with pytest.raises(DagError, match="The variable id"):
        StoredVariable(key="a/b", value="")
