"""The `git` command: it does nothing but what it was asked for, and shows no password.

A password in a URL is kept off git's command line: everybody on the machine can read that.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from headway.domain.errors import HeadwayError, SettingsError
from headway.runtime.secrets.scrub import masked, scrubbed_environment

_USER: Final = "GIT_BUNDLE_USER"


_PASSWORD: Final = "GIT_BUNDLE_PASSWORD"  # noqa: S105 - a name


# The shell prints by itself: no other program has the password as an argument.
_HELPER: Final = (
    '!f() { test "$1" = get && '
    f'printf \'username=%s\\npassword=%s\\n\' "${_USER}" "${_PASSWORD}"; }}; f'
)


@dataclass(frozen=True, slots=True)
class Logins:
    """What git must be given instead of a URL's password: options, and variables."""

    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def without_passwords(arguments: Iterable[str]) -> tuple[list[str], Logins]:
    """Take the login out of the one HTTP URL with a password, if there is one; return it apart.

    Git asks for it, as long as it talks to the URL's host, and no helper that keeps
    passwords is asked or told.
    """
    shown: list[str] = []
    logins = Logins()
    for argument in arguments:
        url = _with_password(argument)
        if url is None:
            shown.append(argument)
            continue
        login, _, host = url.netloc.rpartition("@")
        user, _, password = login.partition(":")
        shown.append(urlunsplit(url._replace(netloc=host)))
        key = f"credential.{url.scheme}://{host}.helper"
        logins = Logins(
            (f"{key}=", f"{key}={_HELPER}"),
            {_USER: unquote(user), _PASSWORD: unquote(password)},
        )
    return shown, logins


def _with_password(argument: str) -> SplitResult | None:
    if not argument.lower().startswith(("http://", "https://")):
        return None
    try:
        url = urlsplit(argument)
    except ValueError:  # git will say what is wrong with it
        return None
    return url if ":" in url.netloc.rpartition("@")[0] else None


TIMEOUT: Final = 120.0
"""Seconds after which a git command is killed."""


LONGEST_MESSAGE: Final = 2_000


_KEPT: Final = (
    "ALL_PROXY",
    "FTP_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
)


_KEPT_PREFIXES: Final = ("SSH_", "GIT_")


# Where these come from (a hook, a rebase) they name a repository that is not ours.
_ELSEWHERE: Final = re.compile(
    r"GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|NAMESPACE|PREFIX|CEILING_DIRECTORIES|TRACE\w*"
    r"|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|EXEC_PATH|TEMPLATE_DIR|SHALLOW_FILE)"
)


_OPTIONS: Final = (
    "core.hooksPath=/dev/null",
    "protocol.ext.allow=never",
    "core.autocrlf=false",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "fetch.fsckObjects=true",
    "gc.auto=0",
    "maintenance.auto=false",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=30",
)


class GitError(HeadwayError):
    """Git, or the remote, has refused; what is checked out stays as it is."""


@dataclass(frozen=True, slots=True)
class GitCommand:
    """The program, and the environment that it runs in."""

    program: str
    environment: Mapping[str, str]
    timeout: float = TIMEOUT

    @classmethod
    def find(cls, environment: Mapping[str, str]) -> "GitCommand":
        """Return the one on PATH; SettingsError if there is none."""
        program = shutil.which("git", path=environment.get("PATH"))
        if program is None:
            raise SettingsError(
                "A bundle comes from git, but there is no git on this parser's PATH: install it, "
                "or give the bundle a path."
            )
        return cls(program, git_environment(environment))

    def __call__(self, *arguments: str, holds: tuple[int, ...] = (), **more: str) -> str:
        """Run it and return what it says; GitError if it fails.

        `more` are further variables.  `holds` are descriptors that stay open in it, and in
        what it starts, also when this process dies.
        """
        shown, logins = without_passwords(arguments)
        options = [part for option in (*_OPTIONS, *logins.options) for part in ("-c", option)]
        with subprocess.Popen(
            [self.program, *options, *shown],
            env={**self.environment, **logins.environment, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=holds,
            start_new_session=True,  # no terminal to ask for a password; and ends as a whole
            umask=0o022,  # whoever parses the files must be able to read them
            errors="replace",
        ) as process:
            try:
                said, problem = process.communicate(timeout=self.timeout)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise GitError(
                        f"git {arguments[0]} took more than {self.timeout:g} s, and was stopped."
                    ) from None
                raise
        if process.returncode:
            raise GitError(_message(arguments[0], process.returncode, problem))
        return said


def git_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what git may know: where its credentials are, and nothing of Headway."""
    kept = {
        name: value
        for name, value in environment.items()
        if (name.upper() in _KEPT or name.startswith(_KEPT_PREFIXES))
        and not _ELSEWHERE.fullmatch(name)
    }
    return {
        **scrubbed_environment(environment),
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def _message(what: str, code: int, problem: str) -> str:
    said = masked(problem.strip())[:LONGEST_MESSAGE] or f"exit code {code}"
    return f"git {what} failed: {said}"
