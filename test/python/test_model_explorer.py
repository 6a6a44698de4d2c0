# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The extension of Model Explorer: graphs of modules, the adapter, and `relax-mlir explore`."""

import importlib
import json
import sys
from dataclasses import asdict

import pytest
import relax_mlir as relax
from relax_mlir.cli import main
from relax_mlir.model_explorer import graphs_of
from relax_mlir.script import from_source

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def helper(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        with R.dataflow():
            z = R.sin(y)
            R.output(z)
        return z

    @R.function
    def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):
        with R.dataflow():
            a = R.add(x, R.const(1.5, "float32"))
            R.output(a)
        if c:
            r = Module.helper(a)
        else:
            r = R.sum(a, axis=[0], keepdims=True)
        return r
"""


@pytest.fixture
def graphs():
    return {graph["id"]: graph["nodes"] for graph in graphs_of(from_source(PROGRAM))}


def labeled(nodes, label):
    (node,) = [node for node in nodes if node["label"] == label]
    return node


def pairs(items):
    return {item["key"]: item["value"] for item in items}


def test_functions_are_graphs_and_main_is_the_first(graphs):
    assert list(graphs) == ["main", "helper"]
    assert labeled(graphs["main"], "call @helper")["subgraphIds"] == ["helper"]
    assert all(not node["subgraphIds"] for node in graphs["helper"])


def test_namespaces_are_scopes(graphs):
    main_, helper = graphs["main"], graphs["helper"]
    assert labeled(main_, "x")["namespace"] == ""
    assert labeled(main_, "add")["namespace"] == "dataflow"
    assert labeled(main_, "sum")["namespace"] == "if/else"
    assert labeled(helper, "exp")["namespace"] == "dataflow"
    assert labeled(helper, "sin")["namespace"] == "dataflow 2"


def test_attributes_names_places_and_constants(graphs):
    total = pairs(labeled(graphs["main"], "sum")["attrs"])
    assert total["axis"] == "array<i64: 0>" and total["keepdims"] == "true"
    assert pairs(labeled(graphs["main"], "add")["attrs"])["name"] == "a"
    assert pairs(labeled(graphs["main"], "add")["attrs"])["place"].endswith(":17")
    assert pairs(labeled(graphs["main"], "constant")["attrs"])["__value"] == "1.5"


def test_edges_lead_to_nodes_and_have_types(graphs):
    for nodes in graphs.values():
        outputs = {
            (node["id"], item["id"]): pairs(item["attrs"])["tensor_shape"]
            for node in nodes
            for item in node["outputsMetadata"]
        }
        edges = [edge for node in nodes for edge in node["incomingEdges"]]
        assert all((e["sourceNodeId"], e["sourceNodeOutputId"]) in outputs for e in edges)
        assert "tensor<[n], f32>" in outputs.values()
        assert len({node["id"] for node in nodes}) == len(nodes)


def test_modules_of_onnx_are_namespaces():
    onnx = pytest.importorskip("onnx", reason="onnx of requirements/test.txt is missing")
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["" : 17]>
    model (float[batch, 4] x) => (float[batch, 4] y) { y = Relu(x) }""")
    from relax_mlir.frontend.onnx import from_onnx

    model.graph.node[0].name = "/model/layers.0/act/Relu"
    (graph,) = graphs_of(from_onnx(model))
    assert labeled(graph["nodes"], "relu")["namespace"].endswith("model/layers.0/act")


def test_modules_of_pytorch_are_namespaces():
    torch = pytest.importorskip("torch", reason="PyTorch of requirements/test.txt is missing")
    from relax_mlir.frontend.torch import from_exported_program

    model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()), torch.nn.Tanh())
    (graph,) = graphs_of(from_exported_program(torch.export.export(model, (torch.ones(2),))))
    found = {each: labeled(graph["nodes"], each) for each in ("relu", "tanh")}
    assert found["relu"]["namespace"] == "dataflow/0/0"
    assert found["tanh"]["namespace"] == "dataflow/1"
    assert pairs(found["relu"]["attrs"])["module"] == "0.0"


def test_long_attributes_are_cut():
    text = "x" * 5000
    mod = relax.IRModule(f"""
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {{
      %0 = relax.exp %x {{note = "{text}"}} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      relax.return %0 : !relax.tensor<[n], f32>
    }}""")
    (graph,) = graphs_of(mod)
    assert len(pairs(labeled(graph["nodes"], "exp")["attrs"])["note"]) < 1100


def test_error_no_function():
    with pytest.raises(
        ValueError, match="expected a function of Relax to show, but the module has none"
    ):
        graphs_of(relax.IRModule())


# -- with and without Model Explorer --------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(PROGRAM)
    return file


def test_error_not_installed(path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "model_explorer", None)  # its import is an error
    assert main(["explore", str(path)]) == 1
    assert 'pip install "ai-edge-model-explorer' in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "relax_mlir.model_explorer.main", raising=False)
    with pytest.raises(ImportError, match="expected Model Explorer to be installed"):
        importlib.import_module("relax_mlir.model_explorer.main")


def test_error_compiled_program(tmp_path, capsys):
    file = tmp_path / "model.rx"
    relax.compile(from_source(PROGRAM)).save(file)
    assert main(["explore", str(file)]) == 1
    assert "expected a program that is not compiled yet" in capsys.readouterr().err


@pytest.fixture
def adapter():
    pytest.importorskip(
        "model_explorer", reason="ai-edge-model-explorer of requirements/explorer.txt is missing"
    )
    from relax_mlir.model_explorer.main import RelaxAdapter

    return RelaxAdapter()


def test_adapter_opens_files(adapter, path, tmp_path):
    text, bytecode = tmp_path / "model.mlir", tmp_path / "model.mlirbc"
    for file in (text, bytecode):
        assert main(["compile", str(path), "-o", str(file)]) == 0
    for file in (path, text, bytecode):
        assert file.suffix.removeprefix(".") in adapter.metadata.fileExts
        found = adapter.convert(str(file), {})["graphs"]
        assert [graph.id for graph in found] == ["main", "helper"]
        assert json.dumps([asdict(graph) for graph in found])


def test_adapter_is_found_by_the_name_of_the_extension(adapter):
    manager = importlib.import_module("model_explorer.extension_manager").ExtensionManager(
        ["relax_mlir.model_explorer"]
    )
    manager.load_extensions()
    assert "relax_mlir" in [one["id"] for one in manager.get_extensions_metadata()]


def test_command_serves_models_with_the_adapter(adapter, path, monkeypatch):
    explorer = importlib.import_module("model_explorer")
    served = []
    monkeypatch.setattr(
        explorer, "visualize_from_config", lambda config, **rest: served.append((config, rest))
    )
    assert main(["explore", str(path), "--port", "8081", "--no-browser"]) == 0
    ((config, rest),) = served
    assert config.model_sources == [{"url": str(path), "adapterId": "relax_mlir"}]
    assert rest["extensions"] == ["relax_mlir.model_explorer"]
    assert rest["port"] == 8081 and rest["no_open_in_browser"]
