"""What the fork server of a parser imports, so that its children find it done.

It goes many times through all that a child does, with a DAG file of its own: what is made at the
first use (validators, signatures, time zones) is then there as well.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from headway import sdk
from headway.airflow_layer import finder, notes
from headway.runtime.processes.frames import encode_frame
from headway.runtime.settings.layer_use import LayerUse
from headway_parser.child import bundle_forker, preloaded
from headway_parser.child.asking import refused_secrets
from headway_parser.child.parse_file import parsed, tell_crashes
from headway_parser.child.reading import FilesRead

SAMPLE: Final = Path(__file__).with_name("sample")

TIMES: Final = 10
"""So often the interpreter must see what it is to run quickly."""


def warm_up() -> None:
    """Parse a DAG file, and put its DAG into bytes, until that costs no more than in a child.

    The interpreter rewrites what it runs for the first times, and each page that a child writes
    to it has to copy.
    """
    for name in sdk.__all__:
        if name not in preloaded.LARGE:
            getattr(sdk, name)  # imported when it is asked for
    with _nothing_left():
        for _ in range(TIMES):
            read, secrets = FilesRead(SAMPLE), refused_secrets("sample")
            encode_frame(parsed(read, "sample_dag.py", None, LayerUse.AUTO, secrets))


@contextmanager
def _nothing_left() -> Iterator[None]:
    """Undo what the parses of the block change of Python's imports, which children share."""
    kept: tuple[list[object], ...] = (sys.path, sys.meta_path, sys.path_hooks)  # type: ignore[assignment]
    before, modules = [list(each) for each in kept], set(sys.modules)
    yield
    for each, was in zip(kept, before, strict=True):
        each[:] = was
    for name in sys.modules.keys() - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(SAMPLE)):
            del sys.modules[name]
    for folder in [folder for folder in sys.path_importer_cache if folder.startswith(str(SAMPLE))]:
        del sys.path_importer_cache[folder]
    notes.forget()


tell_crashes()
finder.install()  # each child says how it is to be used
warm_up()
preloaded.begin_with([*sys.modules, bundle_forker.__name__])
