"""Logs in a folder: what S3 is on AWS, on one machine."""

from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from lamplighter.ports.logs import LogName, LogsUnavailable


class FolderLogs:
    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def url(self, name: LogName) -> str:
        return (self._folder / name.key).as_uri()

    def open(self, name: LogName) -> "FileLog":
        path = self._folder / name.key
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: whoever follows the log of a running command sees it at once.
            return FileLog(path, path.open("wb", buffering=0))
        except OSError as problem:
            raise LogsUnavailable(f"cannot write {path}: {problem.strerror}") from None

    def read(self, url: str, offset: int = 0, limit: int = 1024 * 1024) -> bytes:
        path = Path(unquote(urlsplit(url).path)).resolve()
        if not url.startswith("file://") or not path.is_relative_to(self._folder):
            raise LogsUnavailable(f"{url} is not in this worker's log folder")
        try:
            with path.open("rb") as log:
                log.seek(offset)
                return log.read(limit)
        except OSError as problem:
            raise LogsUnavailable(f"cannot read {url}: {problem.strerror}") from None


class FileLog:
    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        except OSError as problem:
            raise LogsUnavailable(f"cannot write {self._path}: {problem.strerror}") from None

    def close(self) -> str:
        self._file.close()
        return self._path.as_uri()

    def discard(self) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)
