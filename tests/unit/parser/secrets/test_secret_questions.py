"""The questions of a child, and the threads that find the answers."""

import socket
from collections.abc import Iterator
from threading import Event

import pytest
from sqlalchemy.exc import OperationalError

from headway.db.parsing.bundle_secrets import SecretName
from headway.domain.variable import SecretKind, StoredVariable
from headway.runtime.processes.frames import Frame, receive_frame
from headway.testing.time.clock import FakeClock
from headway_parser.parse.answer import ParsedFile
from headway_parser.parse.read_secrets import with_secrets
from headway_parser.secrets.answers import SecretAnswering
from headway_parser.secrets.questions import MOST_QUESTIONS, QuestionError, SecretQuestions
from headway_parser.secrets.resolver import FoundSecret

V = SecretName(SecretKind.VARIABLE, "v")
ASK: Frame = {"ask": "variable", "name": "v"}
CANARY = "canary-8f1e"
LONG = 10.0


class Reader:
    """Has one variable, and notes who asks; it waits for `may`, and fails as often as it is to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, SecretName]] = []
        self.may = Event()
        self.may.set()
        self.errors: list[Exception] = []

    def read(self, bundle: str, name: SecretName) -> FoundSecret:
        self.asked.append((bundle, name))
        assert self.may.wait(LONG)
        if self.errors:
            raise self.errors.pop()
        return FoundSecret("state", StoredVariable(key="v", value=CANARY))


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def questions(reader: Reader) -> Iterator[SecretQuestions]:
    answering = SecretAnswering(reader, FakeClock())
    questions = SecretQuestions("dags", answering)
    yield questions
    reader.may.set()
    questions.close()
    answering.close()


def answered(questions: SecretQuestions) -> Frame:
    """Return what the child is told."""
    assert questions._asked is not None
    questions._asked[1].result(LONG)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        questions.answer(ours)
        told = receive_frame(theirs)
    assert told is not None
    return told


def test_a_child_is_told_what_its_bundle_may_read(
    questions: SecretQuestions, reader: Reader
) -> None:
    questions.take({**ASK, "bundle": "other"})

    assert questions.waits_for == "the variable 'v'"
    assert answered(questions) == {"text": CANARY}
    assert reader.asked == [("dags", V)]
    assert questions.dependencies == {"/variable/v": "state"}
    assert questions.waits_for == ""


def test_what_it_was_told_is_masked(questions: SecretQuestions) -> None:
    questions.take(ASK)
    answered(questions)

    frame = {"error": f"x{CANARY}", "notes": [CANARY, 3], "line": 4}
    assert questions.masked(frame) == {"error": "x***", "notes": ["***"], "line": 4}
    assert with_secrets(ParsedFile(error=CANARY), questions).error == "***"


def test_a_second_question_before_the_answer_ends_it(
    questions: SecretQuestions, reader: Reader
) -> None:
    reader.may.clear()
    questions.take(ASK)

    with pytest.raises(QuestionError, match="before it had its last answer"):
        questions.take(ASK)


def test_one_that_does_not_take_its_answer_may_not_go_on(questions: SecretQuestions) -> None:
    questions.take(ASK)
    assert questions._asked is not None
    questions._asked[1].result(LONG)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        try:
            while True:
                ours.send(b"x" * 4096)
        except BlockingIOError:
            questions.answer(ours)
        assert questions.has_to_send
        with pytest.raises(QuestionError, match="before it had its last answer"):
            questions.take(ASK)


def test_there_is_an_end_to_questions(questions: SecretQuestions) -> None:
    for _ in range(MOST_QUESTIONS):
        questions.take(ASK)
        answered(questions)

    with pytest.raises(QuestionError, match="more than 500 connections and variables"):
        questions.take(ASK)


@pytest.mark.parametrize(
    "frame",
    [
        {"ask": "xcom", "name": "v"},
        {"ask": ["variable"], "name": "v"},
        {"ask": "variable"},
        {"ask": "variable", "name": "no/name"},
        {"ask": "variable", "name": 3},
    ],
)
def test_what_is_no_question_ends_it(questions: SecretQuestions, frame: Frame) -> None:
    with pytest.raises(QuestionError, match="neither a connection nor a variable"):
        questions.take(frame)


def test_a_database_that_is_away_is_asked_again(questions: SecretQuestions, reader: Reader) -> None:
    reader.errors = [OperationalError("", {}, Exception("gone"))] * 3

    questions.take(ASK)

    assert answered(questions) == {"text": CANARY}
    assert len(reader.asked) == 4


def test_nothing_is_asked_for_a_parse_that_is_over(
    questions: SecretQuestions, reader: Reader
) -> None:
    reader.may.clear()
    reader.errors = [OperationalError("", {}, Exception("gone"))] * 3
    questions.take(ASK)
    assert questions._asked is not None

    questions.close()
    reader.may.set()
    if not questions._asked[1].cancelled():
        answer = questions._asked[1].result(LONG)
        assert answer.frame == {"error": "The parser cannot read the variable 'v': gone"}
        assert answer.state is None
    assert len(reader.asked) <= 1
