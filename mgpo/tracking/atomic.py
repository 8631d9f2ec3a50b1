"""Files that are either whole or not there, also when the process is killed while it writes."""

import os
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file by new content: temporary file in the same folder, fsync, rename, fsync."""
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".writing_{path.name}")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
