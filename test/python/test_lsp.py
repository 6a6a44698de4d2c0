# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The language server, as an editor talks to it: messages with a length, through pipes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import generate_op_docs
import pytest

SERVER = shutil.which("relax-lsp-server")
URI = "file:///main.mlir"
TEXT = """\
func.func private @kernel(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32>
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
"""

needs_server = pytest.mark.skipif(SERVER is None, reason="relax-lsp-server is not on PATH")


class Client:
    """An editor."""

    def __init__(self) -> None:
        pipe, log = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen([SERVER], stdin=pipe, stdout=pipe, stderr=log)
        self.count = 0

    def send(self, method: str, params: Any = None, **fields: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, **fields}
        body = json.dumps(message if params is None else {**message, "params": params}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        header = self.process.stdout.readline()
        assert header.startswith(b"Content-Length: "), header
        assert self.process.stdout.readline() == b"\r\n"
        body = self.process.stdout.read(int(header.split()[1]))
        message: dict[str, Any] = json.loads(body)
        return message

    def request(self, method: str, params: Any = None) -> Any:
        self.count += 1
        self.send(method, params, id=self.count)
        answer = self.receive()
        while "id" not in answer:  # diagnostics
            answer = self.receive()
        assert answer["id"] == self.count
        return answer["result"]

    def open(self, text: str) -> list[dict[str, Any]]:
        """Open a document, and return what is wrong with it."""
        document = {"uri": URI, "languageId": "mlir", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})
        diagnostics: list[dict[str, Any]] = self.receive()["params"]["diagnostics"]
        return diagnostics

    def ask(self, method: str, line: int, character: int) -> Any:
        place = {"line": line, "character": character}
        return self.request(method, {"textDocument": {"uri": URI}, "position": place})

    def wait(self) -> int:
        return self.process.wait(timeout=60)


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client()
    with client.process:
        result = client.request("initialize", {"processId": os.getpid(), "capabilities": {}})
        assert "@" in result["capabilities"]["completionProvider"]["triggerCharacters"]
        yield client
        client.process.kill()


@needs_server
def test_session(client):
    client.send("initialized", {})
    assert client.open(TEXT) == []
    shown = client.ask("textDocument/hover", 2, 9)["contents"]["value"]
    upstream, _, doc = shown.partition("\n---\n")
    assert upstream.startswith('"relax.exp"') and "**Constraints:**" in doc

    edited = TEXT.replace("relax.exp %x", "relax.")
    change = {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [{"text": edited}]}
    client.send("textDocument/didChange", change)
    items = client.ask("textDocument/completion", 2, 13)["items"]
    docs = {item["label"]: item["documentation"]["value"] for item in items}
    assert docs["exp"] == doc.lstrip() and "builtin.call_kernel" in docs

    change["contentChanges"] = [{"text": TEXT.replace("relax.exp %x", "relax.call_tir @")}]
    client.send("textDocument/didChange", change)
    items = client.ask("textDocument/completion", 2, 23)["items"]
    assert [(item["label"], item["kind"], item["detail"]) for item in items] == [
        ("kernel", 3, "(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32>"),
        ("main", 3, "(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>"),
    ]
    client.request("shutdown")
    client.send("exit")
    assert client.wait() == 0  # though the client's end is still open
    assert client.process.stdout.read() == b""


@needs_server
def test_long_messages(client):
    """Longer than what pipes hold, both ways, before anything is read."""
    count = 2000
    error = "relax.func @f(%x: !relax.object) -> !relax.object\n// -----\n"
    document = {"uri": URI, "languageId": "mlir", "version": 1, "text": error * count}
    client.send("textDocument/didOpen", {"textDocument": document})
    for _ in range(10):
        client.send("textDocument/didOpen", {"textDocument": {**document, "text": "relax."}})
        place = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 6}}
        client.send("textDocument/completion", place, id="completion")
    answers = [client.receive() for _ in range(21)]
    assert [len(each["result"]["items"]) > 100 for each in answers if "id" in each] == [True] * 10


@needs_server
def test_deeply_nested_text(client):
    text = "module attributes {a = " + "[" * 200_000 + "\n" + TEXT
    assert client.open(text)[0]["severity"] == 1
    assert client.ask("textDocument/completion", 2, 40) is not None
    client.request("shutdown")


@needs_server
def test_closed_input_ends_the_server(client):
    client.open(TEXT)
    client.process.stdin.close()
    assert client.wait() == 1  # as upstream: without `exit`


@needs_server
def test_exit_without_shutdown(client):
    client.send("exit")
    assert client.wait() == 1


@needs_server
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc")
def test_server_that_dies(client):
    """What the child ends by, the process ends by."""
    pid = client.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    os.kill(int(children), signal.SIGKILL)
    assert client.wait() == -signal.SIGKILL


def records_of(**fields: Any) -> dict[str, Any]:
    op = {"opDialect": {"def": "Dialect"}, "opName": "foo", "summary": "a foo", "description": ""}
    return {"!instanceof": {"Op": ["Foo"]}, "Dialect": {"name": "relax"}, "Foo": op | fields}


def test_documentation_that_is_generated():
    description = "\n    Of `x`. (WF01)\n\n      - one;\n    "
    text = generate_op_docs.generate(records_of(summary="a foo (GR01)", description=description))
    assert text.partition("\n")[2] == '{"relax.foo", R"md(a foo\n\nOf `x`.\n\n  - one;\n)md"},\n'
    assert '"relax.foo", R"md(a foo\n)md"' in generate_op_docs.generate(records_of())
    with pytest.raises(ValueError, match=r"relax\.foo: expected a summary, but got none"):
        generate_op_docs.generate(records_of(summary=""))
