"""An endpoint on loopback that answers as a test wants it to, or behaves badly."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

Act = Callable[["Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """Hold one request and send what the test's act wants."""

    protocol_version = "HTTP/1.1"
    endpoint: Endpoint
    body: dict[str, Any]

    def do_POST(self) -> None:
        """Keep the request, and let the next act answer; the last act answers everything that follows."""
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        self.body = json.loads(raw)
        endpoint = self.endpoint
        with endpoint.lock:
            endpoint.requests.append((self.path, dict(self.headers), self.body))
            act = endpoint.acts[min(len(endpoint.requests), len(endpoint.acts)) - 1]
        try:
            act(self)
        except OSError:
            self.close_connection = True  # the client has gone, which is what some tests want

    do_GET = do_POST  # noqa: N815  the name that http.server looks for

    def send(
        self,
        body: bytes,
        *,
        status: int = 200,
        content_type: str = "application/json",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Send a whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@dataclass
class Endpoint:
    """Hold what is to be answered, in order, and what was asked: path, headers and body of each request."""

    acts: list[Act]
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""
    ending: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serve(*acts: Act) -> Iterator[Endpoint]:
    """Serve these acts on a free port of loopback until the block ends."""
    endpoint = Endpoint(acts=list(acts))
    handler = type("BoundExchange", (Exchange,), {"endpoint": endpoint})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.block_on_close = False
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.ending.set()
        server.shutdown()
        server.server_close()
        thread.join()


def complete(content: Any, *, tokens: Any = 321, **message: Any) -> bytes:
    """Return a completion whose message has this content."""
    reply = {
        "choices": [{"message": {"role": "assistant", "content": content, **message}, "finish_reason": "stop"}],
        "usage": {"total_tokens": tokens},
    }
    return json.dumps(reply).encode()


def answer(content: Any, **more: Any) -> Act:
    """Answer with a completion; what is no text is sent as JSON."""
    text = content if isinstance(content, str | None) else json.dumps(content)
    return lambda exchange: exchange.send(complete(text, **more))


def refuse(status: int, **headers: str) -> Act:
    """Answer with a status and nothing else."""
    return lambda exchange: exchange.send(b"{}", status=status, headers=headers)


def raw(body: bytes, *, content_type: str = "application/json", **headers: str) -> Act:
    """Answer 200 with these bytes."""
    return lambda exchange: exchange.send(body, content_type=content_type, headers=headers)


def hang(exchange: Exchange) -> None:
    """Take the request and never answer."""
    exchange.endpoint.ending.wait(30)


def drip(exchange: Exchange) -> None:
    """Send a byte now and then, for ever, as part of a body."""
    exchange.send_response(200)
    exchange.send_header("Content-Length", "100000")
    exchange.end_headers()
    while not exchange.endpoint.ending.wait(0.05):
        exchange.wfile.write(b" ")
        exchange.wfile.flush()


def drip_headers(exchange: Exchange) -> None:
    """Send a header byte now and then, for ever."""
    exchange.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not exchange.endpoint.ending.wait(0.05):
        exchange.wfile.write(b"x")
        exchange.wfile.flush()


def cut(exchange: Exchange) -> None:
    """Promise more than is sent, and close."""
    exchange.send_response(200)
    exchange.send_header("Content-Length", "5000")
    exchange.end_headers()
    exchange.wfile.write(complete("{}")[:40])
    exchange.wfile.flush()
    exchange.close_connection = True


def reset(exchange: Exchange) -> None:
    """Cut the connection without a word."""
    exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.close_connection = True


def flood(exchange: Exchange) -> None:
    """Send a body without end, in chunks."""
    exchange.send_response(200)
    exchange.send_header("Transfer-Encoding", "chunked")
    exchange.end_headers()
    piece = b" " * 65536
    while not exchange.endpoint.ending.is_set():
        exchange.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
