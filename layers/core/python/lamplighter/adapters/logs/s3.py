"""Logs in S3: one request for an ordinary log, parts for a long one, one of them in memory."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.ports.logs import LogName, LogsUnavailable

# S3's least for all parts but the last. 10,000 of them are far beyond any log's limit.
PART_BYTES: Final = 5 * 1024 * 1024
_TYPE: Final = "text/plain; charset=utf-8"
_FAILURES: Final = (BotoCoreError, ClientError)


class S3Logs:
    def __init__(self, bucket: str, clients: Clients, prefix: str = "logs") -> None:
        self._bucket = bucket
        self._clients = clients
        self._prefix = prefix

    def url(self, name: LogName) -> str:
        return f"s3://{self._bucket}/{self._prefix}/{name.key}"

    def open(self, name: LogName) -> "S3Log":
        return S3Log(self._client(), self._bucket, f"{self._prefix}/{name.key}")

    def read(self, url: str, offset: int = 0, limit: int = 1024 * 1024) -> bytes:
        start = f"s3://{self._bucket}/"
        if not url.startswith(f"{start}{self._prefix}/"):
            raise LogsUnavailable(f"{url} is not in this deployment's log bucket")
        wanted = {"Key": url.removeprefix(start), "Range": f"bytes={offset}-{offset + limit - 1}"}
        try:
            answer = self._client().get_object(Bucket=self._bucket, **wanted)
            return bytes(answer["Body"].read())
        except ClientError as problem:
            if problem.response["Error"]["Code"] == "InvalidRange":  # its end has been read
                return b""
            raise LogsUnavailable(f"cannot read {url}: {problem}") from None
        except BotoCoreError as problem:
            raise LogsUnavailable(f"cannot read {url}: {problem}") from None

    def _client(self) -> Any:
        return self._clients.get("s3")


class S3Log:
    def __init__(self, client: Any, bucket: str, key: str) -> None:
        self._client = client
        self._where = {"Bucket": bucket, "Key": key}
        self._buffer = bytearray()
        self._upload: dict[str, str] | None = None
        self._parts: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= PART_BYTES:
            part = bytes(self._buffer[:PART_BYTES])
            del self._buffer[:PART_BYTES]
            self._try(partial(self._send_part, part))

    def close(self) -> str:
        self._try(self._finish)
        return f"s3://{self._where['Bucket']}/{self._where['Key']}"

    def discard(self) -> None:
        """An unfinished upload costs storage until it is aborted, and nobody sees it."""
        if self._upload is None:
            return
        try:
            self._client.abort_multipart_upload(**self._where, **self._upload)
        except _FAILURES:
            return  # the bucket's lifecycle rule removes what is left

    def _finish(self) -> None:
        if self._upload is None:
            self._client.put_object(**self._where, Body=bytes(self._buffer), ContentType=_TYPE)
            return
        if self._buffer:
            self._send_part(bytes(self._buffer))
        self._client.complete_multipart_upload(
            **self._where, **self._upload, MultipartUpload={"Parts": self._parts}
        )

    def _send_part(self, data: bytes) -> None:
        if self._upload is None:
            begun = self._client.create_multipart_upload(**self._where, ContentType=_TYPE)
            self._upload = {"UploadId": begun["UploadId"]}
        number = len(self._parts) + 1
        sent = self._client.upload_part(**self._where, **self._upload, PartNumber=number, Body=data)
        self._parts.append({"PartNumber": number, "ETag": sent["ETag"]})

    def _try(self, step: Callable[[], None]) -> None:
        try:
            step()
        except _FAILURES as problem:
            raise LogsUnavailable(f"S3 did not take a log: {problem}") from None
