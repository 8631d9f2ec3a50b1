"""The system call filter: a deny-list, so that unusual but right programs keep working.

What is denied fails with EPERM. Calls newer than the tested kernels, and clone3, fail with ENOSYS,
for which the C library has fallbacks. Only a foreign architecture kills.
"""

import ctypes
import errno
import struct
from collections.abc import Mapping, Sequence

from sandbox.isolation import linux

_NEWEST_TESTED = 456  # futex_requeue
_CLONE_THREAD = 0x00010000
# ioctl: TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP
_IOCTLS = (0x5412, 0x541C, 0x8901, 0x8902)
# fcntl: F_SETOWN, F_SETSIG, F_SETOWN_EX, by which the kernel signals another process
_FCNTLS = (8, 10, 15)
_SET_PARENT_DEATH_SIGNAL = 1  # prctl: a program must not outlive its zygote
_PACKETS = 2  # socketpair: SOCK_DGRAM, which can send to any address

# Name: number on x86_64, on aarch64 (None where the machine has no such call).
_DENIED: Mapping[str, tuple[int | None, int | None]] = {
    # network; socketpair stays, event loops need it
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "kcmp": (312, 272),
    "tkill": (200, 130),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "setpriority": (141, 140),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "ioprio_set": (251, 30),
    # mounts and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "fanotify_init": (300, 262),
    # parts of the kernel with a history of holes
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "modify_ldt": (154, None),
    "seccomp": (317, 277),
    # code and memory that outlive or escape the file rules
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # the machine
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
    "acct": (163, 89),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "personality": (135, 92),
    "vhangup": (153, 58),
}
# Where no Landlock guards the files: whatever changes one, or its name.
_CHANGES_FILES: Mapping[str, tuple[int | None, int | None]] = {
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "truncate": (76, 45),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "creat": (85, None),
    "fchmodat2": (452, 452),
}
_OPEN, _OPENAT = (2, None), (257, 56)
_OPENAT2 = 437
_FOR_WRITING = 0x400243  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_TMPFILE
_NEW_PROGRAM = {"execve": (59, 221), "execveat": (322, 281)}
_NEW_PROCESS = {"fork": (57, None), "vfork": (58, None)}
_CLONE = (56, 220)
_CLONE3 = 435
_IOCTL, _FCNTL, _PRCTL, _SOCKETPAIR = (16, 29), (72, 25), (157, 167), (53, 199)
# Their first argument names a process: only the caller itself will do.
_OF_ITSELF = {
    "kill": (62, 129),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}
# The same, where 0 is the caller too.
_OF_ITSELF_OR_ZERO = {
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
}

_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _BITS, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_OFFSET_NUMBER, _OFFSET_ARCHITECTURE, _OFFSET_ARGUMENT = 0, 4, (16, 24, 32)
_ALLOW, _KILL_PROCESS = 0x7FFF0000, 0x80000000
_EPERM = 0x00050000 | errno.EPERM
_ENOSYS = 0x00050000 | errno.ENOSYS

_Instruction = tuple[int, int, int, int]


