"""Instruments: what they see, and what they show."""

from __future__ import annotations

import io
import re
import time
from html.parser import HTMLParser

import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import analysis, op, transform
from relax_mlir.instrument import (
    DumpIR,
    PassInstrument,
    PassPrintingInstrument,
    PassReport,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    WellFormedInstrument,
    pass_instrument,
)
from relax_mlir.transform import PassContext, Sequential

EXP = """
module {
  relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
    %a = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    relax.return %a : !relax.tensor<[n, 4], f32>
  }
}
"""
LOWER = Sequential([transform.Normalize(), transform.LegalizeOps()], name="lower")


def program(tensor) -> relax.BlockBuilder:
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(op.add(op.exp(x), x))
        bb.emit_func_output(out)
    return bb


class Log(PassInstrument):
    def __init__(self, log: list[str], name: str = "") -> None:
        self.log = log
        self.name = name

    def enter_pass_ctx(self) -> None:
        self.log.append(f"{self.name}enter")

    def exit_pass_ctx(self) -> None:
        self.log.append(f"{self.name}exit")

    def should_run(self, mod, info) -> bool:
        self.log.append(f"{self.name}ask {info.name}")
        return info.name != "LegalizeOps"

    def run_before_pass(self, mod, info) -> None:
        self.log.append(f"{self.name}before {info.name}")

    def run_after_pass(self, mod, info) -> None:
        self.log.append(f"{self.name}after {info.name}")


def test_instrument_sees_everything_in_order() -> None:
    log: list[str] = []
    with PassContext(instruments=[Log(log)]):
        mod = LOWER(EXP)
    assert log == [
        "enter",
        "ask lower",
        "before lower",
        "ask Normalize",
        "before Normalize",
        "after Normalize",
        "ask LegalizeOps",
        "after lower",
        "exit",
    ]
    assert "relax.exp" in str(mod)


def test_required_pass_runs_whatever_instruments_say() -> None:
    log: list[str] = []
    with PassContext(instruments=[Log(log)], required_pass=["LegalizeOps"]):
        mod = LOWER(EXP)
    assert "after LegalizeOps" in log
    assert "relax.exp" not in str(mod)


def test_instruments_that_cannot_enter_leave() -> None:
    log: list[str] = []

    class Broken(PassInstrument):
        def enter_pass_ctx(self) -> None:
            raise RuntimeError("broken")

    before = PassContext.current()
    with (
        pytest.raises(RuntimeError, match="broken"),
        PassContext(instruments=[Log(log), Broken()]),
    ):
        pass
    assert log == ["enter", "exit"]
    assert PassContext.current() is before


def test_override_instruments() -> None:
    log: list[str] = []
    with PassContext(instruments=[Log(log, "a ")]) as context:
        context.override_instruments([Log(log, "b ")])
        transform.Normalize()(EXP)
        context.override_instruments(None)
        transform.Normalize()(EXP)
    assert log == [
        "a enter",
        "a exit",
        "b enter",
        "b ask Normalize",
        "b before Normalize",
        "b after Normalize",
        "b exit",
    ]


def test_decorated_class_is_an_instrument() -> None:
    @pass_instrument
    class Count:
        def __init__(self, start=0):
            self.count = start

        def run_before_pass(self, mod, info):
            self.count += 1

    count = Count(start=1)
    with PassContext(instruments=[count]):
        LOWER(EXP)
    assert isinstance(count, PassInstrument)
    assert count.count == 4
    assert Count.__name__ == "Count"
    with pytest.raises(TypeError, match="expected a class"):
        pass_instrument(3)


def test_timing_renders_a_tree() -> None:
    @transform.module_pass
    def wait(mod, ctx):
        time.sleep(0.01)

    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        Sequential([wait, transform.Normalize()], name="all")(EXP)
        text = timing.render()
    (whole,) = timing.profiles
    assert [child.name for child in whole.children] == ["wait", "Normalize"]
    assert whole.duration >= whole.children[0].duration >= 0.01
    first, second, third = text.splitlines()
    pattern = r"all: \d+us \[\d+us\] \(100.00%; 100.00%\)"
    assert re.fullmatch(pattern, first)
    assert re.fullmatch(r"  wait: \d+us \[\d+us\] \(\d+\.\d\d%; \d+\.\d\d%\)", second)
    assert third.startswith("  Normalize: ")
    with PassContext(instruments=[timing]):
        assert timing.profiles == []
    assert timing.render() == ""


def test_timing_of_a_pass_that_fails() -> None:
    @transform.module_pass
    def fail(mod, ctx):
        raise KeyError("reason")

    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        with pytest.raises(KeyError):
            Sequential([fail], name="all")(EXP)
        transform.Normalize()(EXP)
        text = timing.render()
    assert "fail: did not finish" in text


def test_printing(capsys) -> None:
    with PassContext(instruments=[PrintBeforeAll(), PrintAfterAll()]):
        transform.LegalizeOps()(EXP)
    text = capsys.readouterr().out
    assert text.index("// IR before LegalizeOps") < text.index("relax.exp")
    assert text.index("// IR after LegalizeOps") < text.index("relax.call_tir")
    stream = io.StringIO()
    with PassContext(
        instruments=[PassPrintingInstrument(["LegalizeOps"], ["Normalize"], file=stream)]
    ):
        LOWER(EXP)
    assert re.findall(r"// IR .*", stream.getvalue()) == [
        "// IR after Normalize",
        "// IR before LegalizeOps",
    ]
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="expected syntax, one of mlir, script"):
        PrintAfterAll(syntax="xml")


