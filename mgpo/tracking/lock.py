"""One process per run directory."""

import errno
import fcntl
import logging
import os
import socket
from pathlib import Path

from mgpo.config.errors import UserError

logger = logging.getLogger(__name__)

_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class RunLock:
    """Held until `release`, or until the process dies: the kernel lets go of it in any case."""

    def __init__(self, path: Path) -> None:
        """Take the lock. Raises UserError naming the process that holds it."""
        # Never deleted: a process that still has the old file open could lock that one.
        self._file = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.seek(0)
            holder = self._file.read().strip() or "another process"
            self._file.close()
            raise UserError(
                f"{path.parent} is in use by {holder}: wait for that run, stop it, "
                "or choose another run.name"
            ) from error
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            logger.warning(
                "%s: this file system has no locks (%s); do not start the run twice",
                path.parent,
                os.strerror(error.errno),
            )
        self._file.truncate(0)
        self._file.write(f"pid {os.getpid()} on {socket.gethostname()}\n")
        self._file.flush()

    def release(self) -> None:
        """Let the next process have the run."""
        self._file.close()
