"""An endpoint travels as plain data and keeps its token to itself."""

from headway.runtime.processes.frames import FrameReader, encode_frame
from headway_worker.spark.target.endpoint import ConnectEndpoint, release_argument

ENDPOINT = ConnectEndpoint("sc://localhost:15002", "canary")


def test_it_travels_in_a_frame() -> None:
    [argument] = FrameReader().feed(encode_frame(release_argument(ENDPOINT, "id")))

    assert ConnectEndpoint.from_frame(argument["endpoint"]) == ENDPOINT
    assert argument["session_id"] == "id"


def test_no_text_holds_the_token() -> None:
    assert "canary" not in f"{ENDPOINT} {ENDPOINT!r}"
