"""The settings of signing in by an OpenID Connect provider."""

from typing import Self

from pydantic import Field, SecretStr, model_validator

from headway.domain.accounts import AccountRole
from headway.runtime.settings.configuration import Names, Settings

EVERYBODY = "*"
"""The group that everybody is in."""


class OidcSettings(Settings):
    """Signing in by OpenID Connect (extra `headway[oidc]`)."""

    section = "oidc"
    secret = True

    issuer: str | None = Field(
        None,
        description="The provider's issuer, such as `https://login.example.com`. Below it is "
        "`/.well-known/openid-configuration`. Without it nobody signs in by OpenID Connect.",
    )
    client_id: str | None = Field(None, description="The id of Headway as the provider knows it.")
    client_secret: SecretStr | None = Field(
        None, description="The secret of this client; a public client has none."
    )
    scopes: Names = Field(
        ("openid", "profile", "email"), description="Scopes that are asked for, by commas."
    )
    name_claim: str = Field(
        "preferred_username", description="The claim that a new account is named by."
    )
    groups_claim: str = Field("groups", description="The claim that lists a person's groups.")
    viewer_groups: Names = Field(
        (), description="Groups whose members are viewers, by commas; `*` is everybody."
    )
    operator_groups: Names = Field(
        (), description="Groups whose members are operators, by commas; `*` is everybody."
    )
    admin_groups: Names = Field((), description="Groups whose members are admins, by commas.")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.issuer is None:
            return self
        if not self.client_id:
            raise ValueError("issuer is set, so client_id must be set too.")
        if not self.issuer.startswith(("https://", "http://localhost", "http://127.0.0.1")):
            raise ValueError("issuer must begin with https://.")
        if "openid" not in self.scopes:
            raise ValueError("scopes must contain openid.")
        if EVERYBODY in self.admin_groups:
            raise ValueError("admin_groups cannot be everybody.")
        return self

    def role_of(self, groups: frozenset[str]) -> AccountRole | None:
        """Return the highest role that one of these groups has; None if none has any."""
        known = groups | {EVERYBODY}
        for role, named in (
            (AccountRole.ADMIN, self.admin_groups),
            (AccountRole.OPERATOR, self.operator_groups),
            (AccountRole.VIEWER, self.viewer_groups),
        ):
            if not known.isdisjoint(named):
                return role
        return None
