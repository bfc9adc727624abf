"""The handle: by what an attempt's work in Spark can be found again, and ended.

It is plain data.  `kind` is "connect", with the `session_id`, or "submit", with the
`application_id` as soon as it is known; `tag` names the attempt in either.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

Handle: TypeAlias = Mapping[str, str]

OnHandle: TypeAlias = Callable[[Handle], object]
"""Keeps a handle.  It is called before Spark is given anything to do, and may be called again."""