class SyscallFilter:
    """A compiled filter, whose process id is filled in by the process that loads it."""

    def __init__(
        self,
        *,
        allow_processes: bool = False,
        allow_programs: bool = False,
        forbid_changes: bool = False,
        forbid_writing: bool = False,
    ):
        """`allow_processes` lets it fork, `allow_programs` lets it execute files.

        `forbid_changes` refuses what Landlock does not know: modes, owners, times, names.
        `forbid_writing` refuses to open files for writing, where there is no Landlock.
        """
        column = linux.SUPPORTED_MACHINES.index(linux.MACHINE)
        self._instructions: list[_Instruction] = []
        self._own_id: list[int] = []
        self._start()
        denied = dict(_DENIED)
        if not allow_programs:
            denied |= _NEW_PROGRAM
        if not allow_processes:
            denied |= _NEW_PROCESS
        if forbid_changes:
            denied |= _CHANGES_FILES
        if forbid_writing:
            self._deny_writing(_OPEN[column], _OFFSET_ARGUMENT[1])
            self._deny_writing(_OPENAT[column], _OFFSET_ARGUMENT[2])
            self._add((_EQUAL, 0, 1, _OPENAT2), (_RETURN, 0, 0, _ENOSYS))
        for numbers in denied.values():
            self._deny(numbers[column])
        if not allow_processes:
            self._deny_unless_thread(_CLONE[column])
        for name, numbers in (_OF_ITSELF | _OF_ITSELF_OR_ZERO).items():
            self._deny_unless_itself(numbers[column], or_zero=name in _OF_ITSELF_OR_ZERO)
        self._deny_values(_IOCTL[column], _OFFSET_ARGUMENT[1], _IOCTLS)
        self._deny_values(_FCNTL[column], _OFFSET_ARGUMENT[1], _FCNTLS)
        self._deny_values(_PRCTL[column], _OFFSET_ARGUMENT[0], (_SET_PARENT_DEATH_SIGNAL,))
        self._deny_values(_SOCKETPAIR[column], _OFFSET_ARGUMENT[1], (_PACKETS,), mask=0xF)
        self._add((_RETURN, 0, 0, _ALLOW))
        packed = b"".join(struct.pack("=HBBI", *line) for line in self._instructions)
        self._code = ctypes.create_string_buffer(packed, len(packed))

    def load(self, own_id: int) -> None:
        """Put the calling thread, whose process id is `own_id`, under the filter, for good.

        Needs no_new_privs. Raises OSError.
        """
        for index in self._own_id:
            struct.pack_into("=I", self._code, index * 8 + 4, own_id)
        program = struct.pack("=HxxxxxxQ", len(self._instructions), ctypes.addressof(self._code))
        linux.prctl(linux.PR_SET_SECCOMP, 2, program)

    def _add(self, *lines: _Instruction) -> None:
        self._instructions += lines

    def _start(self) -> None:
        self._add(
            (_LOAD, 0, 0, _OFFSET_ARCHITECTURE),
            (_EQUAL, 1, 0, _ARCHITECTURE[linux.MACHINE]),
            (_RETURN, 0, 0, _KILL_PROCESS),
            (_LOAD, 0, 0, _OFFSET_NUMBER),
        )
        if linux.MACHINE == "x86_64":
            self._add((_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _KILL_PROCESS))
        self._add(
            (_AT_LEAST, 0, 1, _NEWEST_TESTED + 1),
            (_RETURN, 0, 0, _ENOSYS),
            (_EQUAL, 0, 1, _CLONE3),
            (_RETURN, 0, 0, _ENOSYS),
        )

    def _deny(self, number: int | None) -> None:
        if number is not None:
            self._add((_EQUAL, 0, 1, number), (_RETURN, 0, 0, _EPERM))

    def _deny_writing(self, number: int | None, flags: int) -> None:
        if number is not None:
            self._add(
                (_EQUAL, 0, 4, number),
                (_LOAD, 0, 0, flags),
                (_BITS, 0, 1, _FOR_WRITING),
                (_RETURN, 0, 0, _EPERM),
                (_LOAD, 0, 0, _OFFSET_NUMBER),
            )

    def _deny_unless_thread(self, number: int) -> None:
        self._add(
            (_EQUAL, 0, 4, number),
            (_LOAD, 0, 0, _OFFSET_ARGUMENT[0]),
            (_BITS, 1, 0, _CLONE_THREAD),
            (_RETURN, 0, 0, _EPERM),
            (_LOAD, 0, 0, _OFFSET_NUMBER),
        )

    def _deny_unless_itself(self, number: int, *, or_zero: bool) -> None:
        self._add((_EQUAL, 0, 4 + or_zero, number), (_LOAD, 0, 0, _OFFSET_ARGUMENT[0]))
        if or_zero:
            self._add((_EQUAL, 2, 0, 0))
        self._own_id.append(len(self._instructions))
        self._add(
            (_EQUAL, 1, 0, 0),
            (_RETURN, 0, 0, _EPERM),
            (_LOAD, 0, 0, _OFFSET_NUMBER),
        )

    def _deny_values(
        self, number: int, argument: int, values: Sequence[int], mask: int = 0xFFFFFFFF
    ) -> None:
        """Deny a call when an argument, under the mask, has one of the values."""
        checks = [
            line for value in values for line in ((_EQUAL, 0, 1, value), (_RETURN, 0, 0, _EPERM))
        ]
        self._add(
            (_EQUAL, 0, 3 + len(checks), number),
            (_LOAD, 0, 0, argument),
            (_AND, 0, 0, mask),
            *checks,
            (_LOAD, 0, 0, _OFFSET_NUMBER),
        )
