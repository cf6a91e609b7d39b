"""System calls that leave something behind outside a process: refused by a filter (seccomp).

Landlock closes files to writing, but not their times, rights and attributes, nor what the kernel
keeps for a user: shared memory, queues, semaphores, keys; nor priorities and limits of other
processes. Each call that changes one of these gets "not permitted" here, in a process and in all
that it starts, for good. What a filter cannot judge is what lies behind a pointer, such as a path.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

_Program: TypeAlias = list[tuple[int, int, int, int]]
"""Instructions of the classic packet filter: code, jump if true, jump if false, constant."""

_LOAD, _EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_ALLOWED, _REFUSED = 0x7FFF0000, 0x00050001
"""Go on; or fail with EPERM."""
_NUMBER, _ARCHITECTURE, _FIRST = 0, 4, 16
"""Where the filter finds the number of a call, its architecture, its arguments of 8 bytes."""
_X32 = 0x40000000
"""Set in the numbers of a second set of calls on x86_64, which is closed as a whole."""
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_MACHINES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
)
"""The architecture that a filter is told, and the place of its numbers below."""

_CLOSED = """
utimensat:280:88 utime:132: utimes:235: futimesat:261: setxattr:188:5 lsetxattr:189:6
fsetxattr:190:7 setxattrat:463:463 removexattr:197:14 lremovexattr:198:15 fremovexattr:199:16
removexattrat:466:466 chmod:90: fchmod:91:52 fchmodat:268:53 fchmodat2:452:452 chown:92:
fchown:93:55 lchown:94: fchownat:260:54 file_setattr:469:469
shmget:29:194 shmat:30:196 shmctl:31:195 msgget:68:186 msgsnd:69:189 msgrcv:70:188 msgctl:71:187
semget:64:190 semop:65:193 semctl:66:191 semtimedop:220:192 mq_open:240:180 mq_unlink:241:181
mq_timedsend:242:182 mq_timedreceive:243:183 mq_notify:244:184 mq_getsetattr:245:185
add_key:248:217 request_key:249:218 keyctl:250:219
setpriority:141:140 ioprio_set:251:30 ptrace:101:117 process_vm_writev:311:271
process_madvise:440:440 pidfd_getfd:438:438 pidfd_send_signal:424:424 migrate_pages:256:238
move_pages:279:239
userfaultfd:323:282 io_uring_setup:425:425 io_uring_enter:426:426 io_uring_register:427:427
bpf:321:280 perf_event_open:298:241 fanotify_init:300:262
mount:165:40 umount2:166:39 pivot_root:155:41 move_mount:429:429 fsopen:430:430 fsconfig:431:431
fsmount:432:432 fspick:433:433 open_tree:428:428 open_tree_attr:467:467 mount_setattr:442:442
setns:308:268 quotactl:179:60 quotactl_fd:443:443 swapon:167:224 swapoff:168:225 acct:163:89
settimeofday:164:170 clock_settime:227:112 clock_adjtime:305:266 adjtimex:159:171
sethostname:170:161 setdomainname:171:162 reboot:169:142 init_module:175:105 finit_module:313:273
delete_module:176:106 kexec_load:246:104 kexec_file_load:320:294 syslog:103:116
open_by_handle_at:304:265
"""
"""Closed altogether, with their numbers on x86_64 and aarch64: files, what lasts between processes,
other processes, ways around a filter, mounts, and the machine's own settings (for root)."""
_OWN = "sched_setaffinity:203:122 sched_setscheduler:144:119 sched_setparam:142:118 \
sched_setattr:314:274"
"""Open for the caller itself, which is number 0: libraries with threads use them."""
_SIGNALS = "kill:62:129 tgkill:234:131 tkill:200:130 rt_sigqueueinfo:129:138 \
rt_tgsigqueueinfo:297:240"
_LIMITS, _SOCKET, _FCNTL, _IOCTL = (
    "prlimit64:302:261",
    "socket:41:198",
    "fcntl:72:25",
    "ioctl:16:29",
)
_INTERNET = (2, 10)
"""Families of sockets that stay open. Others lead to processes of this machine by name."""
_OWNERS = (8, 15, 1024, 1026, 1031, 1036)
"""Commands of fcntl: who gets signals of a file, leases, sizes of pipes, hints kept in an inode."""
_TERMINAL = (0x5401, 0x802C542A, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""Requests to terminals that only ask, and those of one descriptor alone."""
_KEPT = (0x5400, 0x5800, 0x6600, 0x7600, 0x9400)
"""Kinds of requests that change terminals, and flags of files opened for reading."""


def bar() -> bool:  # pragma: no cover  (child process)
    """Close the calls to this thread and all that it starts; tell whether the kernel did."""
    return _install(rules(platform.machine()))


def bar_signals(pid: int) -> bool:  # pragma: no cover  (child process)
    """Close signals to all processes but one, for kernels whose Landlock does not scope them."""
    return _install(signal_rules(platform.machine(), pid))


def _program(machine: str, rules: Iterable[tuple[str, _Program]]) -> _Program:
    """Return the filter of a machine: for each call its own rule, else go on."""
    told, place = _MACHINES[machine]
    made = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, told), (_RETURN, 0, 0, _REFUSED)]
    if machine == "x86_64":
        made += [(_LOAD, 0, 0, _NUMBER), (_AND, 0, 0, _X32), (_EQUAL, 0, 1, _X32)]
        made += [(_RETURN, 0, 0, _REFUSED)]
    made += [(_LOAD, 0, 0, _NUMBER)]
    for calls, body in rules:
        for call in calls.split():
            number = call.split(":")[1 + place]
            if number:
                made += [(_EQUAL, 0, len(body), int(number)), *body]
    return [*made, (_RETURN, 0, 0, _ALLOWED)]


def rules(machine: str) -> _Program:
    """Return the filter, or nothing for a machine whose numbers are not known here."""
    if machine not in _MACHINES:
        return []
    limits = [  # those of another process may be asked for, not set: no pointer to new ones
        (_LOAD, 0, 0, _FIRST), (_EQUAL, 4, 0, 0),
        (_LOAD, 0, 0, _FIRST + 16), (_EQUAL, 0, 3, 0),
        (_LOAD, 0, 0, _FIRST + 20), (_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOWED), (_RETURN, 0, 0, _REFUSED),
    ]  # fmt: skip
    requests = [
        (_LOAD, 0, 0, _FIRST + 8), *_where(_TERMINAL, _ALLOWED),
        (_AND, 0, 0, 0xFF00), *_where(_KEPT, _REFUSED), (_RETURN, 0, 0, _ALLOWED),
    ]  # fmt: skip
    found = [(_CLOSED, [(_RETURN, 0, 0, _REFUSED)]), (_OWN, _only((0,))), (_LIMITS, limits)]
    found += [(_SOCKET, _only(_INTERNET)), (_IOCTL, requests)]
    commands = [(_LOAD, 0, 0, _FIRST + 8), *_where(_OWNERS, _REFUSED), (_RETURN, 0, 0, _ALLOWED)]
    return _program(machine, [*found, (_FCNTL, commands)])


def signal_rules(machine: str, pid: int) -> _Program:
    """Return the filter that lets signals through to one process."""
    return _program(machine, [(_SIGNALS, _only((pid,)))]) if machine in _MACHINES else []


def _only(values: tuple[int, ...]) -> _Program:
    """Refuse a call unless its first argument is one of these."""
    return [(_LOAD, 0, 0, _FIRST), *_where(values, _ALLOWED), (_RETURN, 0, 0, _REFUSED)]


def _where(values: tuple[int, ...], verdict: int) -> _Program:
    """End with a verdict if what was loaded is one of these."""
    return [step for v in values for step in ((_EQUAL, 0, 1, v), (_RETURN, 0, 0, verdict))]


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def _install(steps: _Program) -> bool:  # pragma: no cover  (child process)
    """Hand a filter to the kernel, which needs a promise that no program started gains rights."""
    if not steps:
        return False
    prctl, zero = ctypes.CDLL(None).prctl, ctypes.c_ulong(0)
    packed = b"".join(struct.pack("<HBBI", *step) for step in steps)
    prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), zero, zero, zero)
    given = ctypes.byref(_Filter(len(steps), packed))
    return bool(prctl(_SECCOMP, ctypes.c_ulong(_FILTER), given, zero, zero) == 0)
