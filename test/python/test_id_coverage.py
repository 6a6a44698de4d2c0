"""scripts/id_coverage.py: ids in names, comments and files, and what counts as a negative test."""

import id_coverage
import pytest

ROWS = "id\tseed\trequirement\nGR01\tspec\tExpressions\nGR02\tspec\tKernels\nWF05\tspec\tScope\n"


@pytest.fixture
def checkout(tmp_path):
    """Return a function that writes files below a checkout with three rows."""

    def write(**files):
        for path, text in {"docs/spec/rows.tsv": ROWS, **files}.items():
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return tmp_path

    return write


@pytest.mark.parametrize(
    "text",
    [
        "def test_WF05_scope(): ...",
        "def test_wf05(): ...",
        "# WF05: the scope of a name\ndef test_scope(): ...",
        'def test_scope():\n    x = 1\n\n    """(WF05)"""',
    ],
)
def test_python_mention(checkout, text):
    coverage = id_coverage.scan(checkout(**{"test/python/test_a.py": text}))
    assert (coverage.positive, coverage.negative) == ({"WF05"}, set())


def test_lookalikes_are_no_mention(checkout):
    text = "GR011 XGR01 gr1 0GR01 PGR01a"
    coverage = id_coverage.scan(checkout(**{"test/lit/a.mlir": text}))
    assert not coverage.positive
    assert not coverage.unknown


@pytest.mark.parametrize("name", ["test_rejects_it", "test_invalid", "test_WF05_error"])
def test_name_of_the_test_makes_it_negative(checkout, name):
    text = f"def test_fine():\n    pass\n\n\n# WF05\n@mark\ndef {name}():\n    pass\n"
    coverage = id_coverage.scan(checkout(**{"test/python/test_a.py": text}))
    assert (coverage.positive, coverage.negative) == (set(), {"WF05"})


def test_table_of_invalid_programs_is_negative(checkout):
    table = 'INVALID = {\n    "wf05": "relax.func @main(%x: !relax.object)",\n}\n'
    use = "\n\n@parametrize(INVALID)\ndef test_rejects_it(): ...\n"
    coverage = id_coverage.scan(checkout(**{"test/python/test_a.py": table + use}))
    assert (coverage.positive, coverage.negative) == (set(), {"WF05"})


def test_table_and_methods_are_positive(checkout):
    text = 'CASES: dict = {"gr01": 1}\n\n\nclass TestAll:\n    # GR02\n    def test_it(self): ...\n'
    coverage = id_coverage.scan(checkout(**{"test/python/test_a.py": text}))
    assert coverage.positive == {"GR01", "GR02"}


def test_comment_above_the_next_test_is_not_of_this_one(checkout):
    text = "def test_error():\n    pass\n\n\n# GR01\ndef test_fine():\n    pass\n"
    assert id_coverage.scan(checkout(**{"test/python/test_a.py": text})).positive == {"GR01"}


def test_invalid_file_is_negative(checkout):
    root = checkout(
        **{
            "test/lit/ir/invalid-func.mlir": "// GR01\nrelax.func @f() {}",
            "test/lit/ir/func.mlir": "relax.func private @wf05_scope() {}",
            "runtime/test/heap.cc": "static void testRejectsHeap() {\n  // GR02\n}",
        }
    )
    coverage = id_coverage.scan(root)
    assert coverage.positive == {"WF05"}
    assert coverage.negative == {"GR01", "GR02"}
    assert coverage.missing() == []


def test_table_and_list(checkout, capsys):
    root = checkout(**{"test/lit/a.mlir": "// GR01"})
    assert id_coverage.main(["--root", str(root), "--list"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["prefix", "rows", "positive", "negative", "none"],
        ["GR", "2", "1", "0", "1"],
        ["WF", "1", "0", "0", "1"],
        ["all", "3", "1", "0", "2"],
        ["GR02", "Kernels"],
        ["WF05", "Scope"],
    ]


@pytest.mark.parametrize(
    ("required", "code", "message"),
    [
        ("GR01", 0, ""),
        ("GR02", 0, ""),
        ("GR", 0, ""),
        ("GR01,WF", 1, "WF05: expected a positive test, but got none"),
        ("WF", 1, "WF05: expected a negative test, but got none"),
        ("ZZ", 1, "no row starts with 'ZZ'"),
    ],
)
def test_require(checkout, capsys, required, code, message):
    files = {"test/lit/a.mlir": "// GR01 GR02", "test/lit/invalid-a.mlir": "// GR01"}
    unviolable = "id\treason\nGR02\tno program can\n"
    root = checkout(**files, **{"docs/spec/unviolable.tsv": unviolable})
    assert id_coverage.main(["--root", str(root), "--require", required]) == code
    assert message in capsys.readouterr().err


def test_show(checkout, capsys):
    files = {"test/lit/a.mlir": "// GR01", "test/lit/invalid-a.mlir": "// WF05"}
    root = checkout(**files, **{"docs/spec/unviolable.tsv": "id\treason\nGR01\tit holds\n"})
    assert id_coverage.main(["--root", str(root), "--show", "GR,WF"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[4:]]
    assert lines == [
        ["GR01", "positive", "-", "Expressions", "[it", "holds]"],
        ["GR02", "-", "-", "Kernels"],
        ["WF05", "-", "negative", "Scope"],
    ]


def test_unknown_row_is_an_error(checkout, capsys):
    root = checkout(**{"test/lit/a.mlir": "// WF99"})
    assert id_coverage.main(["--root", str(root)]) == 1
    assert "WF99: no such row" in capsys.readouterr().err


def test_language_is_covered():
    """Each row of the language has a positive test, and a negative one where it can be violated."""
    assert id_coverage.main(["--require", "GR,SC,NF,WF,MC,ST,DR,OP,SE"]) == 0


def test_rows_of_this_project_have_unique_ids():
    rows = id_coverage.ROOT / "docs" / "spec" / "rows.tsv"
    assert len(id_coverage.read_rows(rows)) == len(rows.read_text().splitlines()) - 1


def test_each_row_has_tests():
    assert list(id_coverage.scan(id_coverage.ROOT).problems("")) == []
