"""What the fork server of services imports before it forks, so that services find it done.

What is made at the first use (validators of settings, the dialect of the database) is made
here as well, once for all: otherwise each service makes its own, and keeps it for itself.
"""

from importlib import import_module

from headway.cli.input import installed
from headway.db.core import engine as engines
from headway.runtime.settings.configuration import Settings


def warm_up() -> None:
    """Import what services begin with, and do what each of them would do first.

    Nothing is read that may change before a service starts: no setting, and no file of them.
    """
    for module in installed.modules():
        import_module(module)
    for kind in Settings.__subclasses__():
        kind.model_rebuild()
    engines.connect("postgresql://", pooler=False)  # which connects to nothing yet


warm_up()
