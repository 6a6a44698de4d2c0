# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Libraries for another machine, which an emulator runs: only with --emulate."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import torch
import tvm_ffi
from emulated import Emulator
from relax_mlir import op
from relax_mlir.op import const

MODES = pytest.mark.parametrize("mode", ["machine code", "bytes"])
X = np.arange(6, dtype="float32").reshape(2, 3)

# For each machine, a feature that its processor lacks, and instructions that it has, and has not.
PROCESSORS = {
    "aarch64": ("sve", "fmla v0.4s, v1.4s, v2.4s", ".inst 0x2598e3e0"),  # ptrue p0.s
    "x86-64-v4": (
        *("avx512vnni", "vfmadd231ps %zmm0, %zmm1, %zmm2"),
        "vpdpbusd %zmm0, %zmm1, %zmm2",
    ),
    "sapphirerapids": (
        *("sse4a", "vpdpbusd %zmm0, %zmm1, %zmm2; vdpbf16ps %zmm0, %zmm1, %zmm2"),
        "vp2intersectd %zmm0, %zmm1, %k2",
    ),
}

VALUES = """
relax.func @main(%x: !relax.tensor<[n, m], bf16>, %s: !relax.shape<[k]>, %i: !relax.prim<i64>,
                 %f: !relax.prim<f64>, %b: !relax.prim<i1>, %t: !relax.tuple<!relax.object>)
    -> !relax.object {
  %0 = relax.shape <[n, k]>
  %1 = relax.tuple %x, %0, %s, %i, %f, %b, %t : !relax.tensor<[n, m], bf16>, !relax.shape<[n, k]>,
      !relax.shape<[k]>, !relax.prim<i64>, !relax.prim<f64>, !relax.prim<i1>,
      !relax.tuple<!relax.object>
  relax.return %1 : !relax.tuple<!relax.tensor<[n, m], bf16>, !relax.shape<[n, k]>,
      !relax.shape<[k]>, !relax.prim<i64>, !relax.prim<f64>, !relax.prim<i1>,
      !relax.tuple<!relax.object>>
}
"""


def export(emulator: Emulator, program: Any, mode: str = "machine code", **options: Any) -> Path:
    """Return a library for the machine of the emulator."""
    exec_mode = "compiled" if mode == "machine code" else "bytecode"
    made = relax.compile(program, emulator.machine.target, exec_mode=exec_mode)
    return emulator.export(made, **options)


@MODES
@pytest.mark.parametrize("self_contained", [False, True])
def test_rf17_libraries_of_another_machine(
    emulator: Emulator, mode: str, self_contained: bool
) -> None:
    """With a constant that has several pages."""
    weight = np.random.default_rng(0).standard_normal((3, 5000)).astype("float32")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 3), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(op.nn.relu(op.matmul(x, const(weight))))
    path = export(emulator, bb, mode, self_contained=self_contained)
    assert path.read_bytes()[18] == emulator.machine.number
    result = emulator.call(path, "main", [tvm_ffi.from_dlpack(X)])
    np.testing.assert_allclose(np.from_dlpack(result), np.maximum(X @ weight, 0), rtol=1e-5)
    with pytest.raises(TypeError, match=r"main: argument 'x': expected .*, but got the integer 3"):
        emulator.call(path, "main", [3])


@MODES
def test_values_pass_as_they_are(emulator: Emulator, mode: str) -> None:
    x = torch.tensor([[1.5, -2], [float("inf"), 3e38]], dtype=torch.bfloat16)
    args = [tvm_ffi.from_dlpack(x), tvm_ffi.Shape((4,)), -(2**63), -0.0, True, ("text",)]
    result = emulator.call(export(emulator, VALUES, mode), "main", args)
    assert torch.equal(torch.from_dlpack(result[0]), x)
    assert tuple(result[1:]) == ((2, 4), (4,), -(2**63), -0.0, True, ("text",))
    assert isinstance(result[1], tvm_ffi.Shape) and result[5] is True
    assert np.signbit(result[4])


def test_arguments_are_changed(emulator: Emulator) -> None:
    vector = relax.TensorStructInfo(("n",), "float32")
    bb = relax.BlockBuilder()
    kernel = bb.add_func("""
        func.func @kernel(%x: memref<?xf32>) {
          linalg.map { arith.negf } ins(%x : memref<?xf32>) outs(%x : memref<?xf32>)
          return
        }""")
    x = relax.Var("x", vector)
    with bb.function("main", [x], pure=False):
        bb.emit_func_output(op.call_tir_inplace(kernel, x, 0, vector))
    data = np.array([1, -2, 3], "float32")
    result = emulator.call(export(emulator, bb), "main", [tvm_ffi.from_dlpack(data)])
    assert data.tolist() == np.from_dlpack(result).tolist() == [-1, 2, -3]


