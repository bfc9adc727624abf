"""`headway parser`: keep the database true to bundles of DAG files until told to stop."""

from functools import partial

from headway.runtime import secret_settings, service, settings
from headway.runtime.forker import early
from headway.runtime.parser_settings import ParserSettings
from headway.runtime.private_files import repair_modes
from headway_parser.fork_server import ParserHost, folders_of, start


def run(database: str) -> int:
    """Run a parser on the database at that URL; return its exit status."""
    given = settings.read(ParserSettings)
    folders_of(given)
    repair_modes(settings.home())
    hidden = (*settings.private_paths(), *secret_settings.private_paths())
    around = ParserHost(settings.home(), hidden, settings.environment())
    bell = service.stop_on_signals()
    starting = early.begin(partial(start, given, around))
    # Here and not above: this takes as long as the fork server, which starts meanwhile.
    from headway_parser.serving import serve

    serve(database, given, around, starting, bell)
    return 0
