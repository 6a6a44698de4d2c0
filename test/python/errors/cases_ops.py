# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong inputs of operators."""

CASES = [
    (
        "emit(lambda x: op.addd(x, x))",
        "AttributeError",
        "module 'relax_mlir.op' has no attribute 'addd'; did you mean 'op.add'?",
    ),
    (
        "emit(lambda x: op.relu(x))",
        "AttributeError",
        "module 'relax_mlir.op' has no attribute 'relu'; did you mean 'op.nn.relu'?",
    ),
    (
        "emit(lambda x: op.nn.rellu(x))",
        "AttributeError",
        "module 'relax_mlir.op.nn' has no attribute 'rellu'; did you mean 'relu'?",
    ),
    (
        "emit(lambda x: op.nn.exp(x))",
        "AttributeError",
        "module 'relax_mlir.op.nn' has no attribute 'exp'; did you mean 'op.exp'?",
    ),
    (
        "emit(lambda x: op.grad.foo(x))",
        "AttributeError",
        "module 'relax_mlir.op.grad' has no attribute 'foo'",
    ),
    (
        "emit(lambda x: op.sum(x, axis='a'))",
        "TypeError",
        "op.sum: expected axis to be an int, a list of int or None, but got 'a'",
    ),
    (
        "emit(lambda x: op.sum(x, axis=1.5))",
        "TypeError",
        "op.sum: expected axis to be an int, a list of int or None, but got 1.5",
    ),
    (
        "emit(lambda x: op.sum(x, axis=[0, 'b']))",
        "TypeError",
        "op.sum: expected axis[1] to be an int, but got 'b'",
    ),
    (
        "emit(lambda x: op.sum(x, axis=7))",
        "ValueError",
        "relax.sum: expected an axis from -2 to 1, but got 7",
    ),
    (
        "emit(lambda x: op.sum(x, axis=[0, 0]))",
        "ValueError",
        "relax.sum: expected distinct axes, but got axis 0 twice",
    ),
    (
        "emit(lambda x: op.sum(x, axes=1))",
        "TypeError",
        "op.sum: expected the arguments x, axis, keepdims, but got 'axes'; did you mean 'axis'?",
    ),
    (
        "emit(lambda x: op.sum(x, keepdims='yes'))",
        "TypeError",
        "op.sum: expected keepdims to be True or False, but got 'yes'",
    ),
    (
        "emit(lambda x: op.sum(x, keepdims=3))",
        "TypeError",
        "op.sum: expected keepdims to be True or False, but got 3",
    ),
    (
        "emit(lambda x: op.sum())",
        "TypeError",
        "op.sum: expected the arguments x, axis, keepdims, but 'x' is missing",
    ),
    (
        "emit(lambda x: op.sum(None))",
        "TypeError",
        "expected a tensor, a number or an array, but got None",
    ),
    (
        "emit(lambda x: op.sum(x, x))",
        "TypeError",
        "expected a tuple, but got a value of type !relax.tensor<[n, 4], f32>",
    ),
    (
        "emit(lambda x: op.exp('x'))",
        "TypeError",
        "expected a tensor, a number or an array, but got 'x'",
    ),
    (
        "emit(lambda x: op.exp(None))",
        "TypeError",
        "expected a tensor, a number or an array, but got None",
    ),
    (
        "emit(lambda x: op.exp({'a': 1}))",
        "TypeError",
        "expected a tensor, a number or an array, but got {'a': 1}",
    ),
    (
        "emit(lambda x: op.exp([[1, 2], [3]]))",
        "TypeError",
        "op.exp: expected other arguments, but got [[1, 2], [3]]",
    ),
    (
        "emit(lambda x: op.exp(x, x))",
        "TypeError",
        "op.exp: expected the argument x, but got 2 by position",
    ),
    (
        "emit(lambda x: op.exp(object()))",
        "TypeError",
        "expected a tensor, a number or an array, but got <object object",
    ),
    (
        "emit(lambda t: op.exp(t))",
        "TypeError",
        "expected a tensor, but got a value of type !relax.tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n",
    ),
    (
        "emit(lambda i: op.exp(i))",
        "ValueError",
        "relax.exp: expected x of float data type, but got '!relax.tensor<[n], i64>'",
    ),
    (
        "emit(lambda x: op.exp(1j))",
        "TypeError",
        "expected a tensor, a number or an array, but got 1j",
    ),
    (
        "emit(lambda x: op.add(x, 'y'))",
        "TypeError",
        "expected a tensor, a number or an array, but got 'y'",
    ),
    (
        "emit(lambda x: op.add(x, None))",
        "TypeError",
        "expected a tensor, a number or an array, but got None",
    ),
    (
        "emit(lambda x: op.add(x))",
        "TypeError",
        "op.add: expected the arguments x1, x2, but 'x2' is missing",
    ),
    (
        "emit(lambda x, y: op.add(x, i) if False else op.add(x, np.zeros((2, 3, 5), 'float32')))",
        "ValueError",
        "relax.add: expected dimensions that broadcast, but got 5 and 4",
    ),
    (
        "emit(lambda x: op.add(x, [1, 2, 3]))",
        "ValueError",
        "relax.add: expected dimensions that broadcast, but got 4 and 3",
    ),
    (
        "emit(lambda x, y, i: op.add(x, i))",
        "ValueError",
        "relax.add: expected operands of the same data type, but got 'f32' and 'i64'; insert relax.astype",
    ),
    (
        "emit(lambda x, y, i: op.matmul(x, i))",
        "ValueError",
        "relax.matmul: expected operands of the same data type, but got 'f32' and 'i64'; insert relax.astype",
    ),
    (
        "emit(lambda x: op.matmul(x, x, out_dtype='float33'))",
        "ValueError",
        "expected a data type, one of bool, int4, int8, int16, int32, int64, uint4, uint8, uint16, uint32, uint64, float16",
    ),
    (
        "emit(lambda x: op.matmul(x, x, out_dtype=5))",
        "TypeError",
        "expected a data type, such as 'float32', but got 5",
    ),
    (
        "emit(lambda x: op.reshape(x, 'n'))",
        "TypeError",
        "expected a sequence of dimensions, but got 'n'",
    ),
    (
        "emit(lambda x: op.reshape(x, None))",
        "TypeError",
        "op.reshape: expected shape to be a shape, such as (2, 'n'), but got None",
    ),
    (
        "emit(lambda x: op.reshape(x, (2, None)))",
        "TypeError",
        "expected a dimension, int, str or Dim, but got None",
    ),
    (
        "emit(lambda x: op.reshape(x, (2.5, 1)))",
        "TypeError",
        "expected a dimension, int, str or Dim, but got 2.5",
    ),
    (
        "emit(lambda x: op.reshape(x, (-1, -1)))",
        "ValueError",
        "relax.reshape: expected one dimension of -1, but got 2",
    ),
    (
        "emit(lambda x: op.reshape(x, 4))",
        "TypeError",
        "op.reshape: expected shape to be a shape, such as (2, 'n'), but got 4",
    ),
    (
        "emit(lambda x: op.reshape(x, x))",
        "TypeError",
        "expected a shape, but got a value of type !relax.tensor<[n, 4], f32>",
    ),
    (
        "emit(lambda x: op.reshape(x, ('n +', 4)))",
        "ValueError",
        "expected a dimension such as 'n * 4 + 1' (operations are +, -, *, floordiv, mod, min(a, b), max(a, b",
    ),
    (
        "emit(lambda x: op.reshape(x, ('q', 4)))",
        "MLIRError",
        "'relax.shape' op shape variable 'q' is used before it is bound",
    ),
    (
        "emit(lambda x: op.zeros(('m',)))",
        "MLIRError",
        "'relax.shape' op shape variable 'm' is used before it is bound",
    ),
    (
        "emit(lambda x: op.zeros((-2,)))",
        "ValueError",
        "relax.zeros: expected dimensions of 0 or more, but got '!relax.shape<[-2]>'",
    ),
    (
        "emit(lambda x: op.zeros((2,), 'flot32'))",
        "ValueError",
        "expected a data type, one of bool, int4, int8, int16, int32, int64, uint4, uint8, uint16, uint32, uint64, float16",
    ),
    (
        "emit(lambda x: op.zeros((2,), dtype=3))",
        "TypeError",
        "expected a data type, such as 'float32', but got 3",
    ),
    (
        "emit(lambda x: op.zeros((2,), None))",
        "TypeError",
        "expected a data type, such as 'float32', but got None",
    ),
    (
        "emit(lambda x: op.full((2,), 'a'))",
        "TypeError",
        "expected a tensor, a number or an array, but got 'a'",
    ),
    (
        "emit(lambda x: op.full((2,), [1, 2, 3]))",
        "ValueError",
        "relax.full: expected fill_value of rank 0, but got '!relax.tensor<[3], i32>'",
    ),
    (
        "emit(lambda x: op.arange('a'))",
        "MLIRError",
        "'relax.prim_value' op shape variable 'a' is used before it is bound",
    ),
    (
        "emit(lambda x: op.arange(0, 10, 0))",
        "ValueError",
        "relax.arange: expected a step other than 0",
    ),
    (
        "emit(lambda x: op.arange(x))",
        "TypeError",
        "expected a number, but got a value of type !relax.tensor<[n, 4], f32>",
    ),
    (
        "emit(lambda x: op.concat(x))",
        "TypeError",
        "expected a tuple, but got a value of type !relax.tensor<[n, 4], f32>",
    ),
    ("emit(lambda x: op.concat([]))", "ValueError", "relax.concat: expected at least one tensor"),
    (
        "emit(lambda x: op.concat([x, None]))",
        "TypeError",
        "expected a tensor, a number or an array, but got None",
    ),
    (
        "emit(lambda x: op.concat([x, x], axis='n'))",
        "TypeError",
        "op.concat: expected axis to be an int, but got 'n'",
    ),
    (
        "emit(lambda x, y: op.concat([x, y]))",
        "ValueError",
        "expected tensors of the same rank, but got '!relax.tensor<[n, 4], f32>' and '!relax.tensor<[4], f32>",
    ),
    (
        "emit(lambda x: op.split(x, 'a'))",
        "TypeError",
        "op.split: expected indices_or_sections to be an int or a list of int or a Dim, but got 'a'",
    ),
    (
        "emit(lambda x: op.split(x, 0, axis=1))",
        "ValueError",
        "relax.split: expected one section or more, but got 0",
    ),
    (
        "emit(lambda x: op.split(x, [1, 'b'], axis=1))",
        "TypeError",
        "op.split: expected indices_or_sections[1] to be an int or a Dim, but got 'b'",
    ),
    (
        "emit(lambda x: op.permute_dims(x, [0, 0]))",
        "ValueError",
        "relax.permute_dims: expected distinct axes, but got axis 0 twice",
    ),
    (
        "emit(lambda x: op.permute_dims(x, 'ab'))",
        "TypeError",
        "op.permute_dims: expected axes to be an int, a list of int or None, but got 'ab'",
    ),
    (
        "emit(lambda x: op.permute_dims(x, [0]))",
        "ValueError",
        "relax.permute_dims: expected 2 axes, but got 1",
    ),
    (
        "emit(lambda x: op.squeeze(x, axis=1))",
        "ValueError",
        "relax.squeeze: expected dimension 1 to be 1, but got 4",
    ),
    (
        "emit(lambda x: op.expand_dims(x, axis=None))",
        "TypeError",
        "op.expand_dims: expected axis to be an int or a list of int, but got None",
    ),
    (
        "emit(lambda x: op.expand_dims(x, axis=9))",
        "ValueError",
        "relax.expand_dims: expected an axis from -3 to 2, but got 9",
    ),
    (
        "emit(lambda x: op.take(x, 'i'))",
        "TypeError",
        "expected a tensor, a number or an array, but got 'i'",
    ),
    (
        "emit(lambda x, y, i: op.take(x, i, axis=0, mode='clamp'))",
        "ValueError",
        "relax.take: expected mode 'clip', 'wrap' or 'nan', but got 'clamp'",
    ),
    (
        "emit(lambda x, y, i: op.take(x, y, axis=0))",
        "ValueError",
        "relax.take: expected indices of integer data type, but got '!relax.tensor<[4], f32>'",
    ),
    (
        "emit(lambda x, y, i: op.take(x, i, axis=5))",
        "ValueError",
        "relax.take: expected an axis from -2 to 1, but got 5",
    ),
    (
        "emit(lambda x: op.strided_slice(x, 'a', [0], [1]))",
        "ValueError",
        "relax.strided_slice: expected axes of known value, but got a",
    ),
    (
        "emit(lambda x: op.strided_slice(x, [0], [0, 1], [1]))",
        "ValueError",
        "relax.strided_slice: expected 1 entries of begin, one for each axis, but got '!relax.shape<[0, 1]>'",
    ),
    (
        "emit(lambda x: op.strided_slice(x, [0], [0], [1], [0]))",
        "ValueError",
        "relax.strided_slice: expected strides that are known and not 0, but got 0",
    ),
    (
        "emit(lambda x: op.strided_slice(x, [0], ['a b'], [1]))",
        "ValueError",
        "expected a dimension such as 'n * 4 + 1' (operations are +, -, *, floordiv, mod, min(a, b), max(a, b",
    ),
    (
        "emit(lambda x: op.astype(x, 'int7'))",
        "ValueError",
        "expected a data type, one of bool, int4, int8, int16, int32, int64, uint4, uint8, uint16, uint32, uint64, float16",
    ),
    (
        "emit(lambda x: op.astype(x, 4))",
        "TypeError",
        "expected a data type, such as 'float32', but got 4",
    ),
    (
        "emit(lambda x: op.astype(x, None))",
        "TypeError",
        "expected a data type, such as 'float32', but got None",
    ),
    (
        "emit(lambda x: x.astype('flaot16'))",
        "ValueError",
        "expected a data type, one of bool, int4, int8, int16, int32, int64, uint4, uint8, uint16, uint32, uint64, float16",
    ),
    (
        "emit(lambda x: op.clip(x, 'a b', 1))",
        "ValueError",
        "expected a dimension such as 'n * 4 + 1' (operations are +, -, *, floordiv, mod, min(a, b), max(a, b",
    ),
    ("emit(lambda x: op.clip(x, None, 1))", "TypeError", "expected a number, but got None"),
    (
        "emit(lambda x: op.cumsum(x, axis='a'))",
        "TypeError",
        "op.cumsum: expected axis to be an int or None, but got 'a'",
    ),
    (
        "emit(lambda x: op.where(x, x, x))",
        "ValueError",
        "relax.where: expected condition of Boolean data type, but got '!relax.tensor<[n, 4], f32>'",
    ),
    (
        "emit(lambda x: op.where(x > 0, x))",
        "TypeError",
        "op.where: expected the arguments condition, x1, x2, but 'x2' is missing",
    ),
    (
        "emit(lambda x: op.argmax(x, axis=[1]))",
        "TypeError",
        "op.argmax: expected axis to be an int or None, but got [1]",
    ),
    (
        "emit(lambda x: op.one_hot(x, 1, 0, 5))",
        "ValueError",
        "relax.one_hot: expected indices of integer data type, but got '!relax.tensor<[n, 4], f32>'",
    ),
    (
        "emit(lambda x, y, i: op.one_hot(i, 1, 0, 'a'))",
        "TypeError",
        "op.one_hot: expected depth to be an int, but got 'a'",
    ),
    (
        "emit(lambda x: op.nn.softmax(x, axis='last'))",
        "TypeError",
        "op.nn.softmax: expected axis to be an int, but got 'last'",
    ),
    (
        "emit(lambda x: op.nn.softmax(x, axis=2))",
        "ValueError",
        "relax.softmax: expected an axis from -2 to 1, but got 2",
    ),
    (
        "emit(lambda x: op.nn.softmax(x, dim=1))",
        "TypeError",
        "op.nn.softmax: expected the arguments x, axis, but got 'dim'",
    ),
    (
        "emit(lambda x: op.nn.conv2d(x, x))",
        "ValueError",
        "relax.conv2d: expected data of rank 4, as its layout is 'NCHW', but got '!relax.tensor<[n, 4], f32>'",
    ),
    (
        "emit(lambda x: op.nn.conv2d(op.zeros((1, 3, 8, 8)), op.zeros((4, 2, 3, 3))))",
        "ValueError",
        "relax.conv2d: expected data of 2 channels, but got 3",
    ),
    (
        "emit(lambda x: op.nn.conv2d(op.zeros((1, 3, 8, 8)), op.zeros((4, 3, 3, 3)), strides='a'))",
        "TypeError",
        "op.nn.conv2d: expected strides to be an int or a list of int, but got 'a'",
    ),
    (
        "emit(lambda x: op.nn.conv2d(op.zeros((1, 3, 8, 8)), op.zeros((4, 3, 3, 3)), strides=0))",
        "ValueError",
        "relax.conv2d: expected strides from 1 to 2147483647, but got 0",
    ),
    (
        "emit(lambda x: op.nn.conv2d(op.zeros((1, 3, 8, 8)), op.zeros((4, 3, 3, 3)), padding=(1, 2, 3)))",
        "ValueError",
        "relax.conv2d: expected 4 numbers as padding, but got 3",
    ),
    (
        "emit(lambda x: op.nn.conv2d(op.zeros((1, 3, 8, 8)), op.zeros((4, 3, 3, 3)), data_layout='NXYZ'))",
        "ValueError",
        "relax.conv2d: expected data_layout to be a permutation of 'NCHW', but got 'NXYZ'",
    ),
    (
        "emit(lambda x: op.nn.conv2d(op.zeros((1, 3, 8, 8)), op.zeros((4, 3, 3, 3)), data_layout=3))",
        "TypeError",
        "op.nn.conv2d: expected data_layout to be a str, but got 3",
    ),
    (
        "emit(lambda x: op.nn.max_pool2d(x, pool_size=(2, 2)))",
        "ValueError",
        "relax.max_pool2d: expected data of rank 4, as its layout is 'NCHW', but got '!relax.tensor<[n, 4], f",
    ),
    (
        "emit(lambda x: op.nn.max_pool2d(op.zeros((1, 3, 8, 8)), pool_size='a'))",
        "TypeError",
        "op.nn.max_pool2d: expected pool_size to be an int or a list of int, but got 'a'",
    ),
    (
        "emit(lambda x: op.nn.layer_norm(x, x, x, axes=[1]))",
        "ValueError",
        "relax.layer_norm: expected gamma of rank 1, the number of axes, but got '!relax.tensor<[n, 4], f32>'",
    ),
    (
        "emit(lambda x, y: op.nn.layer_norm(x, y, y, axes=[1], epsilon='small'))",
        "TypeError",
        "op.nn.layer_norm: expected epsilon to be a number, but got 'small'",
    ),
    (
        "emit(lambda x, y: op.nn.layer_norm(x, y, y, axes='last'))",
        "TypeError",
        "op.nn.layer_norm: expected axes to be an int or a list of int, but got 'last'",
    ),
    (
        "emit(lambda x: op.nn.dropout(x, 'much'))",
        "TypeError",
        "op.nn.dropout: expected rate to be a number, but got 'much'",
    ),
    (
        "emit(lambda x: op.nn.leakyrelu(x, alpha='a'))",
        "TypeError",
        "op.nn.leakyrelu: expected alpha to be a number, but got 'a'",
    ),
    (
        "emit(lambda x: op.nn.pad(x, [1, 1]))",
        "ValueError",
        "relax.pad: expected two of pad_width for each dimension",
    ),
    (
        "emit(lambda x: op.nn.pad(x, 'a'))",
        "TypeError",
        "op.nn.pad: expected pad_width to be an int or a list of int, but got 'a'",
    ),
    (
        "emit(lambda x: op.nn.attention(x, x, x))",
        "ValueError",
        "relax.attention: expected query of rank 4, but got '!relax.tensor<[n, 4], f32>'",
    ),
    (
        "emit(lambda x: op.image.resize2d(x, (2, 2)))",
        "ValueError",
        "expected a tensor of the layout NCHW, but got rank 2",
    ),
    (
        "emit(lambda x: op.layout_transform(x, 'NCHW'))",
        "TypeError",
        "op.layout_transform: expected index_map to be a function, an AffineMap or an AffineMapAttr, but got",
    ),
    (
        "emit(lambda x: op.repeat(x, 'a'))",
        "TypeError",
        "op.repeat: expected repeats to be an int, but got 'a'",
    ),
    (
        "emit(lambda x: op.tile(x, [2, 'a']))",
        "TypeError",
        "op.tile: expected repeats[1] to be an int, but got 'a'",
    ),
    (
        "emit(lambda x: op.scatter_elements(x, x, x))",
        "ValueError",
        "relax.scatter_elements: expected indices of integer data type, but got '!relax.tensor<[n, 4], f32>'",
    ),
    (
        "emit(lambda x, y, i: op.scatter_nd(x, op.expand_dims(i, 1), x, reduction='sum'))",
        "ValueError",
        "relax.scatter_nd: expected reduction 'update', 'add', 'mul', 'min', 'max', but got 'sum'",
    ),
    (
        "emit(lambda x: op.call_tir('kernel', [x], x.struct_info))",
        "MLIRError",
        "'relax.call_tir' op expected @kernel to be a func.func of the module",
    ),
    (
        "emit(lambda x: op.call_tir(relax.GlobalVar('missing'), [x], out_sinfo=x.struct_info))",
        "MLIRError",
        "'relax.call_tir' op expected @missing to be a func.func of the module",
    ),
    (
        "emit(lambda x: op.call_pure_packed('f', x))",
        "TypeError",
        "op.call_pure_packed: expected the arguments func, args, sinfo_args, but 'sinfo_args' is missing",
    ),
    (
        "emit(lambda x: op.call_pure_packed('f', x, sinfo_args='float32'))",
        "TypeError",
        "expected fields to be a list of type, such as TensorStructInfo(...) or a type, such as TensorStructI",
    ),
    (
        "emit(lambda x: op.call_pure_packed(3, x, sinfo_args=x.struct_info))",
        "MLIRError",
        "'relax.call_pure_packed' op operand #0 must be a Relax function, but got '!relax.prim<i64, 3>'",
    ),
    (
        "emit(lambda x: op.call_dps_packed('f', x, 'tensor'))",
        "TypeError",
        "expected fields to be a list of type, such as TensorStructInfo(...) or a type, such as TensorStructI",
    ),
    (
        "emit(lambda x: op.call(x, x))",
        "ValueError",
        "relax.call: expected a function, but got a value of type !relax.tensor<[n, 4], f32>",
    ),
    (
        "emit(lambda x: op.call('f', x))",
        "ValueError",
        "relax.call: expected a function, but got a value of type !relax.object",
    ),
    (
        "emit(lambda x: op.match_cast(x, 'float32'))",
        "TypeError",
        "op.match_cast: expected struct_info to be a type, such as TensorStructInfo(...), but got 'float32'",
    ),
    (
        "emit(lambda x: op.match_cast(x, None))",
        "TypeError",
        "op.match_cast: expected struct_info to be a type, such as TensorStructInfo(...), but got None",
    ),
    (
        "emit(lambda x: op.get_item(x, 0))",
        "ValueError",
        "relax.get_item: expected a tuple, but got '!relax.tensor<[n, 4], f32>'",
    ),
    (
        "emit(lambda x, y, i, t: op.get_item(t, 'a'))",
        "TypeError",
        "op.get_item: expected index to be an int, but got 'a'",
    ),
    (
        "emit(lambda x, y, i, t: op.get_item(t, 5))",
        "ValueError",
        "relax.get_item: expected an index below 2, the number of fields, but got 5",
    ),
    (
        "emit(lambda x, y, i, t: t['a'])",
        "TypeError",
        "expected an int, the number of a field of a tuple, but got 'a'; for elements of a tensor write op.st",
    ),
    (
        "emit(lambda x, y, i, t: t[0:1])",
        "TypeError",
        "expected an int, the number of a field of a tuple, but got slice(0, 1, None); for elements of a tens",
    ),
    (
        "emit(lambda x: x[0])",
        "ValueError",
        "relax.get_item: expected a tuple, but got '!relax.tensor<[n, 4], f32>'",
    ),
    (
        "emit(lambda x: x[1:3])",
        "TypeError",
        "expected an int, the number of a field of a tuple, but got slice(1, 3, None); for elements of a tens",
    ),
    (
        "emit(lambda x: x.shape)",
        "AttributeError",
        "a value of a program has no attribute 'shape'; write op.shape_of(x), or x.struct_info.shape for what",
    ),
    (
        "emit(lambda x: x.reshape((4, 'n')))",
        "AttributeError",
        "a value of a program has no attribute 'reshape'; write op.reshape(x, ...)",
    ),
    (
        "emit(lambda x: x.sum())",
        "AttributeError",
        "a value of a program has no attribute 'sum'; write op.sum(x, ...)",
    ),
    (
        "emit(lambda x: x.dtype)",
        "AttributeError",
        "a value of a program has no attribute 'dtype'; write x.struct_info.dtype",
    ),
    (
        "emit(lambda x: x + 'a')",
        "TypeError",
        "expected a tensor, a number or an array, but got 'a'",
    ),
    ("emit(lambda x: len(x))", "TypeError", "object of type 'Expr' has no len()"),
    (
        "emit(lambda x: [v for v in x])",
        "TypeError",
        "expected a tuple, but got a value of type !relax.tensor<[n, 4], f32>",
    ),
    (
        "emit(lambda x: float(x))",
        "TypeError",
        "float() argument must be a string or a real number, not 'Expr'",
    ),
    (
        "emit(lambda x: np.exp(x))",
        "TypeError",
        "operand 'Expr' does not support ufuncs (__array_ufunc__=None)",
    ),
    ("emit(lambda x: op.const('a'))", "TypeError", "expected numbers, but got 'a'"),
    ("emit(lambda x: op.const(None))", "TypeError", "expected numbers, but got None"),
    (
        "emit(lambda x: op.const([[300]], 'int8'))",
        "ValueError",
        "expected a value of type int8, but got [[300]]",
    ),
    (
        "emit(lambda x: op.const([1.5], 'int32'))",
        "ValueError",
        "expected a value of type int32, but got [1.5]",
    ),
    (
        "emit(lambda x: op.const(300, 'int8'))",
        "ValueError",
        "expected a value of type int8, but got 300",
    ),
    (
        "emit(lambda x: op.const(1.5, 'int32'))",
        "ValueError",
        "expected a value of type int32, but got 1.5",
    ),
    ("emit(lambda x: op.const([1, 'a']))", "TypeError", "expected numbers, but got [1, 'a']"),
    (
        "emit(lambda x: op.const(1, 'complex64'))",
        "ValueError",
        "expected a data type, one of bool, int4, int8, int16, int32, int64, uint4, uint8, uint16, uint32, uint64, float16",
    ),
    (
        "emit(lambda x: op.const(np.zeros(2, 'complex64')))",
        "TypeError",
        "expected numbers, but got an array of complex64, shape (2,)",
    ),
    (
        "emit(lambda x: op.const(np.array(['a'])))",
        "TypeError",
        "expected numbers, but got an array of <U1, shape (1,)",
    ),
    ("emit(lambda x: op.prim_value('a'))", "TypeError", "expected a number, but got 'a'"),
    ("emit(lambda x: op.prim_value(None))", "TypeError", "expected a number, but got None"),
    (
        "emit(lambda x: op.string(3))",
        "TypeError",
        "op.string: expected value to be a str, but got 3",
    ),
    (
        "emit(lambda x: op.dtype('x32'))",
        "ValueError",
        "expected a data type, one of bool, int4, int8, int16, int32, int64, uint4, uint8, uint16, uint32, uint64, float16",
    ),
    (
        "emit(lambda x: op.shape(3))",
        "TypeError",
        "relax.ShapeExpr: expected dims to be a list of int, a str or a Dim or an Attribute, but got 3",
    ),
    (
        "emit(lambda x: op.shape([x]))",
        "TypeError",
        "expected a dimension, int, str or Dim, but got <relax_mlir.core.values.Expr object",
    ),
    (
        "emit(lambda x: op.global_var('missing'))",
        "ValueError",
        "expected a function of the module, but got 'missing'",
    ),
    (
        "emit(lambda x: op.global_var(3))",
        "TypeError",
        "op.global_var: expected function to be a GlobalVar or a str, but got 3",
    ),
    (
        "emit(lambda x: op.print('a', format=3))",
        "TypeError",
        "op.print: expected format to be a str, but got 3",
    ),
    (
        "emit(lambda x: op.to_vdevice(x, 3))",
        "TypeError",
        "op.to_vdevice: expected vdevice to be a str, but got 3",
    ),
    (
        "op.exp(relax.Var('x', x_type))",
        "ValueError",
        "expected 'x' to be a parameter of the function that is being built, or a closure: in its own body it",
    ),
    (
        "op.exp(np.zeros(2, 'float32'))",
        "ValueError",
        "expected relax.constant inside BlockBuilder.function or an InsertionPoint",
    ),
    (
        "emit(lambda x: op.tensor_to_shape(x))",
        "ValueError",
        "expected a vector of sizes, but got a value of type !relax.tensor<[n, 4], i64>",
    ),
    (
        "emit(lambda x: op.add(x, 1e300))",
        "ValueError",
        "expected a value of type float32, but got 1e+300",
    ),
    (
        "emit(lambda x: op.image.resize2d(op.zeros((1, 1, 2, 2), 'float32'), (0, 0)))",
        "ValueError",
        "expected sizes of 1 or more, but got 0",
    ),
    (
        "emit(lambda x: op.const(np.zeros((2, 2), 'M8[s]')))",
        "TypeError",
        "expected numbers, but got an array of datetime64[s], shape (2, 2)",
    ),
    (
        "emit(lambda x: op.const(np.zeros((1000, 1000), 'O')))",
        "TypeError",
        "expected numbers, but got an array of object, shape (1000, 1000)",
    ),
    (
        "l = []; l.append(l); emit(lambda x: op.const(l))",
        "ValueError",
        "expected numbers, but got a list that is nested too deep, or holds itself",
    ),
    (
        "import functools; l = functools.reduce(lambda l, _: [l], range(5000), 1.0); emit(lambda x: op.const(l))",
        "ValueError",
        "expected numbers, but got a list that is nested too deep, or holds itself",
    ),
    (
        "emit(lambda x: op.const(np.ma.masked_array(zeros, mask=zeros == 0)))",
        "TypeError",
        "expected an array without a mask: write x.filled()",
    ),
    (
        "l = []; l.append(l); emit(lambda x: l)",
        "ValueError",
        "expected a tuple of values, but got one that is nested too deep, or holds itself",
    ),
    (
        "emit(lambda x: op.hamming_window('n', True, 0.5, 0.5, 'int32'))",
        "TypeError",
        "expected window_size as a number that is known, but got 'n'",
    ),
    (
        "emit(lambda x: op.memory.alloc_storage([4], 0, 'global', 'uint9'))",
        "ValueError",
        "expected a data type, one of bool, int4",
    ),
    (
        "emit(lambda x: op.memory.alloc_storage([4], 'a', 'global', 'uint8'))",
        "TypeError",
        "expected the index of a device as a number that is known, but got 'a'",
    ),
    (
        "emit(lambda x: op.memory.alloc_storage(4, 0, 'global', 'uint8'))",
        "TypeError",
        "expected the size such as (2, 'n'), but got 4",
    ),
    (
        "emit(lambda x: op.memory.view(x, [4], offset=1))",
        "TypeError",
        "op.memory.view: expected the arguments data, shape, dtype, relative_byte_offset, but got 'off",
    ),
    (
        "emit(lambda x: op.builtin.alloc_tensor(['n'], 'float32', 0, 'local'))",
        "ValueError",
        "expected the storage scope 'global', the only one that there is, but got 'local'",
    ),
    (
        "emit(lambda x: op.vm.kill_object(object()))",
        "TypeError",
        "expected a value",
    ),
    (
        "emit(lambda x: op.inspect.tensor_shape_i(x, 'a'))",
        "TypeError",
        "expected a dimension as a number that is known, but got 'a'",
    ),
    (
        "emit(lambda x: op.make_closure(3, x))",
        "TypeError",
        "expected a function of known parameters",
    ),
    (
        "emit(lambda x: op.call_tir_with_grad('k', x, x.type, 'f'))",
        "MLIRError",
        "'relax.call_tir' op expected @k to be a func.func of the module",
    ),
]
