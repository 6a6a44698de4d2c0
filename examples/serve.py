# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A server for a compiled model, with nothing but the standard library, NumPy and tvm-ffi.

Usage: serve.py MODEL.so [--port 8000] [--function main]

    curl -X POST http://127.0.0.1:8000/v1/main -d '{"inputs": [[[1, 2, 3, 4]]]}'

A request has the arguments of the function, as nested lists or as ``{"dtype": ..., "data": ...}``;
the response has the result. An argument that does not fit is an answer of status 400 with the
message, and the server goes on. Requests run at the same time, in a thread each.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import numpy as np
import tvm_ffi

MOST_BYTES = 64 * 2**20  # of a request


def as_array(value: Any) -> np.ndarray:
    """Return an argument of a request as an array; float32 unless it says otherwise."""
    if isinstance(value, dict):
        return np.asarray(value["data"], value["dtype"])
    return np.asarray(value, "float32")


def as_lists(value: Any) -> Any:
    """Return a result as nested lists; a tuple is a list of its fields."""
    if isinstance(value, tvm_ffi.Tensor):
        return np.from_dlpack(value).tolist()
    return [as_lists(field) for field in value]


class Handler(BaseHTTPRequestHandler):
    """Answers ``POST /v1/<function>`` by a call, and ``GET /healthz`` by "ok"."""

    protocol_version = "HTTP/1.1"
    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def do_GET(self) -> None:
        """Say that the server is there."""
        known = self.path == "/healthz"
        self._answer(200 if known else 404, "ok" if known else {"error": "expected /healthz"})

    def do_POST(self) -> None:
        """Call a function."""
        size = int(self.headers.get("Content-Length", 0))
        if size > MOST_BYTES:
            self.close_connection = True
            self._answer(413, {"error": f"expected at most {MOST_BYTES} bytes, but got {size}"})
            return
        body = self.rfile.read(size)
        function = self.functions.get(self.path.removeprefix("/v1/"))
        if function is None:
            names = ", ".join(self.functions)
            self._answer(404, {"error": f"expected /v1/ and one of {names}, but got {self.path}"})
            return
        try:
            inputs = [as_array(value) for value in json.loads(body)["inputs"]]
            self._answer(200, {"output": as_lists(function(*inputs))})
        except (KeyError, TypeError, ValueError) as error:  # of the request, or of an argument
            self._answer(400, {"error": f"{type(error).__name__}: {error}"})
        except Exception as error:  # of the model: the server goes on
            self._answer(500, {"error": f"{type(error).__name__}: {error}"})

    def _answer(self, status: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class's name)
        """Log nothing."""


def make_server(functions: dict[str, Callable[..., Any]], port: int) -> ThreadingHTTPServer:
    """Return a server of functions by name; port 0 is any that is free."""
    handler = type("Handler", (Handler,), {"functions": functions})
    return ThreadingHTTPServer(("127.0.0.1", port), handler)


def main() -> None:
    """Serve until Control-C."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="what export_library wrote")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--function", action="append", help="its name; main by default")
    given = parser.parse_args()
    module = tvm_ffi.load_module(given.model)
    server = make_server({name: module[name] for name in given.function or ["main"]}, given.port)
    print(f"http://127.0.0.1:{server.server_port}/v1/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()
