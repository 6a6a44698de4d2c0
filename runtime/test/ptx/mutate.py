#!/usr/bin/env python3
"""Break kernels, and count how often the PTX interpreter notices.

Each barrier and each wait for cp.async is removed in turn. A launch must fail then, or the result
be wrong, in one of the two orders of warps. Usage: mutate.py DRIVER [FOLDER OF KERNELS]
"""

import ctypes
import math
import os
import random
import re
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ENOUGH = 0.95
REMOVED = re.compile(r"\t(?:bar\.sync|bar\.warp\.sync|cp\.async\.wait_group)[^\n]*\n")


class KernelError(RuntimeError):
    """What the driver says about a launch."""


class Driver:
    """The driver API with a context of the first device."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxPushCurrent_v2", context)
        self.memory = []

    def call(self, name: str, *args: object) -> None:
        """Call a function, and raise what goes wrong."""
        code = getattr(self.library, name)(*args)
        if code:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(code, ctypes.byref(text))
            raise KernelError(f"{name}: {code}: {(text.value or b'').decode()}")

    def alloc(self, size: int) -> int:
        """Return the address of new memory, which `release` releases."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self.memory.append(address.value)
        return address.value

    def put(self, data: bytes) -> int:
        """Return the address of a copy."""
        address = self.alloc(len(data))
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), data, ctypes.c_size_t(len(data)))
        return address

    def get(self, address: int, count: int) -> tuple[float, ...]:
        """Return floats of the device."""
        data = ctypes.create_string_buffer(4 * count)
        self.call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(address), ctypes.c_size_t(4 * count))
        return struct.unpack(f"{count}f", data.raw)

    def release(self) -> None:
        """Release all memory."""
        for address in self.memory:
            self.call("cuMemFree_v2", ctypes.c_uint64(address))
        self.memory.clear()

    def launch(
        self, ptx: str, name: str, grid: tuple[int, ...], block: tuple[int, ...], args: list[int]
    ) -> None:
        """Load a module and run one of its kernels."""
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx.encode() + b"\0")
        try:
            self.call("cuModuleGetFunction", ctypes.byref(kernel), module, name.encode())
            values = [ctypes.c_uint64(arg) for arg in args]
            pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
            self.call("cuLaunchKernel", kernel, *grid, *block, 0, None, pointers, None)
        finally:
            self.call("cuModuleUnload", module)


def memref(address: int, count: int) -> list[int]:
    """Return the parameters of a flat memref: two addresses, offset, size and stride."""
    return [address, address, 0, count, 1]


def are_close(actual: tuple[float, ...], expected: list[float], tolerance: float) -> bool:
    """Tell whether numbers are the same; none are NaN."""
    return all(abs(a - b) <= tolerance for a, b in zip(actual, expected, strict=True))


def normals(count: int) -> list[float]:
    """Return numbers that are exact in float16."""
    generator = random.Random(0)
    return [round(generator.gauss(0, 1) * 64) / 64 for _ in range(count)]


def product(a: list[float], b: list[float], m: int, n: int, k: int) -> list[float]:
    """Return the product of matrices."""
    columns = [b[j::n] for j in range(n)]
    rows = [a[i * k : (i + 1) * k] for i in range(m)]
    return [sum(map(float.__mul__, row, column)) for row in rows for column in columns]


class Softmax:
    """A softmax of rows, through shared memory or by shuffles."""

    def __init__(self, name: str, rows: int, columns: int) -> None:
        self.name, self.rows, self.columns = name, rows, columns
        self.x = [4 * value for value in normals(rows * columns)]
        self.expected = []
        for i in range(rows):
            row = [math.exp(value) for value in self.x[i * columns : (i + 1) * columns]]
            self.expected += [value / sum(row) for value in row]

    def run(self, driver: Driver, ptx: str) -> bool:
        """Tell whether the result is right."""
        count = self.rows * self.columns
        x, y = driver.put(struct.pack(f"{count}f", *self.x)), driver.alloc(4 * count)
        args = [self.rows, self.columns, *memref(x, count), *memref(y, count)]
        driver.launch(ptx, self.name, (2, 1, 1), (256, 1, 1), args)
        return are_close(driver.get(y, count), self.expected, 1e-5)


class Matmul:
    """A product of matrices by tiles, of float32 or, by tensor cores, of float16."""

    def __init__(
        self, name: str, code: str, block: tuple[int, ...], sizes: tuple[int, ...]
    ) -> None:
        self.name, self.code, self.block, self.sizes = name, code, block, sizes
        m, n, k = sizes
        self.a, self.b = normals(m * k), normals(k * n + 1)[1:]
        self.expected = product(self.a, self.b, m, n, k)

    def run(self, driver: Driver, ptx: str) -> bool:
        """Tell whether the result is right."""
        m, n, k = self.sizes
        a = driver.put(struct.pack(f"{m * k}{self.code}", *self.a))
        b = driver.put(struct.pack(f"{k * n}{self.code}", *self.b))
        c = driver.alloc(4 * m * n)
        args, expected = [m, n, k, *memref(a, m * k), *memref(b, k * n)], self.expected
        if self.code == "e":  # with a bias, and the positive part
            args += memref(driver.put(bytes(4 * n)), n)
            expected = [max(value, 0.0) for value in expected]
        args += memref(c, m * n)
        driver.launch(ptx, self.name, (-(-n // 64), -(-m // 64), 1), self.block, args)
        return are_close(driver.get(c, m * n), expected, 1e-3)


def check(driver: Driver, run: Callable[[Driver, str], bool], ptx: str) -> bool:
    """Tell whether a kernel runs and is right in both orders of warps."""
    for order in "forward", "reverse":
        os.environ["RELAX_PTX_ORDER"] = order
        try:
            if not run(driver, ptx):
                return False
        except KernelError:
            return False
        finally:
            driver.release()
    return True


def mutants(ptx: str, name: str) -> Iterator[tuple[int, str, str]]:
    """Yield a line, what is removed there, and the text without it."""
    begin = ptx.index(f".entry {name}(")
    end = ptx.find(".entry", begin + 6)
    for found in REMOVED.finditer(ptx, begin, end if end >= 0 else len(ptx)):
        line = ptx.count("\n", 0, found.start()) + 1
        yield line, found.group().strip(), ptx[: found.start()] + ptx[found.end() :]


def main() -> int:
    """Return 0 where enough is noticed."""
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent / "kernels"
    driver = Driver(sys.argv[1])
    kernels = [
        ("tiles.ptx", Softmax("softmax", 3, 700)),
        ("softmax_warp.ptx", Softmax("softmax_warp", 3, 700)),
        ("tiles.ptx", Matmul("matmul", "f", (16, 16, 1), (70, 90, 50))),
        ("mma.ptx", Matmul("mma", "e", (128, 1, 1), (70, 72, 168))),
    ]
    total = noticed = 0
    for file, kernel in kernels:
        ptx = (folder / file).read_text()
        if not check(driver, kernel.run, ptx):
            print(f"{file}: {kernel.name} is wrong as it is")
            return 1
        for line, what, text in mutants(ptx, kernel.name):
            total += 1
            if check(driver, kernel.run, text):
                print(f"{file}, line {line}: nobody misses {what}")
            else:
                noticed += 1
    print(f"{noticed} of {total} removals were noticed")
    return 0 if total and noticed >= ENOUGH * total else 1


if __name__ == "__main__":
    sys.exit(main())
