"""System calls that a sandboxed child is refused, by their numbers on each architecture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Architecture:
    """What a filter must know of one architecture; `column` is its place in the tables."""

    audit: int
    column: int
    foreign: int | None
    """The first number of another ABI (x32) under the same name."""


ARCHITECTURES: Final[Mapping[str, Architecture]] = {
    "x86_64": Architecture(0xC000003E, 0, 0x40000000),
    "aarch64": Architecture(0xC00000B7, 1, None),
}

Numbers = Mapping[str, tuple[int | None, int | None]]

REFUSED: Final[Numbers] = {
    # into other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # memory and messages that processes of one user share
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    # around the rules for files
    "open_by_handle_at": (304, 265),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    # what Landlock has no rules for: modes, owners, times and attributes of what the account owns.
    # By a descriptor too: one that was opened for reading alone suffices for these.
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    # where kernels have had holes, or that only root has a use for
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "ioperm": (173, None),
    "syslog": (103, 116),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    # system calls by another way than system calls
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}

OF_ITSELF: Final[Mapping[str, tuple[int, int]]] = {
    # of a process named by the first argument; 0 is the caller
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}

RANKS: Final[Mapping[tuple[int, int], int]] = {
    # "whose" as first argument, and which of those as second: setpriority, ioprio_set
    (141, 140): 0,
    (251, 30): 1,
}
"""Calls that rank a process, or a group, or all of a user, and what names one process."""

SIGNALLING: Final[Mapping[tuple[int, int], int]] = {
    # kill, tkill, rt_sigqueueinfo, pidfd_send_signal; tgkill, rt_tgsigqueueinfo
    (62, 129): 1,
    (200, 130): 1,
    (129, 138): 1,
    (424, 424): 1,
    (234, 131): 2,
    (297, 240): 2,
}
"""Calls that send a signal, and in which argument, from 0 on, its number stands."""

OPENING: Final[Mapping[tuple[int | None, int | None], int]] = {
    # open, openat
    (2, None): 1,
    (257, 56): 2,
}
"""Calls that may make a file, and in which argument their flags stand; the mode is the next one."""

MAKING: Final[Mapping[tuple[int | None, int | None], int]] = {
    # creat, mknod, mknodat
    (85, None): 1,
    (133, None): 1,
    (259, 33): 2,
}
"""Calls that make a file, and in which argument its mode stands."""

OPENAT2: Final = (437, 437)
FCNTL: Final = (72, 25)
SOCKET: Final = (41, 198)
SOCKETPAIR: Final = (53, 199)
IOCTL: Final = (16, 29)
CLONE: Final = (56, 220)
CLONE3: Final = (435, 435)
