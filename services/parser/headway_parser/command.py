"""`headway parser`: keep the database true to bundles of DAG files until told to stop."""

from functools import partial

from headway.runtime.daemon import service
from headway.runtime.forker import client
from headway.runtime.settings import configuration, secret_keys
from headway.runtime.settings.parser import ParserSettings
from headway.runtime.settings.private_files import repair_modes
from headway_parser.parse.fork_server import ParserHost, folders_of, start


def run(database: str) -> int:
    """Run a parser on the database at that URL; return its exit status."""
    given = configuration.read(ParserSettings)
    folders_of(given)
    if given.reads_secrets:
        secret_keys.check()
    repair_modes(configuration.home())
    hidden = (*configuration.private_paths(), *secret_keys.private_paths())
    around = ParserHost(configuration.home(), hidden, configuration.environment())
    bell = service.stop_on_signals()
    starting = client.begin(partial(start, given, around))
    # Here and not above: this takes as long as the fork server, which starts meanwhile.
    from headway_parser.serving import serve

    serve(database, given, around, starting, bell)
    return 0
