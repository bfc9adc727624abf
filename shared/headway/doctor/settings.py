"""Checks of the settings: what is refused at the start of a service, all at once."""

from collections.abc import Iterator
from typing import Final

from headway.doctor.finding import Check, Examined, Finding, judged
from headway.domain.errors import SettingsError
from headway.runtime.settings import configuration
from headway.runtime.settings.models import MODELS


def values(_subject: Examined) -> Iterator[Finding]:
    """Read every setting of every service."""
    problems: list[str] = []
    for model in MODELS:
        try:
            configuration.read(model)
        except SettingsError as error:
            problems.append(str(error))
    found = " ".join(dict.fromkeys(problems)) or "each can be read"
    remedy = "Change the variables named, or their lines in headway.toml; see `headway settings`."
    yield judged("settings", found, "values that make sense", remedy if problems else None)


CHECKS: Final[tuple[Check, ...]] = (values,)
