"""The settings of the api service."""

from typing import Self

from pydantic import Field, model_validator

from headway.runtime.settings.configuration import HttpPort, Names, Seconds, Settings


class ApiSettings(Settings):
    """The api service."""

    section = "api"

    host: str = Field(
        "127.0.0.1",
        description="The address at which the API listens. `0.0.0.0` and `::` are all addresses "
        "of the machine.",
    )
    port: int = Field(8793, ge=0, le=65535, description="The port of the API; 0: any free port.")
    http_port: HttpPort = 0
    allowed_hosts: Names = Field(
        ("localhost", "127.0.0.1", "::1"),
        description="Host names, separated by commas, under which clients may reach the API. "
        "Requests with another name in the header `Host` are refused. `*.example.com` allows "
        "all names below example.com.",
    )
    trusted_proxies: Names = Field(
        (),
        description="Addresses of proxies, separated by commas, whose headers `X-Forwarded-For` "
        "and `X-Forwarded-Proto` are believed. `*` is every address.",
    )
    threads: int = Field(
        8,
        ge=1,
        le=64,
        description="Requests that are answered at a time. Each of them may use one connection "
        "to the database.",
    )
    statement_timeout: Seconds = Field(
        5.0, description="Seconds after which the database gives up a read of the API."
    )
    heartbeat_interval: Seconds = Field(
        2.0, description="Seconds between two heartbeats of the process."
    )
    session_lifetime: Seconds = Field(
        43_200.0, description="Seconds for which a sign-in is valid (12 hours)."
    )
    token_lifetime: Seconds = Field(
        86_400.0,
        description="Seconds for which a token of `POST /auth/token` is valid (1 day).",
    )
    streams: int = Field(
        2_000, ge=1, description="Live streams that one process has open at a time."
    )
    streams_per_account: int = Field(
        100,
        ge=1,
        description="Live streams that one account has open at a time at one process.",
    )
    live_topics: int = Field(
        5_000, ge=1, description="Topics that the live streams of one process watch at a time."
    )
    live_bytes: int = Field(
        268_435_456,
        ge=1,
        description="Bytes that one process keeps of the topics of live streams (256 MiB).",
    )
    load_at_first_request: bool = Field(
        False,
        description="Load the application when the first client connects, and not before: that "
        "client waits about a second, and an API that nobody uses needs little memory. "
        "`headway standalone` does so by default.",
    )
    drain_grace: float = Field(
        10.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds for which running requests may continue when the API stops.",
    )

    @model_validator(mode="after")
    def _names_are_names(self) -> Self:
        for name in self.allowed_hosts:
            if "/" in name or " " in name:
                raise ValueError(
                    f"allowed_hosts: {name!r} is no host name; write names alone, without a scheme."
                )
        return self
