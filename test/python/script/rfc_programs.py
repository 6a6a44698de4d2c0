"""The programs of the RFC, with the imports of this package."""

from __future__ import annotations  # n, k and m are bound nowhere else

import relax_mlir.script
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@relax_mlir.script.ir_module
class Guide:
    @T.prim_func
    def tir_exp_func(x: T.handle, y: T.handle):
        n = T.var("int64")
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        for i in T.serial(n):
            Y[i] = T.exp(X[i], dtype="float32")

    @R.function
    def relax_func(x: R.Tensor[(n, k), "float32"], w: R.Tensor[_, "float32"]):
        with R.dataflow():
            lv0 = R.match_shape(w, (k, m))
            lv1: R.Tensor[(n, m), "float32"] = R.dot(x, lv0)
            lv2: R.Tensor[(n * m,), "float32"] = R.flatten(lv1)
            lv3: R.Shape = (n * m,)
            gv0 = R.call_tir(tir_exp_func, [lv2], lv3, dtype="float32")
            R.outputs(gv0)

        R.call_packed("custom_inplace_update", gv0)
        return gv0


@relax_mlir.script.ir_module
class Calls:
    @T.prim_func
    def tir_matmul(x: T.handle, y: T.handle, z: T.handle) -> None:
        m = T.var("int32")
        n = T.var("int32")
        k = T.var("int32")
        A = T.match_buffer(x, (m, n))
        B = T.match_buffer(y, (n, k))
        C = T.match_buffer(z, (m, k))

        for i0, j0, k0 in T.grid(m, n, k):
            with T.block():
                i, j, k = T.axis.remap("SSR", [i0, j0, k0])
                with T.init():
                    C[i, j] = 0.0
                C[i, j] += A[i, k] * B[j, k]

    @R.function
    def relax_func(x: R.Tensor[(m, n), "float32"], y: R.Tensor[(n, k), "float32"]):
        with R.dataflow():
            gv0 = R.call_tir(tir_matmul, (x, y), (m, k), dtype="float32")
            R.outputs(gv0)

        R.call_packed("custom_print", gv0)
        gv1 = R.call_packed("custom_add", gv0, gv0)
        gv2 = R.call_dps_packed("custom_tile", (gv1), (m, k * 2), dtype="float32")
        return gv2


@R.function
def shape_example(x: R.Tensor[(n, 2, 2), "float32"]):
    with R.dataflow():
        # V0: symbolic and static shapes
        lv0: R.Tensor[(n, 4), "float32"] = R.reshape(x, (n, 4))
        lv1: R.Tensor[(n * 4,), "float32"] = R.flatten(lv0)
        lv2: R.Shape = (n * 4,)

        # V1: an opaque function of shapes
        lv3: R.Shape = R.call_packed("myshape_func", lv2)
        lv4 = R.call_tir("custom_func", (lv1,), lv3, dtype="float32")

        # V2: a shape that depends on the data
        lv5: R.Tensor[_, "float32"] = R.unique(lv4)

        # matched again
        lv6: R.Tensor[(m,), "float32"] = R.match_shape(lv5, (m,))
        lv7: R.Shape = R.match_shape(lv3, (m,))

        gv0: R.Tensor[(m,), "float32"] = R.exp(lv6)
        R.outputs(gv0)

    return gv0


@relax_mlir.script.ir_module
class TwoBlocks:
    @T.prim_func
    def linear(x: T.handle, w: T.handle, b: T.handle, y: T.handle):
        X = T.match_buffer(x, (1, 784))
        W = T.match_buffer(w, (128, 784))
        B = T.match_buffer(b, (128,))
        Y = T.match_buffer(y, (1, 128))
        for j in T.serial(128):
            Y[0, j] = B[j]
        for j, k in T.grid(128, 784):
            Y[0, j] = Y[0, j] + X[0, k] * W[j, k]

    @T.prim_func
    def relu(x: T.handle, y: T.handle):
        X = T.match_buffer(x, (1, 128))
        Y = T.match_buffer(y, (1, 128))
        for j in T.serial(128):
            Y[0, j] = T.max(X[0, j], T.float32(0))

    @T.prim_func
    def linear1(x: T.handle, w: T.handle, b: T.handle, y: T.handle):
        X = T.match_buffer(x, (1, 128))
        W = T.match_buffer(w, (128, 128))
        B = T.match_buffer(b, (128,))
        Y = T.match_buffer(y, (1, 128))
        for j in T.serial(128):
            Y[0, j] = B[j]
        for j, k in T.grid(128, 128):
            Y[0, j] = Y[0, j] + X[0, k] * W[j, k]

    @R.function
    def main(
        x: R.Tensor((1, 784), "float32"),
        w: R.Tensor((128, 784), "float32"),
        b: R.Tensor((128,), "float32"),
    ):
        with R.dataflow():
            lv0 = R.call_tir(linear, (x, w, b), (1, 128), dtype="float32")
            gv0 = R.call_tir(relu, (lv0,), (1, 128), dtype="float32")
            R.output(gv0)

        R.call_packed("custom_inplace_update", gv0)
        gv1 = R.read_tensor_from_file("tensor.txt")

        with R.dataflow():
            out = R.call_tir(linear1, (gv0, gv1, b), (1, 128), dtype="float32")
            R.output(out)
        return out


@relax_mlir.script.ir_module
class Lowering:
    @T.prim_func
    def tirexp(x: T.handle, y: T.handle):
        n1, m1 = T.var("int64"), T.var("int64")
        X = T.match_buffer(x, (n1, m1))
        Y = T.match_buffer(y, (n1, m1))
        for i, j in T.grid(n1, m1):
            Y[i, j] = T.exp(X[i, j])

    @R.function
    def relax_function(x: R.Tensor[(n, m)]):
        with R.dataflow():
            lv0: R.Tensor[(n, m)] = R.call_tir(tirexp, (x,), (n, m), dtype="float32")
            gv0: R.Tensor[(m * n,)] = R.call_tir("flatten", (lv0,), (m * n,), dtype="float32")
            R.outputs(gv0)

        return gv0


@R.func
def structure(x: R.Tensor[(n, k), "float32"], w: R.Tensor[(k, m), "float32"]):
    with R.dataflow():
        lv0: R.Tensor[(n, m), "float32"] = R.dot(x, w)
        gv0: R.Tensor[(n * m,), "float32"] = R.flatten(lv0)
        R.outputs(gv0)

    gv1 = R.call_packed("custom_inplace_update", gv0)
    return gv1
