"""A supervisor to be killed or stopped: starts two children that hang, then tells all process ids.

An argument is how many seconds they may live.
"""

import json
import os
import signal
import sys

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker import ChildLimits, ChildSpec, Forker
from headway.runtime.processes.frames import receive_frame

forker = Forker.start(["forker_targets"], dict(os.environ))
log = os.open(os.devnull, os.O_WRONLY)
until = SystemClock().monotonic() + float(sys.argv[1]) if sys.argv[1:] else None
spec = ChildSpec(target="forker_targets:hang", limits=ChildLimits(until=until))
children = [forker.spawn(spec, log) for _ in range(2)]
pids = [forker.pid]
for child in children:
    told = receive_frame(child.channel)
    assert told is not None
    pids += [told["nanny"], *told["pids"]]
sys.stdout.write(json.dumps(pids) + "\n")
sys.stdout.flush()
while True:
    signal.pause()
