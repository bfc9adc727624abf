"""Where a setting's value comes from: the code, the environment, the TOML file, the default."""

import json
import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar, Final, TypeVar

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from headway.domain.errors import SettingsError
from headway.runtime.secrets.scrub import masked
from headway.runtime.settings.unknown import is_of_kubernetes, unknown_keys, unknown_variables


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _properties(value: object) -> object:
    """Take JSON or a table; numbers and truth values become what Spark writes for them."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ValueError(f"this is not JSON: {error}") from error
    if not isinstance(value, dict):
        return value
    if wrong := sorted(str(name) for name in value if not str(name).startswith("spark.")):
        raise ValueError(f"these are no properties of Spark: {', '.join(wrong)}")
    return {
        name: str(item).lower() if isinstance(item, bool | int | float) else item
        for name, item in value.items()
    }


PRIVATE: Final = 0o700
"""The mode of a folder that is one account's alone."""


PASSABLE: Final = 0o711
"""The mode of a folder that others may pass through, and not look into."""


Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


UpToADay = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]


SparkConf = Annotated[dict[str, str], NoDecode, BeforeValidator(_properties)]


HttpPort = Annotated[
    int,
    Field(ge=0, le=65535, description="Port of /healthz, /readyz and /metrics; 0: none."),
]


S = TypeVar("S", bound="Settings")


class Settings(BaseSettings):
    """The base of all settings: frozen, and strict about names that nobody knows.

    The setting `name` of a section is the variable HEADWAY_SECTION_NAME.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid", defer_build=True)

    section: ClassVar[str]
    secret: ClassVar[bool] = False
    """Whether what was given may be a password, which no message repeats."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take values given in code first, then the environment, then the file."""
        variables = EnvSettingsSource(settings_cls, env_prefix=variable(cls, ""))
        variables.env_vars = {
            name: value
            for name, value in variables.env_vars.items()
            if not is_of_kubernetes(name.upper(), value or "")
        }
        section = InitSettingsSource(settings_cls, dict(_section(cls.section)))
        return init_settings, variables, section


def home() -> Path:
    """Return the folder where local state is kept: HEADWAY_HOME, else `.headway` here."""
    return Path(os.environ.get("HEADWAY_HOME") or ".headway").absolute()


def make_home(folder: Path, *, shared: bool = False) -> Path:
    """Return a folder for state, made if it was absent; SettingsError if it cannot be written.

    Nobody else may look into a new one.  Other accounts may pass through it if it is `shared`
    with a fork server elsewhere, or root's, whose parser and Postgres become another account.
    """
    try:
        if not folder.is_dir():
            folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
            folder.chmod(PASSABLE if shared or os.geteuid() == 0 else PRIVATE)
        problem = None if os.access(folder, os.W_OK | os.X_OK) else "it is not this account's"
    except OSError as error:
        problem = error.strerror
    if problem is not None:
        raise SettingsError(
            f"No state can be kept in {folder}: {problem}. Set HEADWAY_HOME to a folder that "
            "this account may write to."
        )
    return folder


def environment() -> Mapping[str, str]:
    """Return the environment of this process, to find programs by and to hand on."""
    return dict(os.environ)


def read(settings: type[S], **overrides: object) -> S:
    """Return the settings of that kind; values of None are not overrides.

    Raises SettingsError naming the variable to mend.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    known = [variable(settings, name) for name in settings.model_fields]
    if unknown := list(unknown_variables(os.environ, settings.section, known)):
        raise SettingsError("\n".join(unknown))
    try:
        return settings(**given)
    except ValidationError as error:
        lines = [_explain(settings, problem) for problem in error.errors()]
        raise SettingsError("\n".join(lines)) from error


def defaults(settings: type[Settings], values: Mapping[str, object]) -> dict[str, str]:
    """Return variables that give `values` to what neither environment nor file sets.

    Raises SettingsError when what is set makes no sense, alone or together with them.
    """
    names = {name: variable(settings, name) for name in values}
    set_in_file = _section(settings.section)
    free = {
        name: value
        for name, value in values.items()
        if names[name] not in os.environ and name not in set_in_file
    }
    read(settings, **free)
    return {names[name]: str(value) for name, value in free.items()}


def variable(settings: type[Settings], name: str) -> str:
    """Return the environment variable of a setting."""
    return f"HEADWAY_{settings.section}_{name}".upper()


def private_paths() -> tuple[Path, ...]:
    """Return where secrets may lie: the folder of local state, and the file of settings."""
    return home(), _config_path()


@cache
def config_file() -> Mapping[str, object]:
    """Return the TOML file's content; nothing when there is none."""
    path = _config_path()
    try:
        if path.is_file():
            content = tomllib.loads(path.read_text(encoding="utf-8"))
            _refuse_unknown_keys(path, content)
            return content
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from error
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be read: {error.strerror}. Let this account read it, or set "
            "HEADWAY_HOME to a folder of its own."
        ) from error
    if os.environ.get("HEADWAY_CONFIG"):
        raise SettingsError(f"HEADWAY_CONFIG names {path}, which is no file.")
    return {}


def _refuse_unknown_keys(path: Path, content: Mapping[str, object]) -> None:
    # Here and not above: most commands read the settings of few sections, and have no file.
    from headway.runtime.settings.models import MODELS

    known = {model.section: list(model.model_fields) for model in MODELS}
    if unknown := list(unknown_keys(content, known)):
        raise SettingsError("\n".join(f"{path}: {problem}" for problem in unknown))


def _config_path() -> Path:
    named = os.environ.get("HEADWAY_CONFIG")
    return Path(named).absolute() if named else home() / "headway.toml"


def _section(name: str) -> Mapping[str, object]:
    section = config_file().get(name, {})
    if not isinstance(section, Mapping):
        raise SettingsError(f"{name} must be a section of the TOML file: write [{name}].")
    return section


def _explain(settings: type[Settings], problem: Mapping[str, object]) -> str:
    location = problem["loc"]
    assert isinstance(location, tuple)
    message = str(problem["msg"]).removeprefix("Value error, ")
    if not location:
        return f"[{settings.section}] {message}"
    named = variable(settings, str(location[0]))
    if settings.secret:
        return f"{named}: {message}."
    inner = ".".join(map(str, location[1:]))
    where = f"{named} ({inner})" if inner else named
    return f"{where}: {message} (given: {masked(repr(problem.get('input')))})."
