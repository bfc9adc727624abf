"""What the codec of XComs imports."""

import subprocess
import sys


def test_no_library_is_imported_before_its_values_are_there() -> None:
    code = (
        "import sys; from headway.sdk.xcoms.codec import decode_xcom, encode_xcom; "
        "decode_xcom(encode_xcom([(1,), {2: b'x'}], 'It'), 'It'); "
        "print({'numpy', 'pandas', 'pyarrow', 'pydantic.main', 'pendulum'} & set(sys.modules))"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout == "set()\n"
