"""A supervisor to be killed: starts two children that hang, then tells all process ids."""

import json
import os
import signal
import sys

from headway.runtime.forker import ChildSpec, Forker
from headway.runtime.frames import receive_frame

forker = Forker.start(["forker_targets"], dict(os.environ))
log = os.open(os.devnull, os.O_WRONLY)
children = [forker.spawn(ChildSpec(target="forker_targets:hang"), log) for _ in range(2)]
pids = [forker.pid]
for child in children:
    told = receive_frame(child.channel)
    assert told is not None
    pids += [told["nanny"], *told["pids"]]
sys.stdout.write(json.dumps(pids) + "\n")
sys.stdout.flush()
while True:
    signal.pause()
