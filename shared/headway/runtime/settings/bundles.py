"""The settings of one bundle: a folder of DAG files, or a part of a git repository."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_settings import NoDecode

from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.dag.names import check_key
from headway.domain.dag.notifiers import USUAL, NotifierSpec, NotifyEvent
from headway.domain.dag.templates import fault_of
from headway.domain.errors import DagError
from headway.runtime.secrets.scrub import masked

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_NEVER_IN_A_REF: Final = re.compile(r"[\s~^:?*\[\\\x00-\x20\x7f]|\.\.|@\{|^-|^/|/$|//|\.lock$")
_HELPER: Final = re.compile(r"\w+::")
_TRANSPORT: Final = re.compile(r"(?:https?|ssh|git|file)://.|/.|[^/:]+:(?!//).")


def checked_name(name: str) -> str:
    """Return the name of a bundle; ValueError if it cannot be one: it names a folder, too."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} cannot be the name of a bundle: use at most 63 letters, digits, '_', '.' "
            "and '-', and begin with a letter or a digit."
        )
    return name


class BundleNotifier(BaseModel):
    """A notifier of all DAGs of a bundle, as `Notifier` of a DAG file is one of a DAG."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    connection: str
    on: tuple[NotifyEvent, ...] = USUAL
    subject: str | None = None
    body: str | None = None
    to: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        try:
            check_key("connection", self.connection)
        except DagError as error:
            raise ValueError(str(error)) from None
        if NotifyEvent.RETRY in self.on or not self.on:
            raise ValueError("on names events of a DAG; for retries of tasks say task_retry.")
        for name, template in (("subject", self.subject), ("body", self.body)):
            if fault := fault_of(template or ""):
                raise ValueError(f"{name} is no template: {fault}.")
        return self

    @property
    def spec(self) -> NotifierSpec:
        """The notifier as DAGs have it."""
        on = tuple(sorted(set(self.on)))
        return NotifierSpec(**{**self.model_dump(), "on": on})


class BundleSettings(BaseModel):
    """Where the DAG files of one bundle come from: `path` or `git`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path | None = None
    git: str | None = None
    ref: str = "HEAD"
    subdir: str = ""
    notify: tuple[BundleNotifier, ...] = ()
    """Who is told of what happens to the DAGs of the bundle, besides those whom they name."""
    cron_semantics: CronSemantics | None = None
    """What `ds` is in DAGs with a cron string that do not say so; None: what the parser has."""
    parse_time_secrets: bool | None = None
    """Whether its files may read connections and variables while they are parsed; None: what the
    parser has."""
    refresh_interval: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 60.0
    """Seconds between two questions to the remote for a new commit."""

    def __repr_args__(self) -> Iterable[tuple[str | None, object]]:
        """Name what was set, and no password."""
        for name, value in super().__repr_args__():
            if name in self.model_fields_set:
                yield name, masked(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.path is None) == (self.git is None):
            raise ValueError("give a bundle either path (a folder) or git (a repository's URL).")
        if self.git is None:
            wrong = sorted(self.model_fields_set & {"ref", "subdir", "refresh_interval"})
            if wrong:
                raise ValueError(f"{', '.join(wrong)} is for bundles from git; this one is a path.")
            return self
        if not _is_address(self.git):
            raise ValueError(
                "git must be an https, ssh or file URL, user@host:path, or an absolute path."
            )
        if not self.ref or _NEVER_IN_A_REF.search(self.ref):
            raise ValueError(f"ref {self.ref!r} is no name of a branch, a tag or a commit.")
        subdir = PurePosixPath(self.subdir)
        if subdir.is_absolute() or ".." in subdir.parts or not self.subdir.isprintable():
            raise ValueError("subdir must be a folder of the repository, without a leading '/'.")
        return self


def _is_address(url: str) -> bool:
    # `helper::address` would have git run any program that is called git-remote-helper.
    return (
        not url.startswith("-")
        and not _HELPER.match(url)
        and url.isprintable()
        and " " not in url
        and _TRANSPORT.match(url) is not None
    )


def _from_json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value or "{}", object_pairs_hook=_each_once)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not valid JSON: {error}") from None


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"{', '.join(twice)} is there twice; each name is given once.")
    return found


def _with_checked_names(bundles: Mapping[str, BundleSettings]) -> Mapping[str, BundleSettings]:
    for name in bundles:
        checked_name(name)
    return bundles


Bundles = Annotated[
    dict[str, BundleSettings],
    NoDecode,
    BeforeValidator(_from_json),
    AfterValidator(_with_checked_names),
]
