"""Carry out what a user asks for: after a question, in one transaction, with word to services."""

import sys
from collections.abc import Callable, Collection
from typing import TypeVar

import typer
from sqlalchemy import Connection

from headway.actions import transaction
from headway.actions.transaction import TOLD
from headway.cli.input.session import connected, user_url
from headway.db.core.notices import Notice
from headway.domain.errors import NotConfirmedError

T = TypeVar("T")


def act(
    work: Callable[[Connection], T],
    tell: Collection[Notice] = TOLD,
    url: Callable[[], str] = user_url,
) -> T:
    """Do `work` in one transaction, and then tell schedulers and workers, or others, of it.

    A failure of the database is a DatabaseError.
    """
    with connected(url) as engine:
        return transaction.act(engine, work, tell)


def rehearse(work: Callable[[Connection], T]) -> T:
    """Return what `work` would return, and leave nothing of it behind."""
    with connected() as engine:
        return transaction.rehearse(engine, work)


def ask(what: str) -> None:
    """Have the user agree to what is about to be done; NotConfirmedError without a yes."""
    if not sys.stdin.isatty():
        raise NotConfirmedError(
            f"{what} Nobody can be asked here whether that is meant: add --yes."
        )
    if not typer.confirm(f"{what} Go on?"):
        raise NotConfirmedError("Nothing is changed.")
