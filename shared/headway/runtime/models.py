"""All models of settings there are."""

from typing import Final

from headway.runtime import settings
from headway.runtime.role_settings import RoleSettings
from headway.runtime.secret_settings import SecretsSettings
from headway.runtime.settings import Settings

MODELS: Final[tuple[type[Settings], ...]] = (
    settings.DatabaseSettings,
    RoleSettings,
    settings.ParserSettings,
    settings.SchedulerSettings,
    settings.WorkerSettings,
    settings.LogSettings,
    SecretsSettings,
)
