"""Files that are whole or not there, also when the process is killed while it writes."""

import os
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file beside its place, flush it to disk, and rename it."""
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.writing")
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
