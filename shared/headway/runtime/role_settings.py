"""The passwords of the database's login roles, for `headway db migrate` alone."""

from pydantic import Field, SecretStr

from headway.runtime.settings import Settings


class RoleSettings(Settings):
    """What `headway db migrate` sets; a role without one keeps the password that it has."""

    section = "roles"

    parser_password: SecretStr | None = Field(
        None, description="Password that `headway db migrate` gives to headway_parser."
    )
    scheduler_password: SecretStr | None = Field(
        None, description="Password that `headway db migrate` gives to headway_scheduler."
    )
    worker_password: SecretStr | None = Field(
        None, description="Password that `headway db migrate` gives to headway_worker."
    )
    user_password: SecretStr | None = Field(
        None, description="Password that `headway db migrate` gives to headway_user."
    )
    readonly_password: SecretStr | None = Field(
        None, description="Password that `headway db migrate` gives to headway_readonly."
    )
