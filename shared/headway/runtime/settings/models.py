"""All models of settings there are."""

from typing import Final

from headway.runtime.settings import worker
from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import Settings
from headway.runtime.settings.database import DatabaseSettings, RoleSettings
from headway.runtime.settings.logs import LogSettings
from headway.runtime.settings.oidc import OidcSettings
from headway.runtime.settings.parser import ParserSettings
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.runtime.settings.secret_keys import SecretsSettings

MODELS: Final[tuple[type[Settings], ...]] = (
    DatabaseSettings,
    RoleSettings,
    ParserSettings,
    SchedulerSettings,
    worker.WorkerSettings,
    ApiSettings,
    OidcSettings,
    LogSettings,
    SecretsSettings,
)
