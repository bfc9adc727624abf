"""The numbers of system calls against those of the kernel, which are written down here anew."""

from typing import Final

import pytest

from headway.runtime.sandbox.system_calls import (
    ARCHITECTURES,
    CLONE,
    CLONE3,
    FCNTL,
    IOCTL,
    MAKING,
    OF_ITSELF,
    OPENAT2,
    OPENING,
    RANKS,
    REFUSED,
    SIGNALLING,
    SOCKET,
    SOCKETPAIR,
)

KERNEL: Final = """
ptrace 101 117
process_vm_readv 310 270
process_vm_writev 311 271
process_madvise 440 440
pidfd_getfd 438 438
kcmp 312 272
shmget 29 194
shmat 30 196
shmctl 31 195
semget 64 190
semop 65 193
semtimedop 220 192
semctl 66 191
msgget 68 186
msgsnd 69 189
msgrcv 70 188
msgctl 71 187
mq_open 240 180
open_by_handle_at 304 265
mount 165 40
umount2 166 39
pivot_root 155 41
chroot 161 51
open_tree 428 428
open_tree_attr 467 467
move_mount 429 429
fsopen 430 430
fsconfig 431 431
fsmount 432 432
fspick 433 433
mount_setattr 442 442
unshare 272 97
setns 308 268
chmod 90 -
fchmod 91 52
fchmodat 268 53
fchmodat2 452 452
chown 92 -
fchown 93 55
lchown 94 -
fchownat 260 54
utime 132 -
utimes 235 -
futimesat 261 -
utimensat 280 88
setxattr 188 5
lsetxattr 189 6
fsetxattr 190 7
setxattrat 463 463
removexattr 197 14
lremovexattr 198 15
fremovexattr 199 16
removexattrat 466 466
file_setattr 469 469
add_key 248 217
request_key 249 218
keyctl 250 219
bpf 321 280
userfaultfd 323 282
perf_event_open 298 241
kexec_load 246 104
kexec_file_load 320 294
init_module 175 105
finit_module 313 273
delete_module 176 106
modify_ldt 154 -
iopl 172 -
ioperm 173 -
syslog 103 116
acct 163 89
swapon 167 224
swapoff 168 225
reboot 169 142
io_uring_setup 425 425
io_uring_enter 426 426
io_uring_register 427 427
prlimit64 302 261
sched_setaffinity 203 122
sched_setattr 314 274
sched_setparam 142 118
sched_setscheduler 144 119
migrate_pages 256 238
move_pages 279 239
setpriority 141 140
ioprio_set 251 30
kill 62 129
tkill 200 130
rt_sigqueueinfo 129 138
pidfd_send_signal 424 424
tgkill 234 131
rt_tgsigqueueinfo 297 240
open 2 -
openat 257 56
creat 85 -
mknod 133 -
mknodat 259 33
openat2 437 437
fcntl 72 25
socket 41 198
socketpair 53 199
ioctl 16 29
clone 56 220
clone3 435 435
"""
"""Name; number in Linux 6.17's arch/x86/entry/syscalls/syscall_64.tbl; number in its
include/uapi/asm-generic/unistd.h, which is that of aarch64."""

Numbers = tuple[int | None, ...]


def numbers(name: str) -> Numbers:
    (found,) = (line.split()[1:] for line in KERNEL.split("\n") if line.split()[:1] == [name])
    return tuple(None if number == "-" else int(number) for number in found)


@pytest.mark.parametrize("name", [*REFUSED, *OF_ITSELF])
def test_a_call_that_is_named_has_the_numbers_of_the_kernel(name: str) -> None:
    assert {**REFUSED, **OF_ITSELF}[name] == numbers(name)


def test_calls_that_have_no_name_here_have_the_numbers_of_the_kernel() -> None:
    assert {
        name: numbers(name)
        for name in ("socket", "socketpair", "clone", "clone3", "ioctl", "fcntl", "openat2")
    } == {
        "socket": SOCKET,
        "socketpair": SOCKETPAIR,
        "clone": CLONE,
        "clone3": CLONE3,
        "ioctl": IOCTL,
        "fcntl": FCNTL,
        "openat2": OPENAT2,
    }
    assert list(RANKS) == [numbers("setpriority"), numbers("ioprio_set")]
    assert list(OPENING) == [numbers("open"), numbers("openat")]
    assert list(MAKING) == [numbers("creat"), numbers("mknod"), numbers("mknodat")]
    assert list(SIGNALLING) == [
        numbers(name)
        for name in (
            *("kill", "tkill", "rt_sigqueueinfo", "pidfd_send_signal"),
            *("tgkill", "rt_tgsigqueueinfo"),
        )
    ]


def test_an_architecture_has_the_number_of_the_kernels_audit() -> None:
    """EM_X86_64 is 62, EM_AARCH64 is 183; both are of 64 bits and little-endian."""
    of_64_bits, little_endian = 0x80000000, 0x40000000

    assert ARCHITECTURES["x86_64"].audit == 62 | of_64_bits | little_endian
    assert ARCHITECTURES["aarch64"].audit == 183 | of_64_bits | little_endian