def test_printing_leaves_large_constants_out(capsys) -> None:
    import numpy as np

    bb = relax.BlockBuilder()
    with bb.function("main", []):
        bb.emit_func_output(op.const(np.arange(1000, dtype="float32")))
    with PassContext(instruments=[PrintAfterAll()]):
        transform.Normalize()(bb)
    assert "__elided__" in capsys.readouterr().out


def test_dump_ir(tmp_path) -> None:
    folder = tmp_path / "dump"
    with PassContext(instruments=[DumpIR(folder)]):
        LOWER(EXP)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["000_Normalize.mlir", "001_LegalizeOps.mlir", "002_lower.mlir"]
    again = relax.IRModule((folder / names[1]).read_text())
    assert "relax.call_tir" in str(again)
    DumpIR(folder)
    assert len(list(folder.iterdir())) == 3
    DumpIR(folder, refresh=True)
    assert list(folder.iterdir()) == []
    (folder / "notes.txt").write_text("keep")
    with pytest.raises(ValueError, match=r"but got notes\.txt"):
        DumpIR(folder, refresh=True)
    assert (folder / "notes.txt").exists()


# -- well-formedness ------------------------------------------------------------------------------


@transform.function_pass(name="Hide")
def hide(func, mod, ctx):
    func.operation.attributes["sym_visibility"] = ir.StringAttr.get("private")


def test_well_formed_invalid_after_a_pass_names_it_and_the_rule() -> None:
    with (
        PassContext(instruments=[WellFormedInstrument()]),
        pytest.raises(analysis.WellFormedError, match=r"^after pass Hide the module is") as error,
    ):
        hide(EXP)
    (found,) = error.value.violations
    assert found.rule == "WF12"


def test_well_formed_invalid_before_a_pass() -> None:
    hidden = hide(EXP)
    with PassContext(instruments=[WellFormedInstrument()]):
        with pytest.raises(analysis.WellFormedError, match=r"^before pass LegalizeOps"):
            transform.LegalizeOps()(hidden)
        transform.Normalize()(hidden)  # is skipped
    with (
        PassContext(instruments=[WellFormedInstrument(validate_before_transform=False)]),
        pytest.raises(analysis.WellFormedError, match=r"^after pass LegalizeOps"),
    ):
        transform.LegalizeOps()(hidden)


def test_phases_keep_modules_well_formed(tensor, load) -> None:
    with PassContext(instruments=[WellFormedInstrument(skip_pass_name=())]):
        mod = program(tensor).get()
        for name in ("normalize", "legalize", "memory"):
            mod = transform.phase(name)(mod)


# -- the report -----------------------------------------------------------------------------------


class Page(HTMLParser):
    """The content of a page: its elements, and the text of lines by class."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.lines: dict[str, list[str]] = {"add": [], "del": []}

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open and self.open[-1][1].get("class") in self.lines:
            self.lines[self.open[-1][1]["class"]].append(data)


def test_report_is_one_page_with_each_pass(tmp_path) -> None:
    path = tmp_path / "passes.html"
    with PassContext(instruments=[PassReport(path, title="A <b>")]):
        LOWER(EXP)
    text = path.read_text()
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    sections = [attrs["id"] for tag, attrs in page.tags if tag == "section"]
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a"]
    assert [f"#{name}" for name in sections] == links == ["#pass-0", "#pass-1", "#pass-2"]
    # Nothing is loaded from elsewhere.
    assert not [attrs for _, attrs in page.tags if "src" in attrs or tag_loads(attrs)]
    assert "A &lt;b&gt;" in text
    assert any("relax.exp" in line for line in page.lines["del"])
    assert any("relax.call_tir" in line for line in page.lines["add"])
    assert not any("relax.return" in line for kind in page.lines for line in page.lines[kind])


def tag_loads(attrs) -> bool:
    return not (attrs.get("href") or "#").startswith("#")


def test_report_knows_what_changed_and_failed() -> None:
    @transform.module_pass
    def fail(mod, ctx):
        raise KeyError("reason")

    report = PassReport()
    with PassContext(instruments=[report]), pytest.raises(KeyError):
        Sequential([transform.Normalize(), transform.LegalizeOps(), fail], name="all")(EXP)
    assert [(r.name, r.depth, r.is_changed) for r in report.records] == [
        ("all", 0, False),
        ("Normalize", 1, False),
        ("LegalizeOps", 1, True),
        ("fail", 1, False),
    ]
    assert report.html().count(">failed<") == 2


def test_report_of_a_compilation(tensor, tmp_path) -> None:
    report = PassReport()
    with PassContext(instruments=[report]):
        relax.compile(program(tensor))
    names = [record.name for record in report.records]
    assert {"normalize", "LegalizeOps", "convert-linalg-to-loops", "ConvertToLLVM"} <= set(names)
    report.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10000