def test_error_a_process_that_ends_is_replaced(emulator: Emulator) -> None:
    path = export(emulator, VALUES)
    with pytest.raises(
        pytest.fail.Exception, match=r"relax_call_server ended with 1 during a call"
    ):
        emulator.exchange(b"\1" + b"\0" * 7 + b"/" + b"\0" * 8 + b"?")  # no value
    with pytest.raises(TypeError, match="expected 6 arguments, but got 0"):
        emulator.call(path, "main", [])


def run_c(emulator: Emulator, folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Run the body of a function `main` of C."""
    headers = ("errno", "fcntl", "sched", "stdio", "stdlib", "string", "sys/mman", "unistd")
    source = "".join(f"#include <{name}.h>\n" for name in headers)
    source += f"int main(int argc, char **argv) {{ {body}; return 0; }}"
    (folder / "main.c").write_text(source)
    program = str(folder / "main")
    compiler = [emulator.machine.compiler, "-w", "-O1", "-D_GNU_SOURCE"]
    subprocess.run([*compiler, "-o", program, str(folder / "main.c")], check=True)
    command = [*emulator.machine.emulator, program, "argument"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_processor_is_that_of_the_target(emulator: Emulator, tmp_path: Path) -> None:
    _, has, lacks = PROCESSORS[emulator.name]
    done = run_c(emulator, tmp_path, f'asm volatile("{has}")')
    assert (done.returncode, done.stderr) == (0, "")
    done = run_c(emulator, tmp_path, f'asm volatile("{lacks}")')
    assert done.returncode == -4, done.stderr  # SIGILL


def test_error_code_for_another_processor(emulator: Emulator) -> None:
    lacks, _, _ = PROCESSORS[emulator.name]
    made = relax.compile(VALUES, f"{emulator.machine.target} -mattr=+{lacks}")
    path = emulator.export(made)
    with pytest.raises(ValueError, match=f"has what this one lacks: .*{lacks}"):
        emulator.call(path, "main", [])


@pytest.fixture
def ours(emulator: Emulator) -> Emulator:
    """Return the emulator in test/emulator."""
    if emulator.name == "aarch64":
        pytest.skip("a test of the emulator in test/emulator, but this is QEMU")
    return emulator


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("*(volatile int *)8 = 1", "page fault: cannot write 0x8, at .*: c7 04 25 08 00 00 00"),
        ("return *(volatile char *)(1l << 45)", "page fault: cannot read 0x200000000000, at"),
        ("((void (*)(void))16)()", "page fault: cannot execute 0x10, at 0x10: ?"),
        ('*(volatile char *)"text" = 1', "page fault: cannot write "),
        ("char code[] = {0xc3}; ((void (*)(void))code)()", "page fault: cannot execute "),
        ("volatile int zero = 0; return argc / zero", "division by zero, at"),
        ('asm volatile("hlt")', "general protection fault, at .*: f4"),
        ("syscall(101)", "system call 101 is not one that is emulated"),
        (
            "char *p = mmap(0, 4096, 3, 34, -1, 0); *p = 1; munmap(p, 4096); *p = 1",
            "page fault: cannot write ",
        ),
        (
            "char *p = mmap(0, 4096, 3, 34, -1, 0); *p = 1; mprotect(p, 4096, 1); *p = 1",
            "page fault: cannot write ",
        ),
    ],
)
def test_error_faults(ours: Emulator, tmp_path: Path, body: str, message: str) -> None:
    done = run_c(ours, tmp_path, body)
    assert done.returncode < 0
    assert re.search(message, done.stderr), done.stderr


def test_error_what_is_no_program(ours: Emulator, tmp_path: Path) -> None:
    for name, message in (("main.c", "expected a program in ELF"), ("none", "No such file")):
        (tmp_path / "main.c").write_text("int main;")
        command = [*ours.machine.emulator, str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 2 and message in done.stderr


def test_programs_of_linux(ours: Emulator, tmp_path: Path) -> None:
    """Memory that grows and moves, files, one processor, and a status."""
    (tmp_path / "file").write_text("content")
    done = run_c(
        ours,
        tmp_path,
        r"""
        char *text = malloc(1);
        for (size_t size = 1; size < 1 << 26; size *= 4) {
          text = realloc(text, size * 4);
          memset(text + size, size == 64 ? 'x' : '-', size * 3);
        }
        char line[8] = {0};
        int file = open("file", O_RDONLY);
        printf("%d %s %c\n", read(file, line, 7), line, text[100]);
        char *map = mmap(0, 4096, PROT_READ, MAP_PRIVATE, file, 0);
        printf("%s %d\n", map, map[4095]);
        cpu_set_t processors;
        sched_getaffinity(0, sizeof(processors), &processors);
        printf("%d %s\n", CPU_COUNT(&processors), argv[1]);
        puts(open("no such file", O_RDONLY) < 0 && errno == ENOENT ? "no file" : "?");
        fflush(stdout);
        return 7""",
    )
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == "7 content x\ncontent 0\n1 argument\nno file\n"


def test_instructions_that_bochs_gets_wrong(ours: Emulator, tmp_path: Path) -> None:
    """See test/emulator/corrections.c."""
    done = run_c(
        ours,
        tmp_path,
        r"""
        long mask;
        asm("kmovd %1, %%k1; kshiftlw $15, %%k1, %%k2; kmovq %%k2, %0" : "=r"(mask) : "r"(3));
        printf("%lx ", mask);
        asm("kmovd %1, %%k1; kshiftrw $15, %%k1, %%k2; kmovq %%k2, %0" : "=r"(mask) : "r"(0x1ffff));
        printf("%lx\n", mask);

        long by[] = {0, 1, 63, 64, 100, 64, -1, 2}, values[8], some[8];
        asm("vpbroadcastq %2, %%zmm1; vpsravq %3, %%zmm1, %%zmm2; vmovdqu64 %%zmm2, %0;"
            "kmovd %4, %%k1; vmovdqu64 %3, %%zmm3; vpsravq %%zmm3, %%zmm1, %%zmm2%{%%k1%}%{z%};"
            "vmovdqu64 %%zmm2, %1"
            : "=m"(values), "=m"(some) : "r"(-8l), "m"(by), "r"(0x7e) : "xmm1", "xmm2", "xmm3");
        for (int i = 0; i < 8; ++i)
          printf("%ld:%ld ", values[i], some[i]);
        asm("vpbroadcastq %1, %%ymm1; vpsravq %2, %%ymm1, %%ymm1; vmovdqu64 %%zmm1, %0"
            : "=m"(values) : "r"(-8l), "m"(by) : "xmm1");
        printf("%ld %ld\n", values[3], values[4]);

        char bytes[16];
        asm("vpxorq %%xmm16, %%xmm16, %%xmm16; vpinsrb $1, 7(%1), %%xmm16, %%xmm16;"
            "vmovdqu64 %%xmm16, %0" : "=m"(bytes) : "r"("0123456789abcdef") : "memory");
        printf("%d%c%d\n", bytes[0], bytes[1], bytes[2]);

        int from[16], to[16];
        for (int i = 0; i < 16; ++i)
          from[i] = 15 - i;
        asm("vmovdqu64 %1, %%zmm20; kxnorw %%k0, %%k0, %%k1; kxnorw %%k0, %%k0, %%k2;"
            "vpgatherdd 4(%2, %%zmm20, 4), %%zmm4%{%%k1%};"
            "vpscatterdd %%zmm4, (%3, %%zmm20, 4)%{%%k2%}"
            : "=m"(to) : "m"(from), "r"(from - 1), "r"(to) : "xmm4", "memory");
        for (int i = 0; i < 16; ++i)
          printf("%d ", to[i]);""",
    )
    assert (done.returncode, done.stderr) == (0, "")
    masks, shifted, inserted, gathered = done.stdout.splitlines()
    assert masks == "8000 1"
    assert shifted == "-8:0 -4:-4 -1:-1 -1:-1 -1:-1 -1:-1 -1:-1 -2:0 -1 0"
    assert inserted == "070"
    assert gathered.split() == [str(15 - place) for place in range(16)]


def test_masks_of_gfni(ours: Emulator, tmp_path: Path) -> None:
    """Which Bochs leaves out; by a matrix that shifts to the right by 4."""
    if ours.name != "sapphirerapids":
        pytest.skip(f"{ours.name} has no GFNI")
    done = run_c(
        ours,
        tmp_path,
        r"""
        unsigned char bytes[64], merged[64], zeroed[64];
        memset(bytes, 0xa5, 64);
        asm("vmovdqu64 %2, %%zmm1; vpbroadcastq %3, %%zmm2; kmovq %4, %%k1;"
            "vgf2p8affineqb $3, %%zmm2, %%zmm1, %%zmm3%{%%k1%}%{z%};"
            "vgf2p8affineqb $0, %%zmm2, %%zmm1, %%zmm1%{%%k1%};"
            "vmovdqu64 %%zmm1, %0; vmovdqu64 %%zmm3, %1"
            : "=m"(merged), "=m"(zeroed)
            : "m"(bytes), "r"(0x1020408000000000), "r"(1l << 62) : "xmm1", "xmm2", "xmm3");
        for (int i = 61; i < 64; ++i)
          printf("%02x:%02x ", merged[i], zeroed[i]);""",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["a5:00", "0a:09", "a5:00"]
