"""F58 and F59: files that change the world around them, and what the next file finds of it."""

from tests.integration.services.parser.zoo.keeper import Fault

INSPECTOR = """
    import builtins, datetime, gc, json, locale, logging, os, signal, socket, sys, threading
    import msgpack
    from headway.sdk import DAG
    from headway.serialization import codec

    umask = os.umask(0)
    os.umask(umask)
    found = {
        "folder": os.getcwd(),
        "umask": umask,
        "locale": locale.setlocale(locale.LC_ALL),
        "term": repr(signal.getsignal(signal.SIGTERM)),
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "logging": logging.root.manager.disable,
        "timeout": socket.getdefaulttimeout(),
        "niceness": os.nice(0),
        "environment": sorted(os.environ),
        "gc": gc.isenabled(),
        "trace": sys.gettrace() is None,
        "recursion": sys.getrecursionlimit(),
        "threads": threading.active_count(),
        "json": json.dumps({"a": 1}),
        "msgpack": msgpack.packb("a").hex(),
        "codec": codec.encode.__module__,
        "dag": DAG.__init__.__module__,
        "date": datetime.datetime.__module__,
        "poison": [name for name in (*sys.modules, *vars(builtins)) if "poison" in name],
        "files": sorted(os.listdir(os.path.dirname(__file__))),
    }
    DAG("inspector", description=json.dumps(found))
"""

WORLD = {
    "moves": "import os; os.chdir('/usr')",
    "masks": "import os; os.umask(0o777)",
    "speaks_turkish": "import locale; locale.setlocale(locale.LC_ALL, 'C')",
    "takes_signals": """
        import signal
        signal.signal(signal.SIGTERM, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        """,
    "silences": "import logging; logging.disable(logging.CRITICAL)",
    "hurries": "import socket; socket.setdefaulttimeout(0.001)",
    "stands_back": "import os; os.nice(5)",
    "sets_variables": "import os; os.environ['POISON'] = 'x'; del os.environ['PATH']",
    "keeps_garbage": "import gc; gc.disable(); gc.freeze(); gc.set_threshold(0)",
    "traces": "import sys; sys.settrace(lambda *_: None); sys.setprofile(lambda *_: None)",
    "patches_json": "import json; json.dumps = lambda *_, **__: 'poison'",
    "patches_time": """
        import datetime, time
        class Never(datetime.datetime):
            @classmethod
            def now(cls, tz=None):
                raise OverflowError
        datetime.datetime = Never
        time.monotonic = time.time = lambda: 0.0
        """,
    "poisons_modules": """
        import builtins, sys
        sys.modules["poisoned"] = sys
        builtins.poison = True
        """,
    "unloads_modules": "import sys; sys.modules.clear()",
}
"""What is no error: the file's own DAG is taken over all the same."""

POISON = {
    "patches_dags": Fault(
        """
        def fail(self, *_, **__):
            raise ValueError("poison")
        DAG.__init__ = fail
        DAG("poisoned")
        """,
        "Traceback … ValueError: poison",
    ),
    "patches_msgpack": Fault(
        "import msgpack; msgpack.packb = lambda *_, **__: b'junk'",
        "What the file left behind cannot be used: These bytes are no acceptable msgpack: …",
    ),
    "patches_the_codec": Fault(
        "from headway.serialization import codec; codec.encode = lambda spec: b'junk'",
        "What the file left behind cannot be used: …",
    ),
    "says_something_else": Fault(
        """
        import dataclasses
        from headway.serialization import codec
        encode = codec.encode
        codec.encode = lambda spec: encode(dataclasses.replace(spec, relative_path="canary.py"))
        """,
        "What the file left behind cannot be used: its DAG says_something_else claims to be of "
        "'canary.py'.",
    ),
}
