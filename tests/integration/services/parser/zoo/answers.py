"""F65 and F68: files that answer for their process, and say what no sound one says."""

from collections.abc import Mapping
from textwrap import dedent

from tests.integration.services.parser.zoo.ends import ended
from tests.integration.services.parser.zoo.keeper import ANSWER, Fault

TOOLS = """
import binascii, dataclasses, os, struct, msgpack
from headway.sdk.harness.specification import to_spec
from headway.serialization import codec

HERE = os.path.basename(__file__)

def channel():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                return int(name)
        except OSError:
            pass

def put(data):
    while data:
        data = data[os.write(channel(), data):]

def framed(content):
    return struct.pack("!II", len(content), binascii.crc32(content)) + content

def say(content):
    put(framed(content))

def answer(*dags, files=None, **more):
    files = {HERE: open(__file__, "rb").read()} if files is None else files
    say(msgpack.packb({"dags": list(dags), "files": files, "missing": [], **more}))

def spec(**changes):
    with DAG(changes.pop("dag_id", "forged")) as dag:
        EmptyOperator(task_id="t")
    return dataclasses.replace(to_spec(dag, HERE), **changes)
"""

UNUSABLE = "What the file left behind cannot be used:"


def hostile(code: str, error: str) -> Fault:
    return Fault(f"{TOOLS}\n{dedent(code)}\nos._exit(0)\n", error)


USURPER = hostile(
    "answer(codec.encode(spec(dag_id='canary')))",
    "The DAG id 'canary' in usurper.py is taken by the file canary.py (bundle dags), which keeps "
    "it. Rename one of the two.",
)
"""A sound answer, but for whose DAG it is about."""

READER = hostile(
    "say(msgpack.packb({'error': 'e', 'read': {f'f{n}': 'absent' for n in range(100_000)}}))",
    "e",
)
"""It wants a hundred thousand files to be looked at in each listing."""

ANSWERS: Mapping[str, Fault] = {
    "sends_a_pickle": hostile(
        """
        import pickle
        class Evil:
            def __reduce__(self):
                return os.system, (f"touch {os.path.dirname(__file__)}/evil",)
        say(pickle.dumps(Evil()))
        """,
        f"{UNUSABLE} These bytes are no acceptable msgpack: …",
    ),
    "sends_a_pickled_dag": hostile(
        "import pickle; answer(pickle.dumps(spec()))",
        f"{UNUSABLE} These bytes are no serialized DAG: …",
    ),
    "names_a_function_as_timetable": hostile(
        """
        from headway.domain.dag.spec import TimetableSpec
        answer(codec.encode(spec(timetable=TimetableSpec(name="os.system", arguments={}))))
        """,
        f"{UNUSABLE} …os.system…",
    ),
    "sends_an_extension": hostile(
        "say(msgpack.packb({'error': msgpack.ExtType(5, b'x')}))",
        f"{UNUSABLE} These bytes are no acceptable msgpack: …",
    ),
    "sends_a_time": hostile(
        "say(msgpack.packb({'error': msgpack.Timestamp(0)}))",
        f"{UNUSABLE} These bytes are no acceptable msgpack: …",
    ),
    "nests": hostile("say(b'\\x91' * 10**6 + b'\\xc0')", f"{UNUSABLE} …"),
    "laughs": hostile("say(b'\\xdd\\x00\\x0f\\x00\\x00' * 1000)", f"{UNUSABLE} …"),
    "announces_500_mb": hostile(
        "put(struct.pack('!I', 500 * 2**20))",
        f"{UNUSABLE} A frame of 524,288,000 bytes was announced; {ANSWER:,} is the limit.",
    ),
    "sends_half_a_frame": hostile("put(struct.pack('!I', 1000) + b'x' * 10)", ended("exit code 0")),
    "spoils_its_answer": hostile(
        "put(framed(b'success')[:-1] + b'!')", f"{UNUSABLE} A frame was damaged…"
    ),
    "sends_half_a_header": hostile("put(b'xx')", ended("exit code 0")),
    "sends_a_list": hostile("say(msgpack.packb([1]))", f"{UNUSABLE} A frame must hold a map, …"),
    "sends_an_empty_map": hostile("say(msgpack.packb({}))", f"{UNUSABLE} it has no DAGs, …"),
    "sends_no_utf_8": hostile("say(b'\\x81\\xa5error\\xa1\\xff')", f"{UNUSABLE} …"),
    "repeats_a_key": hostile("say(b'\\x82\\xa1a\\x01\\xa1a\\x02')", f"{UNUSABLE} …repeats a key…"),
    "answers_twice": hostile(
        """
        twice = [msgpack.packb({"error": error}) for error in ("first", "second")]
        put(b"".join(framed(content) for content in twice))
        """,
        "first",
    ),
    "answers_for_another_file": hostile(
        "answer(codec.encode(spec(dag_id='canary', relative_path='canary.py')))",
        f"{UNUSABLE} its DAG canary claims to be of 'canary.py'.",
    ),
    "names_files_outside": hostile(
        "answer(files={'../../etc/passwd': b''})",
        f"{UNUSABLE} '../../etc/passwd' is no file of the bundle.",
    ),
    "names_an_absolute_file": hostile(
        "answer(files={'/etc/passwd': b''})", f"{UNUSABLE} '/etc/passwd' is no file of the bundle."
    ),
    "shows_other_code": hostile(
        "answer(codec.encode(spec()), files={HERE: b'innocent'})",
        "The file, or one that it reads, is written all the time.",
    ),
    "has_a_dag_twice": hostile(
        "answer(*[codec.encode(spec())] * 2)", f"{UNUSABLE} it has the DAG forged twice."
    ),
    "has_no_number": hostile(
        """
        one = spec()
        never = dataclasses.replace(one.tasks[0], retry_delay=float("nan"))
        answer(codec.encode(dataclasses.replace(one, tasks=(never,))))
        """,
        f"{UNUSABLE} …",
    ),
    "has_a_task_that_waits_for_none": hostile(
        """
        one = spec()
        lost = dataclasses.replace(one.tasks[0], upstream=("nobody",))
        answer(codec.encode(dataclasses.replace(one, tasks=(lost,))))
        """,
        f"{UNUSABLE} Task 't' of DAG forged depends on tasks that do not come before it.",
    ),
    "has_a_nul_in_a_key": hostile(
        "answer(codec.encode(spec(dag_id='forged', tags=('a\\0b',))))", f"{UNUSABLE} …NUL…"
    ),
    "has_a_nul_in_a_path": hostile("answer(files={'a\\0b': b''})", f"{UNUSABLE} …"),
    "has_a_nul_in_its_error": hostile(
        "say(msgpack.packb({'error': 'a\\0b', 'read': {'a\\0b': 'absent'}}))",
        "a�b",
    ),
    "errs_at_length": hostile(
        f"say(msgpack.packb({{'error': 'x' * {ANSWER - 100}}}))", "x" * 20_000
    ),
    "errs_without_a_word": hostile(
        "say(msgpack.packb({'error': ''}))",
        "Reading the file failed with an error without a message.",
    ),
    "depends_on_everything": hostile(
        """
        never = [f"f{number}" for number in range(10_001)]
        say(msgpack.packb({"dags": [], "files": {}, "missing": never}))
        """,
        (
            f"{UNUSABLE} it depends on 10,001 files of its bundle; 10,000 is the limit, with "
            "names of 1,048,576 characters in all."
        ),
    ),
}
"""Of each nothing is believed, and nothing that it names is imported."""
