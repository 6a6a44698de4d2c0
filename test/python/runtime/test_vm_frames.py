"""VM08: frames of the virtual machine, calls and what ends them."""

from __future__ import annotations

import gc
import signal
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import relax_mlir as relax
import tvm_ffi
from vm_programs import PLACE, bind_scale, machine, numpy, run, vector

DEEP = f"""
function main(n) registers 2 heap 1 {{
  {PLACE}
  $0 = call builtin prim_int(site 0, %0)
  if $0 else end
  $0 = call builtin sub($0, 1)
  %1 = call @main($0)
  %0 = call builtin value_assign(%1)
  ret %0
end:
  ret %0
}}
"""


@pytest.fixture
def limit():
    """Sets the limit of recursion for a test."""
    old = []

    def change(value: int) -> None:
        old.append(relax.set_recursion_limit(value))

    yield change
    if old:
        relax.set_recursion_limit(old[0])


def test_vm08_deep_recursion_does_not_use_the_c_stack(limit: Callable[[int], None]) -> None:
    limit(1_000_001)
    results = []
    threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: results.append(machine(DEEP)["main"](1_000_000)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(0)
    assert results == [0]


def test_vm08_recursion_error_leaves_the_machine_usable(limit: Callable[[int], None]) -> None:
    limit(100)
    main = machine(DEEP)["main"]
    for _ in range(3):
        assert main(99) == 0
        with pytest.raises(RecursionError, match="main: recursion deeper than 100 calls"):
            main(100)


def test_vm08_tail_calls_reuse_the_frame(limit: Callable[[int], None]) -> None:
    limit(5)
    text = f"""
    function main(n) registers 2 heap 1 {{
      {PLACE}
      $0 = call builtin prim_int(site 0, %0)
      if $0 else end
      $0 = call builtin sub($0, 1)
      %1 = call @other($0, %0, 0, 0)
      goto out
    out:
      ret %1
    end:
      ret %0
    }}
    function other(n, a, b, c) registers 5 heap 1 {{
      {PLACE}
      $0 = call builtin prim_int(site 0, %0)
      if $0 else end
      %4 = call @main($0)
      ret %4
    end:
      ret %1
    }}"""
    assert run(text, 100_001) == 1


def test_vm08_tail_call_of_a_closure_with_many_parameters(limit: Callable[[int], None]) -> None:
    limit(5)
    params = ", ".join(f"p{i}" for i in range(50))
    args = ", ".join(f"%{i}" for i in range(3, 50))
    text = f"""
    function main({params}) registers 51 heap 1 {{
      {PLACE}
      $0 = call builtin prim_int(site 0, %1)
      if $0 else end
      $0 = call builtin sub($0, 1)
      %50 = call %0(%0, $0, %2, {args})
      ret %50
    end:
      ret %49
    }}"""
    main = machine(text)["main"]
    assert main(main, 1000, *range(48)) == 47


def test_vm08_reentrant_through_python() -> None:
    text = f"""
    function main(n, f) registers 3 heap 1 {{
      {PLACE}
      $0 = call builtin prim_int(site 0, %0)
      if $0 else end
      $0 = call builtin sub($0, 1)
      %2 = call %1($0, %1)
      %2 = call builtin tuple_make(site 0, [%2, %0])
      ret %2
    end:
      ret %0
    }}"""
    vm = machine(text)
    result = vm["main"](3, lambda n, f: vm["main"](n, f))
    assert [list(result)[1], list(result[0])[1], list(result[0][0])] == [3, 2, [0, 1]]


def test_vm08_error_in_a_callback_unwinds_all_frames(limit: Callable[[int], None]) -> None:
    limit(50)

    def fail(*args: Any) -> None:
        raise ValueError("from Python")

    text = DEEP.replace("end:\n  ret %0", 'end:\n  %1 = call packed "test.vm.fail"(%0)\n  ret %1')
    tvm_ffi.register_global_func("test.vm.fail", fail, override=True)
    main = machine(text)["main"]
    for _ in range(100):
        with pytest.raises(ValueError, match="from Python"):
            main(40)


def test_vm08_error_releases_registers() -> None:
    text = f"""
    function main(x) registers 3 {{
      {PLACE}
      %1 = call builtin tuple_make(site 0, [%0, %0])
      %2 = call builtin tuple_get(site 0, %1, 2)
      ret %2
    }}"""

    class Thing:
        pass

    main, thing = machine(text)["main"], Thing()
    gone = weakref.ref(thing)
    with pytest.raises(IndexError):
        main(thing)
    del thing
    gc.collect()
    assert gone() is None


def test_vm08_threads_share_one_machine() -> None:
    vm = bind_scale(
        machine(f"""
        function main(x) registers 2 {{
          {PLACE}
          %1 = call builtin tensor_alloc(site 0, [2], float32, 1, 0)
          call kernel "scale"(read %0, write %1, scalar 2)
          ret %1
        }}""")
    )
    failures = []

    def work(number: int) -> None:
        x = vector(number, 1)
        for _ in range(300):
            if numpy(vm["main"](x)).tolist() != [2 * number, 2]:
                failures.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("line", ["goto again", "%1 = call @main(%0) ret %1"])
def test_vm08_error_of_a_signal_ends_a_run(line: str, control_c: None) -> None:
    """Control-C ends what would never end, a loop or calls that take the frame."""
    vm = machine(f"function main(x) registers 2 {{ again: {line} }}")
    timer = threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        vm["main"](1)
    timer.join()
    assert machine(DEEP)["main"](3) == 0


def test_vm08_error_arguments() -> None:
    vm = machine(
        "function main(x) { ret %0 } private function hidden() { ret #0 } constant #0 = int 1"
    )
    with pytest.raises(TypeError, match=r"main\(\) takes 1 positional argument but 2"):
        vm["main"](1, 2)
    with pytest.raises(KeyError, match=r"expected the name of a public function \(main\), but got"):
        vm["hidden"]
    assert list(vm) == ["main"] and "hidden" not in vm
