"""What a Masker hides, and that the cuts of a stream make no difference."""

import json
import logging
import sys
from base64 import b64encode, encodebytes, urlsafe_b64encode
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway.runtime.masking import MASK, SHORTEST_SECRET, Masker, leaves, pursuit, secrets
from headway.runtime.masking.forms import derived, raw

SECRET = 'p@ss "wörd"\\/+ 42'

LETTERS = st.text('ab=/+ \n"\\ü', min_size=SHORTEST_SECRET, max_size=12)


def masker(*secrets: str) -> Masker:
    it = Masker()
    it.prepare(*secrets)
    return it


def streamed(it: Masker, pieces: list[bytes]) -> bytes:
    return b"".join([*(it.feed(piece) for piece in pieces), it.flush()])


def cut(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(at % (len(data) + 1) for at in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def encodings(secret: str, before: str = "", after: str = "") -> list[str]:
    """Write a secret in every way that is to be found, amid other text."""
    whole = (before + secret + after).encode()
    return [
        before + secret + after,
        json.dumps(before + secret + after),
        json.dumps(before + secret + after, ensure_ascii=False),
        repr(before + secret + after),
        quote(whole),
        quote(whole, safe=""),
        quote_plus(whole),
        b64encode(whole).decode(),
        urlsafe_b64encode(whole).decode(),
        b64encode(whole).decode().rstrip("="),
    ]


@pytest.mark.parametrize("text", encodings(SECRET))
def test_a_secret_is_masked_however_it_is_written(text: str) -> None:
    assert masker(SECRET).mask(f"<{text}>").replace('"', "").replace("'", "") == "<***>"


@pytest.mark.parametrize("after", ["", "x", "xy", "xyz"])
@pytest.mark.parametrize("before", ["", "u", "us", "use", "user:"])
def test_of_a_secret_within_base64_no_whole_character_is_left(before: str, after: str) -> None:
    secret = "correct horse battery staple"
    encoded = b64encode((before + secret + after).encode()).decode()

    left = masker(secret).mask(encoded).split("***")

    assert len(left) == 2
    # at most the characters that stand for what is before and after it, and share a few bits
    assert len(left[0]) <= -(-len(before) * 8 // 6)
    assert len(left[1]) <= -(-len(after) * 8 // 6) + (4 if after else 0)


def test_escapes_of_a_url_may_be_of_small_letters() -> None:
    assert masker("pass/wörd").mask("u=pass%2fw%c3%b6rd") == "u=***"


def test_lines_of_a_secret_are_masked_one_by_one_too() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADAN\nBgkq\n-----END KEY-----\n"
    it = masker(key)

    assert it.mask(key) == "***"
    assert it.mask("2026: MIIEvQIBADAN;") == "2026: ***;"
    assert it.mask("BgkqX"), "a line of a few characters is in many a text"


def test_one_line_of_wrapped_base64_is_masked_where_it_is_a_secret_of_its_own() -> None:
    wrapped = encodebytes(b"k" * 60).decode()

    assert masker(wrapped).mask(wrapped.splitlines()[0]) == "***"


def test_secrets_that_overlap_are_masked_as_one() -> None:
    it = masker("abcde", "deXYZ")

    assert it.mask("1 abcdeXYZ 2") == "1 *** 2"
    assert streamed(masker("abcde", "deXYZ"), [b"1 abcde", b"XY", b"Z 2"]) == b"1 *** 2"
    assert streamed(masker("ababa"), [b"x", *[b"ab"] * 500, b"ay"]) == b"x***y"


@pytest.mark.parametrize("secret", ["", "a", "abcd"])
def test_a_short_secret_is_warned_of_and_not_shown(
    secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert masker(secret).mask("abcd a") == "abcd a"

    assert "too short to be masked" in caplog.text
    assert not secret or secret not in caplog.messages[0].split()


def test_only_the_beginning_of_a_secret_is_held_back() -> None:
    it = masker("hunter2-hunter2")

    assert it.feed(b"a whole line\n") == b"a whole line\n"
    assert it.feed(b"the end: hunt") == b"the end: "
    assert it.feed(b"ing\n") == b"hunting\n"
    assert it.feed(b"hunter2-hunter2\n") == b"***\n"
    assert it.flush() == b""


def test_what_is_held_back_is_shorter_than_the_longest_secret() -> None:
    it = masker("aaaaaaaaaa")
    longest = 20  # of its base64

    given_out = b"".join(it.feed(b"a") for _ in range(1000))

    assert given_out == MASK
    assert len(it._held) < longest


def test_a_secret_counts_from_when_it_is_added() -> None:
    it = Masker()
    before = it.feed(b"topsecret topse")
    it.prepare("topsecret")

    assert before + it.feed(b"cret topsecret") + it.flush() == b"topsecret topsecret ***"


def test_text_that_is_no_unicode_passes() -> None:
    assert masker("secret-\udcff").mask("\udc80 secret-\udcff") == "\udc80 ***"
    assert streamed(masker("secret"), [b"\xff\x00 secret \xfe"]) == b"\xff\x00 *** \xfe"


def test_what_is_held_back_at_the_end_is_masked_too() -> None:
    it = masker("abcde", "abcdefghij")

    assert it.feed(b"x abcde") == b"x "
    assert it.flush() == MASK
    assert it.flush() == b""


def test_lines_that_were_held_back_for_long_are_given_out() -> None:
    it = masker("a\nb\nc\nd")

    assert it.feed(b"1 a\nb\nc") == b"1 "
    assert it.flush_lines() == b"a\nb\n"
    assert it.flush_lines() == b""
    assert it.feed(b"at\n") == b"cat\n"


def test_streams_of_a_task_have_their_secrets_in_common() -> None:
    one = Masker()
    other = one.another()
    one.prepare("hunter2")

    assert (one.feed(b"a hunt"), other.feed(b"b hunt")) == (b"a ", b"b ")
    assert (one.feed(b"er2\n"), other.feed(b"ing\n")) == (b"***\n", b"hunting\n")


def test_the_secrets_of_another_masker_are_adopted_as_they_are_by_then() -> None:
    one, other = masker("hunter2"), Masker()
    one.adopt(other)
    other.prepare("tiger-5")
    assert one.mask("hunter2 tiger-5") == "*** tiger-5"

    one.adopt(other)

    assert one.mask("hunter2 tiger-5") == "*** ***"
    assert other.mask("hunter2 tiger-5") == "hunter2 ***"


def calls(it: Masker, data: bytes) -> int:
    """Return how many functions are called, of Python's own too, to take these bytes."""
    count = 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    it.feed(b"")
    sys.setprofile(called)
    try:
        it.feed(data)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.regression
def test_the_work_for_output_does_not_grow_with_the_number_of_secrets() -> None:
    output = b"2026-01-01 10 rows\n" * 50
    few, many = (masker(*(f"secret-{n}-hunter2" for n in range(most))) for most in (10, 1000))

    assert calls(many, output) <= 2 * calls(few, output)


@pytest.mark.regression
@pytest.mark.parametrize("secret", ["a" * 9000, "a" * 4000 + "b" + "a" * 4000, "ab" * 4000])
@pytest.mark.parametrize("output", ["a" * 40_000, "ab" * 20_000, ("a" * 8000 + "b") * 5])
def test_no_byte_of_output_is_compared_again_and_again(
    secret: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0
    agreement = leaves.agreement

    def counted(form: bytes, text: bytearray, at: int, known: int) -> int:
        nonlocal compared
        same = agreement(form, text, at, known)
        compared += same - known
        return same

    monkeypatch.setattr(pursuit, "agreement", counted)
    monkeypatch.setattr(pursuit, "_SMALL", 16)
    it = masker(secret)

    assert streamed(it, [output.encode()]).decode() == masked_plainly([secret], output)
    assert compared <= 4 * len(output)  # as it is searched twice when nothing follows


@pytest.mark.regression
def test_beyond_the_bound_on_derived_forms_the_plain_values_are_masked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(secrets, "MOST_DERIVED", 30)
    words = [f"hunter-{n}/" for n in range(10)]
    it = masker("\n".join(words))

    assert [it.mask(word) for word in words] == ["***"] * 10
    assert it.mask(quote("\n".join(words))) == "***"
    assert it.mask(quote(words[0], safe="")) == "***"
    assert it.mask(quote(words[-1], safe="")) != "***"


@pytest.mark.regression
def test_a_large_secret_takes_no_derived_forms_from_those_that_come_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(secrets, "MOST_DERIVED", 30)
    monkeypatch.setattr(secrets, "MOST_DERIVED_BYTES", 3000)
    words = [f"hunter-{n}/" for n in range(100)]
    large = "\n".join(words)
    it, server = masker(large), Masker()
    it.prepare("tiger/5", words[-1])
    server.adopt(it)

    for each in (it, server):
        assert each.mask(quote("tiger/5", safe="")) == "***"
        assert each.mask(quote(words[-1], safe="")) == "***", "it is a secret by itself as well"
        assert each.mask(quote(words[-2], safe="")) != "***", "the bound holds where it is adopted"
        assert each.mask(words[-2]) == "***"


@pytest.mark.regression
def test_a_small_read_costs_no_more_the_more_is_held_back() -> None:
    word = "hunter2 "
    it = masker(word * 10_000 + "end", "hunter2")

    early = sum(calls(it, word.encode()) for _ in range(10))
    for _ in range(5000):
        it.feed(word.encode())
    late = sum(calls(it, word.encode()) for _ in range(10))

    assert it.holds
    assert late <= 2 * early
    assert it.flush().count(MASK) == 5020


def masked_plainly(words: list[str], text: str) -> str:
    """Mask a text in the simplest way that there is."""
    data = text.encode()
    hidden = bytearray(len(data))  # of each byte: 1 where a secret begins or goes on
    joined = bytearray(len(data) + 1)  # of each byte: 1 where a secret goes on
    for form in {form for word in words for form in {raw(word), *derived(word)}}:
        at = data.find(form)
        while at >= 0:
            hidden[at : at + len(form)] = b"\1" * len(form)
            joined[at + 1 : at + len(form)] = b"\1" * (len(form) - 1)
            at = data.find(form, at + 1)
    shown = [
        MASK if hidden[at] else data[at : at + 1]
        for at in range(len(data))
        if not (hidden[at] and joined[at])
    ]
    return b"".join(shown).decode("utf-8", "replace")


REPETITIVE = st.builds(
    lambda part, times, end: (part * times)[:60] + end,
    st.text("ab", min_size=1, max_size=6),
    st.integers(5, 30),
    st.text("abc", max_size=3),
)


@pytest.mark.parametrize(("few", "longest"), [(128, 4096), (0, 4096), (1, 6)])
@given(words=st.lists(REPETITIVE, min_size=1, max_size=6), data=st.data())
def test_exactly_the_forms_of_secrets_are_masked(
    few: int, longest: int, words: list[str], data: st.DataObject
) -> None:
    text = "".join(data.draw(st.lists(st.one_of(st.sampled_from(words), REPETITIVE), max_size=6)))
    cuts = data.draw(st.lists(st.integers(0, 10_000), max_size=10))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(leaves, "ANCHOR", 6)
        patched.setattr(leaves, "FEW", few)
        patched.setattr(leaves, "LONGEST_ANCHOR", longest)
        patched.setattr(pursuit, "_SMALL", 2)
        shown = streamed(masker(*words), cut(text.encode(), cuts)).decode()

    assert shown == masked_plainly(words, text)


def test_what_is_prepared_counts_at_once_and_is_never_indexed_again() -> None:
    it = Masker()
    it.prepare("hunter2", "tiger-5")
    before = it._secrets.indexes
    it.prepare("hunter2")

    assert it._secrets.indexes is before
    assert it.mask("hunter2 tiger-5") == "*** ***"


def test_secrets_that_come_one_by_one_are_in_few_indexes() -> None:
    it = Masker()
    for number in range(300):
        it.prepare(f"hunter-{number}")

    assert len(it._secrets.indexes) <= 6
    assert it.mask("hunter-0 hunter-299") == "*** ***"


@given(st.lists(LETTERS, min_size=1, max_size=4), st.data())
def test_no_cut_of_the_stream_makes_a_difference(secrets: list[str], data: st.DataObject) -> None:
    secrets = [*secrets, secrets[0] + secrets[-1]]  # one begins with another
    piece = st.one_of(st.sampled_from(secrets), LETTERS, st.text(max_size=5))
    before, after = data.draw(st.text(max_size=3)), data.draw(st.text(max_size=3))
    written = [encoding for secret in secrets for encoding in encodings(secret, before, after)]
    text = "".join(data.draw(st.lists(st.one_of(piece, st.sampled_from(written)), max_size=12)))
    whole = text.encode("utf-8")
    cuts = data.draw(st.lists(st.integers(0, 10_000), max_size=20))

    at_once = streamed(masker(*secrets), [whole])

    assert streamed(masker(*secrets), cut(whole, cuts)) == at_once
    assert streamed(masker(*secrets), [bytes([byte]) for byte in whole]) == at_once
    assert masker(*secrets).mask(text).encode() == at_once


@given(LETTERS, st.text(max_size=6), st.text(max_size=6), st.lists(st.integers(0, 500)))
@example("aaaaa", "aa", "aa", [3])
@example('""""""', "", "", [])
@example("it's 'a'", '"', "", [])
def test_no_secret_comes_through(secret: str, before: str, after: str, cuts: list[int]) -> None:
    spoilt = [json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(secret), quote_plus(secret)]
    spoilt += [secret, b64encode(secret.encode()).decode()]

    for text in encodings(secret, before, after):
        shown = streamed(masker(secret), cut(text.encode(), cuts)).decode()

        assert not [form for form in spoilt if form in shown]
