"""Why a request is refused before anything is looked for."""

from headway.domain.errors import HeadwayError, RefusalError


class NotSignedInError(HeadwayError):
    """The request has no token and no session, or one that is unknown, expired or revoked."""

    code = "not_signed_in"


class WrongPasswordError(HeadwayError):
    """The account and the password do not belong together, or the account may not sign in."""

    code = "wrong_password"


class TooManyTriesError(HeadwayError):
    """There were too many tries to sign in; `seconds` is how long to wait."""

    code = "too_many_tries"

    def __init__(self, seconds: int) -> None:
        super().__init__(f"There were too many tries to sign in. Wait {seconds} seconds.")
        self.seconds = seconds


class TooManyTopicsError(HeadwayError):
    """The process keeps as many topics of live streams, or as much of them, as it may."""

    code = "too_many_topics"


class NotInHeadwayError(HeadwayError):
    """An operation of Airflow's API that Headway does not have."""

    code = "not_in_headway"


class RoleError(RefusalError):
    """The account's role may not do that."""

    code = "role_refused"


class ProviderError(HeadwayError):
    """The OpenID Connect provider cannot be reached, or breaks the protocol."""

    code = "provider_unusable"


class TooManyStreamsError(HeadwayError):
    """The account, or the process, has as many streams open as it may have."""

    code = "too_many_streams"
