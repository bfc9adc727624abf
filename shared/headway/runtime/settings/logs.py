"""The settings of the logs of attempts, for the workers that write and the commands that read."""

import re
from typing import Final

from pydantic import Field, field_validator

from headway.runtime.settings.configuration import Seconds, Settings

_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^@?#\s]+")


class LogSettings(Settings):
    """The logs of attempts."""

    section = "logs"
    max_bytes: int = Field(
        10 * 2**20,
        ge=1024,
        description="Bytes of log kept for one attempt. A longer log keeps its "
        "beginning and its end; the end is a quarter of this size, at most 256 KiB.",
    )
    max_bytes_per_second: int = Field(
        5 * 2**20, ge=1024, description="Bytes of log that one attempt may write in a second."
    )
    remote: str | None = Field(
        None,
        description="Where logs are copied to, such as `s3://bucket/prefix`, "
        "`gs://bucket/prefix` or `file:///folder`. Logs that are not on the machine "
        "are read from there.",
    )
    copy_interval: Seconds = Field(
        5.0, description="Seconds between two copies of the log of a running attempt."
    )
    keep_days: Seconds = Field(
        30.0, description="Days for which a worker keeps logs on its machine."
    )
    keep_bytes: int = Field(
        20 * 2**30,
        ge=1024,
        description="Bytes of logs that a worker keeps on its machine; the oldest logs "
        "are removed first.",
    )

    @field_validator("remote")
    @classmethod
    def _is_address(cls, remote: str | None) -> str | None:
        if not remote:
            return None
        if "::" in remote or not _ADDRESS.fullmatch(remote):
            raise ValueError(
                "write an address like s3://bucket/prefix, without a login: the worker finds its "
                "credentials where the library of that store looks for them"
            )
        return remote.rstrip("/")
