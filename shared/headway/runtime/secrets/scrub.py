"""The environment that user code gets: what it needs to run, and no secret.

A variable passes when its name is known to be harmless or was named by the user,
and neither its name nor its value looks like a secret.  Headway's own variables
never pass, whoever names them: among them are the database's address and key.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

_NAMES: Final = frozenset(
    {
        "HOME",
        "JAVA_HOME",
        "KRB5_CONFIG",
        "KUBECONFIG",
        "LANG",
        "LANGUAGE",
        "LD_LIBRARY_PATH",
        "LOGNAME",
        "PATH",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TMPDIR",
        "TZ",
        "USER",
        "VIRTUAL_ENV",
        "YARN_CONF_DIR",
    }
)
_PREFIXES: Final = ("LC_", "PYTHON", "PYSPARK_", "SPARK_", "HADOOP_")

_SECRET_NAME: Final = re.compile(
    r"^HEADWAY_|PASSW|PASSPHRASE|SECRET|TOKEN|CREDENTIAL|PRIVATE|(API|ACCESS|ENCRYPTION)_?KEY"
    r"|_PWD$|_DSN$",
    re.IGNORECASE,
)
_PASSWORD_IN_URL: Final = re.compile(r"://[^/?#\s]*:[^/?#\s]*@")
_LOGIN_IN_URL: Final = re.compile(
    r"(?<=://)[^/?#\s'\"]*:[^/?#\s'\"]*@"
    r"|(?<=http://)[^/?#\s'\"]*@|(?<=https://)[^/?#\s'\"]*@",
    re.IGNORECASE,
)
_PASSWORD_SETTING: Final = re.compile(r"(password|passwd|secret|token)\s*[=:]", re.IGNORECASE)


def scrubbed_environment(
    environment: Mapping[str, str], keep: Collection[str] = ()
) -> dict[str, str]:
    """Return the variables of `environment` that user code may see.

    `keep` names further variables, or, with a `*` at the end, all that begin alike.
    What looks like a secret does not pass even so: pass secrets as connections.
    """
    exact = _NAMES.union(name for name in keep if not name.endswith("*"))
    prefixes = _PREFIXES + tuple(name[:-1] for name in keep if name.endswith("*"))
    return {
        name: value
        for name, value in environment.items()
        if (name in exact or name.startswith(prefixes)) and not _looks_secret(name, value)
    }


def masked(text: str) -> str:
    """Return the text without passwords in its URLs; before an https host any name may be one."""
    return _LOGIN_IN_URL.sub("***@", text)


def _looks_secret(name: str, value: str) -> bool:
    return bool(
        _SECRET_NAME.search(name)
        or _PASSWORD_IN_URL.search(value)
        or _PASSWORD_SETTING.search(value)
    )
