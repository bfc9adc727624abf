"""The fork server: run user code in child processes that cannot outlive their supervisor.

A fork server imports modules once and forks processes that share them.  There are two kinds.
`nannies` forks *children*, which run code that nobody vouches for: a nanny outlives each, kills
all that is left of it, and reports its end.  `services` forks *services*, which are Headway's
own programs: they end as any program does, and are told to (SIGTERM) when their fork server dies.

# Children

    supervisor ──control──▶ forker ──fork──▶ nanny ──fork──▶ child ──▶ its descendants
        ├───────────reins──────────────────────┘              │
        └───────────channel───────────────────────────────────┘

A supervisor (parser or worker) starts one *forker*, a program of its own with a
scrubbed environment, which imports what children need and then only forks nannies.
Each living child has a *nanny* above it; the *reins* join it to the supervisor, which
orders (start, stop, kill) and hears (the child's pid, then its exit).  When its child
has ended, the nanny is kept for the next one.  The child and the supervisor talk in
frames over the *channel*.

The child's target is called as `target(argument, channel)`.  It is the leader of a
new session, reads nothing from stdin, writes stdout and stderr to its log, has no
other open file but the channel, default signals, umask 022, no core dumps, and the
forker's environment plus what was asked for.  When the target returns, output is
flushed and the process leaves at once: no atexit function runs, no thread is
awaited.  An exception is printed to the log and gives exit code 1.

What holds, on Linux:
1. When an exit is reported no descendant of the child lives, setsid and daemons or
   not: the nanny is their subreaper and kills until the kernel knows of none.
2. When the supervisor dies, every tree is killed: reins and control end.
3. When the forker dies, every tree is killed and every child is reported lost: only
   the forker holds the other end of the nannies' lifeline, a pipe.
4. When a nanny is killed (a child of the same user can do that), its child dies with
   it, the forker kills the rest of the tree, and the child is reported lost.
5. A nanny that somebody has stopped is killed by the forker, on Linux; `close` also ends a
   forker, and nannies, that were stopped.
6. A child with a deadline (`Limits.until`) has its tree killed at that moment by its nanny, also
   while the supervisor or the forker is stopped; `Child.hold_until` moves it (ADR 17).

What does not hold: a child that kills its nanny *and* the forker may leave daemons
behind; a descendant that became another user (a setuid program) is waited for, not
killed, and an exit is not reported before it ends; with a nanny *and* the forker stopped
nobody enforces a deadline; a fork bomb needs a limit of the
platform (pids cgroup), or a sandbox.  On macOS there is no subreaper: the child's process group is
killed, and what has left it survives.

A child that runs code nobody vouches for has a `Sandbox`.  Its nanny is then process 1
of a PID namespace, where the kernel allows that: 1 to 5 hold without exception, and a
child's process id means nothing outside.  Sandboxed children have nannies of their own,
each with a scratch folder; `headway.runtime.sandbox` holds the layers, docs/isolation.md
what they stop.  The forker may also be a program of its own (`headway forker`), which
supervisors `connect` to: it forks a server for each, and outlives them.

A child may be a forker itself (`nannies.attend`), which a supervisor has by `Forker.within`.  Its
children have the layers that it has; they may enter the rules for files once more.

Two notes for modules that are preloaded: they must open no connection and leave no
thread running; and random generators other than Python's own (NumPy's global one)
continue alike in all children unless the module reseeds them with
`os.register_at_fork(after_in_child=…)`.

# Services

    launcher ──control──▶ fork server ──fork──▶ service

Most of a service's memory, and of the time that it takes to start, is modules.  The services of
one machine share those that all of them need.

This fork server knows no secret: it has the environment of the service that may know least, and no
connection.  A service gets its own environment with the order to start, over the socket; /proc
shows that to nobody.  It is the leader of a new session, has default signals, reads nothing from
stdin and writes to the file that came with the order.  From then on it runs like the program of
the same arguments, to the interpreter's own end.

The kernel tells a service to end when its fork server ends, and that when the launcher does,
however that happens.  Once the launcher lets go of the control, the fork server ends what it has
forked, and leaves when nothing of it is left.
"""

from headway.runtime.forker.client import Forker
from headway.runtime.forker.handle import Child
from headway.runtime.forker.prefork import Prefork, PreforkError, Service
from headway.runtime.forker.records import ChildLimits, ChildSpec, Exit, ForkerError, ServiceOrder
from headway.runtime.sandbox import Isolation, Layer, Sandbox

__all__ = [
    "Child",
    "ChildLimits",
    "ChildSpec",
    "Exit",
    "Forker",
    "ForkerError",
    "Isolation",
    "Layer",
    "Prefork",
    "PreforkError",
    "Sandbox",
    "Service",
    "ServiceOrder",
]
