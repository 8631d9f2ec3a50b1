"""run.log: what the run's driver logs, of every launch."""

import logging
from pathlib import Path

_LOGGERS = ("mgpo", "rewards")
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class RunLog:
    """Copies the records of our own loggers from INFO on into a file, while open."""

    def __init__(self, path: Path) -> None:
        self._handler = logging.FileHandler(path, encoding="utf-8")
        self._handler.setFormatter(logging.Formatter(_FORMAT))
        self._levels = {name: logging.getLogger(name).level for name in _LOGGERS}
        for name in _LOGGERS:
            log = logging.getLogger(name)
            if log.getEffectiveLevel() > logging.INFO:
                log.setLevel(logging.INFO)
            log.addHandler(self._handler)

    def close(self) -> None:
        """Detach from the loggers and close the file."""
        for name, level in self._levels.items():
            logging.getLogger(name).removeHandler(self._handler)
            logging.getLogger(name).setLevel(level)
        self._handler.close()
