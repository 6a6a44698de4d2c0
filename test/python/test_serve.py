"""The example of a server: a process with an exported library, and requests of several threads."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op

SERVER = Path(__file__).parents[2] / "examples" / "serve.py"
WEIGHTS = np.arange(8, dtype="float32").reshape(4, 2)


def write_model() -> relax.BlockBuilder:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 4), "float32"))
    i = relax.Var("i", relax.TensorStructInfo(("n",), "int64"))
    with bb.function("main", [x]):
        bb.emit_func_output(op.nn.relu(op.matmul(x, WEIGHTS)))
    with bb.function("pair", [x, i]):
        bb.emit_func_output((op.sum(x, axis=1), op.add(i, 1)))
    return bb


@pytest.fixture(scope="module", params=["compiled", "bytecode"])
def url(request, tmp_path_factory):
    model = tmp_path_factory.mktemp("serve") / "model.so"
    ex = relax.compile(write_model(), exec_mode=request.param)
    ex.export_library(model, self_contained=True)
    command = [sys.executable, str(SERVER), str(model), "--port", "0"]
    command += ["--function", "main", "--function", "pair"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    yield server.stdout.readline().strip()
    server.terminate()
    server.wait(timeout=30)


def post(url: str, name: str, body: object) -> tuple[int, dict[str, object]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(url + name, data, timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_requests_at_the_same_time(url):
    batches = [np.random.default_rng(n).standard_normal((n, 4)) for n in range(1, 20)]

    def call(batch):
        return post(url, "main", {"inputs": [batch.tolist()]})

    with ThreadPoolExecutor(4) as pool:
        for batch, (status, answer) in zip(batches, pool.map(call, batches), strict=True):
            assert status == 200
            np.testing.assert_allclose(
                answer["output"], np.maximum(batch @ WEIGHTS, 0), rtol=1e-4, atol=1e-5
            )


def test_data_types_and_tuples(url):
    numbers = {"dtype": "int64", "data": [5, 6]}
    status, answer = post(url, "pair", {"inputs": [[[1, 2, 3, 4], [0, 0, 0, 1]], numbers]})
    assert (status, answer) == (200, {"output": [[10.0, 1.0], [6, 7]]})


@pytest.mark.parametrize(
    ("name", "body", "status", "message"),
    [
        ("main", {"inputs": [[[1, 2, 3]]]}, 400, "dimension 1 is 3, expected 4"),
        ("main", {"inputs": []}, 400, "expected 1 argument"),
        ("main", {"data": []}, 400, "KeyError: 'inputs'"),
        ("main", b"{", 400, "JSONDecodeError"),
        ("other", {"inputs": []}, 404, "one of main, pair, but got /v1/other"),
    ],
)
def test_errors_are_answers(url, name, body, status, message):
    code, answer = post(url, name, body)
    assert code == status
    assert message in answer["error"]
    assert post(url, "main", {"inputs": [[[0, 0, 0, 0]]]})[0] == 200  # it goes on


def test_health(url):
    with urllib.request.urlopen(url.removesuffix("v1/") + "healthz", timeout=30) as response:
        assert json.load(response) == "ok"
