"""SQS for functions that run in processes of their own, and Lambda's mapping from it to them.

moto plays it in this process; here is the little of HTTP that boto3 and it need between them.
"""

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
from botocore.exceptions import ClientError

from lamplighter.adapters.sqs.queues import queue_name
from tests.adapters.bus.moto_sqs import playing_sqs

REGION = "eu-central-1"


@contextmanager
def sqs_endpoint() -> Iterator[tuple[str, Any]]:
    """Its address, and a client of this process."""
    with playing_sqs():
        client = boto3.client("sqs", region_name=REGION)
        server = ThreadingHTTPServer(("127.0.0.1", 0), _answering(client))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=[0.05]).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", client
        finally:
            server.shutdown()
            server.server_close()


def _answering(client: Any) -> type[BaseHTTPRequestHandler]:
    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """AWS's JSON protocol: the operation is in a header."""
            operation = self.headers["x-amz-target"].rpartition(".")[2]
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            try:
                self._send(200, client._make_api_call(operation, _binaries(asked, _decoded)))
            except ClientError as refused:
                error = refused.response["Error"]
                self._send(400, {"message": error["Message"]}, error)

        def _send(self, status: int, body: Any, error: Any = None) -> None:
            if error:
                body["__type"] = error.get("QueryErrorCode", error["Code"])
            data = json.dumps(_binaries(body, _encoded)).encode()
            self.send_response(status)
            if error:
                self.send_header("x-amzn-query-error", f"{error['Code']};Sender")
            self.send_header("content-type", "application/x-amz-json-1.0")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    return Answering


def _binaries(value: Any, change: Callable[[Any], Any]) -> Any:
    """What is bytes in Python is base64 in JSON."""
    if isinstance(value, list):
        return [_binaries(each, change) for each in value]
    if isinstance(value, dict):
        return {
            name: change(each) if name == "BinaryValue" else _binaries(each, change)
            for name, each in value.items()
            if name != "ResponseMetadata"
        }
    return value


def _decoded(text: str) -> bytes:
    return base64.b64decode(text)


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def deliver(client: Any, prefix: str, topic: str, function: Callable[[object], Any]) -> int:
    """What is in a topic's queue, a batch of ten, to a function; what it has done is gone."""
    url = client.get_queue_url(QueueName=queue_name(prefix, topic))["QueueUrl"]
    found = client.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], AttributeNames=["All"]
    ).get("Messages", [])
    if not found:
        return 0
    answer = function({"Records": [_record(each, queue_name(prefix, topic)) for each in found]})
    failed = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
    for each in found:
        if each["MessageId"] not in failed:
            client.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
    return len(found)


def _record(message: dict[str, Any], queue: str) -> dict[str, Any]:
    """As in `events/executor_sqs.json`."""
    attributes = _binaries(message.get("MessageAttributes", {}), _encoded)
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {
            name: {key[0].lower() + key[1:]: value for key, value in each.items()}
            for name, each in attributes.items()
        },
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{REGION}:123456789012:{queue}",
        "awsRegion": REGION,
    }
