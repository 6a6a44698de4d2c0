# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong inputs of builders, types, the compiler, passes, patterns and importers."""

CASES = [
    (
        "relax.Var('x', 'float32')",
        "TypeError",
        "relax.Var: expected struct_info to be a type, such as TensorStructInfo(...), but got 'float32'",
    ),
    ("relax.Var(3, x_type)", "TypeError", "relax.Var: expected name to be a str, but got 3"),
    (
        "relax.Var('x')",
        "TypeError",
        "relax.Var: expected the arguments name, struct_info, but 'struct_info' is missing",
    ),
    (
        "relax.Var('x', None)",
        "TypeError",
        "relax.Var: expected struct_info to be a type, such as TensorStructInfo(...), but got None",
    ),
    (
        "relax.Var('x', np.zeros(2))",
        "TypeError",
        "expected struct_info to be a type, such as TensorStructInfo(...), but got an array of float64, shape",
    ),
    (
        "relax.TensorStructInfo(4)",
        "TypeError",
        "relax.ShapeExpr: expected dims to be a list of int, a str or a Dim or an Attribute, but got 4",
    ),
    ("relax.TensorStructInfo('n')", "TypeError", "expected a sequence of dimensions, but got 'n'"),
    (
        "relax.TensorStructInfo((2, None))",
        "TypeError",
        "expected a dimension, int, str or Dim, but got None",
    ),
    (
        "relax.TensorStructInfo((2, 1.5))",
        "TypeError",
        "expected a dimension, int, str or Dim, but got 1.5",
    ),
    ("relax.TensorStructInfo((2, -1))", "ValueError", "expected dimensions of 0 or more"),
    (
        "relax.TensorStructInfo((2,), 'float33')",
        "ValueError",
        "expected a data type, one of bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16",
    ),
    (
        "relax.TensorStructInfo((2,), 3)",
        "TypeError",
        "expected a data type, such as 'float32', but got 3",
    ),
    (
        "relax.TensorStructInfo((2,), 'float32', 'cpu', 'x', 3)",
        "TypeError",
        "relax.TensorStructInfo: expected the arguments shape, dtype, ndim, vdevice, shape_var, but got 5 by",
    ),
    (
        "relax.TensorStructInfo((2,), ndim=3)",
        "ValueError",
        "expected ndim to be the number of dimensions, 1, but got 3 [WF10]",
    ),
    (
        "relax.TensorStructInfo(ndim='two')",
        "TypeError",
        "relax.TensorStructInfo: expected ndim to be an int, but got 'two'",
    ),
    (
        "relax.TensorStructInfo(shape=(2,), type='float32')",
        "TypeError",
        "but got 'type'; did you mean 'dtype'?",
    ),
    (
        "relax.TensorStructInfo(('2n',))",
        "ValueError",
        "expected a dimension such as 'n * 4 + 1' (operations are +, -, *, floordiv, mod, min(a, b), max(a, b",
    ),
    (
        "relax.TensorStructInfo(('n + (',))",
        "ValueError",
        "expected a dimension such as 'n * 4 + 1' (operations are +, -, *, floordiv, mod, min(a, b), max(a, b",
    ),
    (
        "relax.ShapeStructInfo(3)",
        "TypeError",
        "relax.ShapeExpr: expected dims to be a list of int, a str or a Dim or an Attribute, but got 3",
    ),
    (
        "relax.ShapeStructInfo(ndim='a')",
        "TypeError",
        "relax.ShapeStructInfo: expected ndim to be an int, but got 'a'",
    ),
    (
        "relax.PrimStructInfo('x')",
        "ValueError",
        "expected a data type, one of bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16",
    ),
    (
        "relax.TupleStructInfo(x_type)",
        "ValueError",
        "expected TupleStructInfo, but got !relax.tensor<[n, 4], f32>",
    ),
    (
        "relax.TupleStructInfo(['float32'])",
        "TypeError",
        "expected fields to be a list of type, such as TensorStructInfo(...) or a type, such as TensorStructI",
    ),
    (
        "relax.FuncStructInfo()",
        "TypeError",
        "relax.FuncStructInfo: expected the arguments params, ret, purity, derive_func, but 'params' is missi",
    ),
    (
        "relax.FuncStructInfo(x_type, x_type)",
        "ValueError",
        "expected FuncStructInfo, but got !relax.tensor<[n, 4], f32>",
    ),
    (
        "relax.FuncStructInfo([x_type], 'float32')",
        "TypeError",
        "relax.FuncStructInfo: expected ret to be a type, such as TensorStructInfo(...) or None, but got 'flo",
    ),
    ("relax.Dim(None)", "TypeError", "expected a dimension, int, str or Dim, but got None"),
    ("relax.Dim(1.5)", "TypeError", "expected a dimension, int, str or Dim, but got 1.5"),
    (
        "relax.Dim('n +')",
        "ValueError",
        "expected a dimension such as 'n * 4 + 1' (operations are +, -, *, floordiv, mod, min(a, b), max(a, b",
    ),
    (
        "relax.Dim('n') + 'm +'",
        "ValueError",
        "expected a dimension such as 'n * 4 + 1' (operations are +, -, *, floordiv, mod, min(a, b), max(a, b",
    ),
    ("relax.Dim('n') + 1.5", "TypeError", "unsupported operand type(s) for +: 'Dim' and 'float'"),
    ("relax.Dim('n') / 2", "TypeError", "unsupported operand type(s) for /: 'Dim' and 'int'"),
    (
        "relax.Dim(2**70)",
        "ValueError",
        "expected an integer of 64 bits, but got 1180591620717411303424",
    ),
    (
        "relax.shape_var('2n')",
        "ValueError",
        "expected a dimension such as 'n * 4 + 1' (operations are +, -, *, floordiv, mod, min(a, b), max(a, b",
    ),
    ("relax.shape_var(3)", "ValueError", "expected the name of a variable, but got 3"),
    ("relax.VDevice(3)", "TypeError", "relax.VDevice: expected target to be a str, but got 3"),
    (
        "relax.VDevice('cuda', 'a')",
        "TypeError",
        "relax.VDevice: expected dev_id to be an int, but got 'a'",
    ),
    (
        "relax.GlobalVar('f')(3)",
        "ValueError",
        "expected relax.prim_value inside BlockBuilder.function or an InsertionPoint",
    ),
    (
        "relax.IRModule(3)",
        "TypeError",
        "expected a module, its text or functions by name, but got 3",
    ),
    (
        "relax.IRModule('nonsense')",
        "MLIRError",
        "custom op 'nonsense' is unknown (tried 'builtin.nonsense' as well)",
    ),
    (
        "relax.IRModule(['a'])",
        "TypeError",
        "expected a module, its text or functions by name, but got ['a']",
    ),
    (
        "relax.IRModule({'f': 3})",
        "TypeError",
        "expected a function, as an operation of MLIR, but got 3",
    ),
    (
        "module()['mian']",
        "KeyError",
        "expected the name of a function (main), but got 'mian'; did you mean 'main'?",
    ),
    ("module()[3]", "KeyError", "expected the name of a function (main), but got 3"),
    (
        "module()['f'] = None",
        "TypeError",
        "expected a function, as an operation of MLIR, but got None",
    ),
    (
        "del module()['mian']",
        "KeyError",
        "expected the name of a function (main), but got 'mian'; did you mean 'main'?",
    ),
    (
        "module().get_global_var('mian')",
        "KeyError",
        "expected the name of a function (main), but got 'mian'; did you mean 'main'?",
    ),
    (
        "module().update_func('mian', module()['main'])",
        "KeyError",
        "expected the name of a function (main), but got 'mian'; did you mean 'main'?",
    ),
    (
        "module().update(3)",
        "TypeError",
        "expected a module, text of MLIR or a BlockBuilder, but got 3",
    ),
    (
        "module().set_attr('a', 3)",
        "TypeError",
        "expected an mlir.ir.Attribute as 'a', but got 3: ir.Attribute.parse(\"2 : i64\") makes one",
    ),
    (
        "module().script(colour=True)",
        "TypeError",
        "unknown option 'colour' of the printer: there are name, show_meta, ir_prefix, module_alias, verbose_",
    ),
    (
        "module().show(style='nonsense')",
        "ValueError",
        "expected a style of Pygments, or 'light', 'dark' or 'ansi', but got 'nonsense'",
    ),
    ("module().functoins", "AttributeError", "'IRModule' object has no attribute 'functoins'"),
    (
        "relax.as_module(3)",
        "TypeError",
        "expected a module, text of MLIR or a BlockBuilder, but got 3",
    ),
    (
        "relax.structural_equal(3, module())",
        "TypeError",
        "expected a module, text of MLIR or a BlockBuilder, but got 3",
    ),
    (
        "relax.load_dialect(3)",
        "TypeError",
        "relax.load_dialect: expected context to be a Context, but got 3",
    ),
    (
        "relax.BlockBuilder(3)",
        "TypeError",
        "expected a module, text of MLIR or a BlockBuilder, but got 3",
    ),
    (
        "relax.BlockBuilder(context=3)",
        "TypeError",
        "BlockBuilder: expected context to be a Context or None, but got 3",
    ),
    (
        "relax.BlockBuilder(module(), global_info=[3])",
        "TypeError",
        "BlockBuilder: expected global_info to be a mapping of str or None, but got [3]",
    ),
    (
        "relax.BlockBuilder().function('f', [None]).__enter__()",
        "TypeError",
        "BlockBuilder.function: expected params to be a list of Var, a Var or None, but got [None]",
    ),
    (
        "relax.BlockBuilder().function(3, []).__enter__()",
        "TypeError",
        "BlockBuilder.function: expected name to be a str, but got 3",
    ),
    (
        "relax.BlockBuilder().function('f', 'x').__enter__()",
        "TypeError",
        "BlockBuilder.function: expected params to be a list of Var, a Var or None, but got 'x'",
    ),
    (
        "relax.BlockBuilder().function('f', [x_type]).__enter__()",
        "TypeError",
        "expected params to be a list of Var, a Var or None, but got [TensorStructInfo(!relax.tensor<[n, 4],",
    ),
    (
        "relax.BlockBuilder().function('f', [], attrs=3).__enter__()",
        "TypeError",
        "BlockBuilder.function: expected attrs to be a mapping of str or None, but got 3",
    ),
    (
        "relax.BlockBuilder().function('f', [], attrs={'a': object()}).__enter__()",
        "TypeError",
        "expected a bool, int, float, str, list, dict or Attribute as 'a', but got <object object",
    ),
    (
        "relax.BlockBuilder().function('f', [], ret_struct_info='float32').__enter__()",
        "TypeError",
        "expected ret_struct_info to be a type, such as TensorStructInfo(...) or None, but got 'float32'",
    ),
    (
        "relax.BlockBuilder(module()).function('main', []).__enter__()",
        "ValueError",
        "expected a new name for a function, but got 'main' again",
    ),
    (
        "relax.BlockBuilder().emit(3)",
        "ValueError",
        "expected relax.prim_value inside BlockBuilder.function or an InsertionPoint",
    ),
    (
        "relax.BlockBuilder().emit_func_output(3)",
        "ValueError",
        "expected BlockBuilder.emit_func_output inside function",
    ),
    (
        "relax.BlockBuilder().emit_output(3)",
        "ValueError",
        "expected BlockBuilder.emit_output inside dataflow",
    ),
    (
        "relax.BlockBuilder().dataflow().__enter__()",
        "ValueError",
        "expected BlockBuilder.dataflow inside function",
    ),
    (
        "relax.BlockBuilder().closure('f').__enter__()",
        "ValueError",
        "expected BlockBuilder.closure inside function",
    ),
    (
        "relax.BlockBuilder().if_(3).__enter__()",
        "TypeError",
        "expected the arguments cond, then_branch, else_branch, name_hint, but 'then_branch' is missing",
    ),
    (
        "relax.BlockBuilder().add_func(None)",
        "TypeError",
        "expected a function, as an operation of MLIR, but got None",
    ),
    (
        "relax.BlockBuilder().add_func('nonsense')",
        "MLIRError",
        "custom op 'nonsense' is unknown (tried 'builtin.nonsense' as well)",
    ),
    (
        "relax.BlockBuilder().add_func(module()['main'], 3)",
        "TypeError",
        "BlockBuilder.add_func: expected name to be a str or None, but got 3",
    ),
    (
        "relax.BlockBuilder().add_func('module {}')",
        "ValueError",
        "expected one function, but got 0 that are not private",
    ),
    (
        "relax.BlockBuilder().add_kernel(None, 'k')",
        "TypeError",
        "expected a function, as an operation of MLIR, but got None",
    ),
    (
        "relax.BlockBuilder().update_func('f', module()['main'])",
        "ValueError",
        "expected a function of the module, but got 'f'",
    ),
    (
        "relax.BlockBuilder().emit_te(3)",
        "ValueError",
        "expected BlockBuilder.call_te inside function",
    ),
    (
        "relax.BlockBuilder().call_te(lambda a: a, 3)",
        "ValueError",
        "expected BlockBuilder.call_te inside function",
    ),
    (
        "relax.BlockBuilder().finalise()",
        "AttributeError",
        "'BlockBuilder' object has no attribute 'finalise'",
    ),
    (
        "relax.BlockBuilder().emit_mtach_cast(3, x_type)",
        "AttributeError",
        "'BlockBuilder' object has no attribute 'emit_mtach_cast'",
    ),
    (
        "emit(lambda x: relax.BlockBuilder.current().emit(x, 3))",
        "TypeError",
        "BlockBuilder.emit: expected name_hint to be a str, but got 3",
    ),
    (
        "emit(lambda x: relax.BlockBuilder.current().emit_output(x))",
        "ValueError",
        "expected BlockBuilder.emit_output inside dataflow",
    ),
    (
        "emit(lambda x: relax.BlockBuilder.current().match_cast(x, 3))",
        "TypeError",
        "op.match_cast: expected struct_info to be a type, such as TensorStructInfo(...), but got 3",
    ),
    (
        "emit(lambda x: relax.BlockBuilder.current().emit_func_output(object()))",
        "TypeError",
        "expected a value of a Relax program, but got <object object",
    ),
    (
        "emit(lambda x: relax.BlockBuilder.current().emit_te(lambda a: 3, x))",
        "TypeError",
        "expected '<lambda>' to return a tensor, or a list or tuple of them, but got 3",
    ),
    (
        "emit(lambda x: relax.BlockBuilder.current().function('g').__enter__())",
        "ValueError",
        "expected BlockBuilder.function outside of another one; see BlockBuilder.closure",
    ),
    (
        "emit(lambda x: {'a': x})",
        "TypeError",
        "expected a value of a Relax program, but got {'a': <relax_mlir.core.values.Expr object",
    ),
    (
        "relax.compile(3)",
        "TypeError",
        "relax.compile: expected mod to be a module, text of MLIR or a BlockBuilder, but got 3",
    ),
    (
        "relax.compile(None)",
        "TypeError",
        "relax.compile: expected mod to be a module, text of MLIR or a BlockBuilder, but got None",
    ),
    (
        "relax.compile('model.mlir')",
        "TypeError",
        "expected a module, text of MLIR or a BlockBuilder, but got the name of a file; to read it: Path('mod",
    ),
    (
        "relax.compile(Path('model.mlir'))",
        "TypeError",
        "relax.compile: expected mod to be a module, text of MLIR or a BlockBuilder, but got",
    ),
    ("relax.compile('module {')", "MLIRError", "expected operation name in quotes"),
    (
        "relax.compile(module(), target=None)",
        "TypeError",
        "relax.compile: expected target to be a str, a mapping of str, a NativeTarget or a Target, but got No",
    ),
    (
        "relax.compile(module(), target=3)",
        "TypeError",
        "relax.compile: expected target to be a str, a mapping of str, a NativeTarget or a Target, but got 3",
    ),
    (
        "relax.compile(module(), target='rocm')",
        "ValueError",
        "expected a target of the kind llvm or cuda, but got 'rocm'",
    ),
    (
        "relax.compile(module(), target='lllvm')",
        "ValueError",
        "expected a target of the kind llvm or cuda, but got 'lllvm'",
    ),
    (
        "relax.compile(module(), target='llvm -mattr=+avx51f')",
        "MLIRError",
        "but got '+avx51f'; did you mean 'avx",
    ),
    ("relax.compile('')", "ValueError", "expected a module, but got an empty text"),
    (
        "emit(lambda x: relax.BlockBuilder.current().emit(None))",
        "TypeError",
        "expected a value, but got None; op.null_value() is the null object",
    ),
    (
        "relax.compile(module(), target='llvm -mcpu=zen99')",
        "MLIRError",
        "error: unknown: expected a processor of x86_64-unknown-linux-gnu, but got 'zen99'",
    ),
    (
        "relax.compile(module(), target='llvm -mcup=znver3')",
        "ValueError",
        "expected options of a target, any of mcpu, mattr, mtriple, vector-width, l1-bytes, l2-bytes, but got",
    ),
    (
        "relax.compile(module(), target='llvm -mtriple=pdp11')",
        "MLIRError",
        'error: unknown: No available targets are compatible with triple "pdp11"',
    ),
    (
        "relax.compile(module(), target={'kind': 'llvm', 'cpu': 'x'})",
        "ValueError",
        "expected options of a target, any of mcpu, mattr, mtriple, vector-width, l1-bytes, l2-bytes, but got",
    ),
    (
        "relax.compile(module(), target={})",
        "ValueError",
        "expected a target of the kind llvm or cuda, but got {}",
    ),
    (
        "relax.compile(module(), exec_mode='vm')",
        "ValueError",
        "expected exec_mode, one of compiled, bytecode, but got 'vm'",
    ),
    (
        "relax.compile(module(), exec_mod='compiled')",
        "TypeError",
        "expected options, any of exec_mode, checks, opt_level, plan_memory, fuse, emit_kernels, fold_constan",
    ),
    (
        "relax.compile(module(), opt_level=9)",
        "ValueError",
        "expected opt_level, one of 0, 1, 2, 3, but got 9",
    ),
    (
        "relax.compile(module(), opt_level='high')",
        "ValueError",
        "expected opt_level, one of 0, 1, 2, 3, but got 'high'",
    ),
    (
        "relax.compile(module(), fuse='yes')",
        "TypeError",
        "expected fuse to be True or False, but got 'yes'",
    ),
    (
        "relax.compile(module(), fuse=3)",
        "TypeError",
        "expected fuse to be True or False, but got 3",
    ),
    (
        "relax.compile(module(), plan_memory=None)",
        "TypeError",
        "expected plan_memory to be True or False, but got None",
    ),
    (
        "relax.compile(module(), checks='none')",
        "ValueError",
        "expected checks, one of all, necessary, but got 'none'",
    ),
    (
        "relax.compile(module(), progress=3)",
        "TypeError",
        "relax.compile: expected progress to be True or False, a function or None, but got 3",
    ),
    (
        "relax.compile(module(), progress='yes')",
        "TypeError",
        "relax.compile: expected progress to be True or False, a function or None, but got 'yes'",
    ),
    (
        "relax.compile(module(), options={'fuse': True})",
        "TypeError",
        "relax.compile: expected options to be a CompileOptions or None, but got {'fuse': True}",
    ),
    (
        "relax.compile(module(), options=3)",
        "TypeError",
        "relax.compile: expected options to be a CompileOptions or None, but got 3",
    ),
    (
        "relax.compile(module(), dump_phases=3)",
        "TypeError",
        "relax.compile: expected dump_phases to be a str, a path or None, but got 3",
    ),
    (
        "relax.compile(module(), dump_phases='/proc/none')",
        "FileNotFoundError",
        "[Errno 2] No such file or directory: '/proc/none'",
    ),
    (
        "relax.compile(module(), vector_bits=100)",
        "ValueError",
        "expected vector_bits, one of 0, 128, 256, 512, 1024, but got 100",
    ),
    (
        "relax.compile(module(), vector_bits='wide')",
        "ValueError",
        "expected vector_bits, one of 0, 128, 256, 512, 1024, but got 'wide'",
    ),
    (
        "relax.CompileOptions(fuse='yes')",
        "TypeError",
        "expected fuse to be True or False, but got 'yes'",
    ),
    (
        "relax.CompileOptions(fsue=True)",
        "TypeError",
        "but got 'fsue'; did you mean 'fuse'?",
    ),
    (
        "relax.compile('relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>')",
        "MLIRError",
        "'relax.func' op has no body to translate",
    ),
    (
        "relax.VirtualMachine(None)",
        "TypeError",
        "VirtualMachine: expected executable to be an Executable, but got None",
    ),
    (
        "relax.VirtualMachine(module())",
        "TypeError",
        "VirtualMachine: expected executable to be an Executable, but got <IRModule Module: ['main']>",
    ),
    (
        "relax.VirtualMachine(machine().executable, 'cuda:9')",
        "ValueError",
        "expected a device of this machine, but got 'cuda:9'",
    ),
    (
        "relax.VirtualMachine(machine().executable, devices='cpu')",
        "TypeError",
        "VirtualMachine: expected the arguments executable, device, memory_cfg, but got 'devices'; "
        "did you mean 'device'?",
    ),
    (
        "machine()['mian']",
        "KeyError",
        "expected the name of a public function (main, pair), but got 'mian'; did you mean 'main'?",
    ),
    ("machine()[3]", "KeyError", "expected the name of a public function (main, pair), but got 3"),
    (
        "machine().main",
        "AttributeError",
        "'VirtualMachine' object has no attribute 'main'; write vm[\"main\"]",
    ),
    (
        "machine('bytecode').set_instrument(3)",
        "TypeError",
        "VirtualMachine.set_instrument: expected instrument to be a function or None, but got 3",
    ),
    (
        "machine().set_instrument(print)",
        "ValueError",
        "expected a program to observe, but its functions are machine code, in which no calls are seen: compile with exec_mode",
    ),
    (
        "machine('bytecode').profile('mian', zeros)",
        "KeyError",
        "expected the name of a public function (main, pair), but got 'mian'; did you mean 'main'?",
    ),
    (
        "machine('bytecode').profile('main', zeros, max_events='a')",
        "TypeError",
        "VirtualMachine.profile: expected max_events to be an int, but got 'a'",
    ),
    (
        "machine('bytecode').profile('main', zeros, max_events=-1)",
        "ValueError",
        "expected max_events of at least 0, but got -1",
    ),
    (
        "machine().time_evaluator('mian')",
        "KeyError",
        "expected the name of a public function (main, pair), but got 'mian'; did you mean 'main'?",
    ),
    (
        "machine().time_evaluator('main', number=0)(zeros)",
        "ValueError",
        "expected a number and a repeat of at least 1, but got 0 and 1",
    ),
    (
        "machine().time_evaluator('main', number='a')(zeros)",
        "TypeError",
        "VirtualMachine.time_evaluator: expected number to be an int, but got 'a'",
    ),
    (
        "machine().time_evaluator('main', repeat=0)(zeros)",
        "ValueError",
        "expected a number and a repeat of at least 1, but got 10 and 0",
    ),
    (
        "relax.Executable(3)",
        "TypeError",
        "expected an object of type relax_mlir.Executable, but got 3",
    ),
    (
        "relax.Executable.assemble(3)",
        "TypeError",
        "runtime.Executable.assemble: expected text to be a str, but got 3",
    ),
    (
        "relax.Executable.assemble('function main(x) { rte %0 }')",
        "ValueError",
        "line 1, column 20: expected an instruction, but got 'rte'",
    ),
    (
        "machine().executable.look_up('mian')",
        "ValueError",
        "expected the name of a public function, but got 'mian'",
    ),
    (
        "machine().executable.as_text('a')",
        "TypeError",
        "runtime.Executable.as_text: expected max_bytes to be an int, but got 'a'",
    ),
    (
        "runtime.set_num_threads('2')",
        "TypeError",
        "runtime.set_num_threads: expected count to be an int or None, but got '2'",
    ),
    (
        "runtime.set_num_threads(-3)",
        "ValueError",
        "expected a number of threads of at least 1, or None, but got -3",
    ),
    (
        "runtime.set_num_threads(1.5)",
        "TypeError",
        "runtime.set_num_threads: expected count to be an int or None, but got 1.5",
    ),
    (
        "runtime.set_memory_limit('cpu:0', 1000)",
        "TypeError",
        "runtime.set_memory_limit: expected limit to be an int or None, but got 'cpu:0'",
    ),
    (
        "runtime.set_memory_limit(-5)",
        "ValueError",
        "expected a limit of at least 0 bytes, or None, but got -5",
    ),
    (
        "runtime.set_memory_limit(1.5)",
        "TypeError",
        "runtime.set_memory_limit: expected limit to be an int or None, but got 1.5",
    ),
    (
        "runtime.memory_stats('gpu')",
        "ValueError",
        "expected a device such as 'cpu', 'cpu:1' or 'cuda:0', but got 'gpu'; did you mean 'cpu'?",
    ),
    (
        "runtime.memory_stats(3)",
        "TypeError",
        "runtime.memory_stats: expected device to be a str or a Device, but got 3",
    ),
    (
        "runtime.memory_stats('cpu:x')",
        "ValueError",
        "expected a device such as 'cpu', 'cpu:1' or 'cuda:0', but got 'cpu:x'",
    ),
    (
        "runtime.has_device(3)",
        "TypeError",
        "runtime.has_device: expected device to be a str or a Device, but got 3",
    ),
    (
        "runtime.has_device('quantum:0')",
        "ValueError",
        "expected a device such as 'cpu', 'cpu:1' or 'cuda:0', but got 'quantum:0'",
    ),
    (
        "runtime.release_memory(None)",
        "TypeError",
        "runtime.release_memory: expected device to be a str or a Device, but got None",
    ),
    (
        "runtime.synchronize('cpuu')",
        "ValueError",
        "expected a device such as 'cpu', 'cpu:1' or 'cuda:0', but got 'cpuu'; did you mean 'cpu'?",
    ),
    (
        "relax.set_recursion_limit('a')",
        "TypeError",
        "relax.set_recursion_limit: expected limit to be an int, but got 'a'",
    ),
    (
        "relax.set_recursion_limit(-1)",
        "ValueError",
        "expected a recursion limit of at least 1, but got -1",
    ),
    (
        "runtime.ADT.make('a')",
        "TypeError",
        "runtime.ADT.make: expected tag to be an int, but got 'a'",
    ),
    (
        "transform.LegalizeOp()",
        "AttributeError",
        "module 'relax_mlir.transform' has no attribute 'LegalizeOp'; did you mean 'LegalizeOps'?",
    ),
    (
        "transform.LegalizeOps()(3)",
        "TypeError",
        "expected a module, text of MLIR or a BlockBuilder, but got 3",
    ),
    (
        "transform.LegalizeOps(3)",
        "TypeError",
        "transform.LegalizeOps: expected customize_legalize_map to be a mapping of str or None, but got 3",
    ),
    (
        "transform.LegalizeOps(skip_op=['relax.add'])",
        "TypeError",
        "but got 'skip_op'; did you mean 'skip_ops'?",
    ),
    (
        "transform.LegalizeOps({'relax.addd': print})(module())",
        "ValueError",
        "expected the name of an operator such as 'relax.add', but got 'relax.addd'; did you mean 'relax.add'",
    ),
    (
        "transform.LegalizeOps(skip_ops=['relax.addd'])(module())",
        "ValueError",
        "expected the name of an operator such as 'relax.add', but got 'relax.addd'; did you mean 'relax.add'",
    ),
    (
        "transform.FuseOps(max_depth='a')(module())",
        "TypeError",
        "transform.FuseOps: expected max_depth to be an int or None, but got 'a'",
    ),
    (
        "transform.FuseOps(max_deep=3)",
        "TypeError",
        "transform.FuseOps: expected the argument max_depth, but got 'max_deep'; did you mean 'max_depth'?",
    ),
    (
        "transform.DeadCodeElimination('main')(module())",
        "TypeError",
        "expected a list of names, but got 'main'",
    ),
    (
        "transform.DeadCodeElimination(['mian'])(module())",
        "ValueError",
        "expected a function of the module, but got 'mian'",
    ),
    (
        "transform.Sequential(transform.Normalize())",
        "TypeError",
        "sequential: expected a list of passes, but got Normalize()",
    ),
    ("transform.Sequential(3)", "TypeError", "sequential: expected a list of passes, but got 3"),
    (
        "transform.Sequential([transform.Normalize])",
        "TypeError",
        "sequential: expected passes, but got <class 'relax_mlir.transform._passes_gen.Normalize'>: write Nor",
    ),
    (
        "transform.Sequential([print])(module())",
        "TypeError",
        "sequential: expected passes, but got <built-in function print>",
    ),
    (
        "transform.Sequential([], opt_level='a')(module())",
        "TypeError",
        "sequential: expected an int as opt_level, but got 'a'",
    ),
    (
        "transform.PassContext(opt_level='x')",
        "TypeError",
        "transform.PassContext: expected opt_level to be an int, but got 'x'",
    ),
    (
        "transform.PassContext(disabled_pass=['Nope'])",
        "ValueError",
        "expected names of passes as disabled_pass, but got 'Nope'",
    ),
    (
        "transform.PassContext(disabled_pass='FuseOps')",
        "TypeError",
        "transform.PassContext: expected disabled_pass to be a list of str or None, but got 'FuseOps'",
    ),
    (
        "transform.PassContext(required_pass=['FuseOp'])",
        "ValueError",
        "expected names of passes as required_pass, but got 'FuseOp'; did you mean 'FuseOps'?",
    ),
    (
        "transform.PassContext(required_pass=3)",
        "TypeError",
        "transform.PassContext: expected required_pass to be a list of str or None, but got 3",
    ),
    (
        "transform.PassContext(config={'a.b': 1})",
        "ValueError",
        "expected a known option of the config, but got 'a.b'; the options are relax.ApproximateMath.fast, re",
    ),
    (
        "transform.PassContext(config={'relax.FuseOps.max_dept': 1})",
        "ValueError",
        "expected a known option of the config, but got 'relax.FuseOps.max_dept'; did you mean 'relax.FuseOps",
    ),
    (
        "transform.PassContext(config=3)",
        "TypeError",
        "transform.PassContext: expected config to be a mapping of str or None, but got 3",
    ),
    (
        "transform.PassContext(instruments=[3]).__enter__()",
        "TypeError",
        "expected instruments of passes, but got 3",
    ),
    (
        "transform.PassContext(instrument=[])",
        "TypeError",
        "expected the arguments opt_level, required_pass, disabled_pass, instruments, config, but got 'instru",
    ),
    (
        "transform.MLIRPass('canonicalise')(module())",
        "ValueError",
        "expected the text of a pipeline, but got 'canonicalise': 'canonicalise' does not refer to a register",
    ),
    ("transform.MLIRPass()", "TypeError", "expected the text of a pipeline"),
    (
        "transform.MLIRPass(3)",
        "TypeError",
        "transform.MLIRPass: expected pipeline to be a str or None, but got 3",
    ),
    (
        "transform.VMShapeLower(checks='none')",
        "ValueError",
        "VMShapeLower: expected checks, one of all, necessary, but got 'none'",
    ),
    (
        "transform.BindParams('mian', {})(module())",
        "ValueError",
        "expected the name of a Relax function, but got 'mian'",
    ),
    (
        "transform.BindParams('main', {'z': zeros})(module())",
        "ValueError",
        "expected the name of a parameter (x), but got 'z'",
    ),
    (
        "transform.BindParams('main', {'x': 'a'})(module())",
        "ValueError",
        "expected another parameter with the shape variable n, which is in the type of the result, !relax.ten",
    ),
    (
        "transform.BindParams('main', [zeros])(module())",
        "TypeError",
        "transform.BindParams: expected params to be a mapping of str or a Var, but got an object of type lis",
    ),
    (
        "transform.ConvertLayout('NHWC')",
        "TypeError",
        "transform.ConvertLayout: expected desired_layouts to be a mapping of str, but got 'NHWC'",
    ),
    (
        "transform.ConvertLayout({'relax.nn.conv2dd': ['NHWC', 'OHWI']})(module())",
        "ValueError",
        "expected desired_layouts of convolutions, such as relax.nn.conv2d, but got relax.nn.conv2dd",
    ),
    (
        "transform.module_pass(3)",
        "TypeError",
        "expected a function or class with a name, but got 3",
    ),
    (
        "transform.module_pass(opt_level='a')(lambda mod, ctx: mod)(module())",
        "TypeError",
        "transform.module_pass: expected opt_level to be an int, but got 'a'",
    ),
    (
        "transform.module_pass(opt_level=0)(lambda mod, ctx: 3)(module())",
        "TypeError",
        "expected a module, text of MLIR or a BlockBuilder, but got 3",
    ),
    (
        "transform.function_pass(opt_level=0)(lambda func, mod, ctx: 'f')(module())",
        "TypeError",
        "expected a relax.func or nothing from the function, but got 'f'",
    ),
    (
        "transform.dataflowblock_pass(opt_level=0)(3)",
        "TypeError",
        "expected a function or class with a name, but got 3",
    ),
    (
        "transform.phase('normalise')",
        "ValueError",
        "expected a phase, one of normalize, optimize, legalize, memory, shapes, kernels, llvm, but got 'norm",
    ),
    (
        "transform.phase('normalize', fsue=1)",
        "TypeError",
        "expected options, any of exec_mode, checks, opt_level, plan_memory, fuse, emit_kernels, fold_constan",
    ),
    (
        "transform.register_config_option(3)",
        "TypeError",
        "transform.register_config_option: expected name to be a str, but got 3",
    ),
    (
        "relax.get_pipeline('zeroo')",
        "ValueError",
        "expected the name of a pipeline, one of zero, default, default_build, normalize, optimize, legalize,",
    ),
    (
        "relax.get_pipeline(3)",
        "ValueError",
        "expected the name of a pipeline, one of zero, default, default_build, normalize, optimize, legalize,",
    ),
    (
        "transform.find(3)",
        "TypeError",
        "expected a value, operation, function or module, but got 3",
    ),
    (
        "dpl.is_op('relax.addd')",
        "ValueError",
        "expected the name of an operator such as 'relax.add', but got 'relax.addd'; did you mean 'relax.add'",
    ),
    ("dpl.is_op(3)", "TypeError", "dpl.is_op: expected op_name to be a str, but got 3"),
    (
        "dpl.is_op('relax.exp')(3)",
        "TypeError",
        "expected arguments of a call to be patterns, but got 3",
    ),
    ("dpl.is_tuple(3)", "ValueError", "expected a list of patterns as fields, but got 3"),
    ("dpl.is_tuple([3])", "TypeError", "expected fields to be patterns, but got 3"),
    (
        "dpl.is_tuple_get_item(dpl.wildcard(), 'a')",
        "TypeError",
        "dpl.is_tuple_get_item: expected index to be an int or None, but got 'a'",
    ),
    (
        "dpl.wildcard().has_dtype('float33')",
        "ValueError",
        "expected a data type, one of bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16",
    ),
    ("dpl.wildcard().has_attr(3)", "TypeError", "expected attributes by name, but got 3"),
    (
        "dpl.wildcard().has_shape(3)",
        "ValueError",
        "expected a list of dimensions for has_shape, but got 3",
    ),
    ("dpl.wildcard() | 3", "TypeError", "expected both sides to be patterns, but got 3"),
    (
        "dpl.wildcard().hasdtype('float32')",
        "AttributeError",
        "'WildcardPattern' object has no attribute 'hasdtype'",
    ),
    (
        "dpl.rewrite_call(3, lambda e, m: e, module()['main'])",
        "TypeError",
        "dpl.rewrite_call: expected pattern to be a DFPattern, but got 3",
    ),
    (
        "dpl.rewrite_call(dpl.wildcard(), 3, module()['main'])",
        "TypeError",
        "dpl.rewrite_call: expected rewriter to be a function, but got 3",
    ),
    (
        "dpl.rewrite_call(dpl.is_op('relax.exp')(dpl.wildcard()), lambda e, m: e, 3)",
        "TypeError",
        "expected a module, text of MLIR or a BlockBuilder, but got 3",
    ),
    (
        "dpl.rewrite_call(dpl.is_op('relax.exp')(dpl.wildcard()), lambda e, m: 'a', module()['main'])",
        "RewriteError",
        "expected a replacement of the type of 'relax.exp', !relax.tensor<[n, 4], f32>, or a subtype of it, b",
    ),
    (
        "dpl.wildcard().match(3)",
        "TypeError",
        "expected a value, an operation with one result, a function, or what a call calls, but got 3",
    ),
    (
        "dpl.make_fused_bias_activation_pattern('relax.nn.conv2dd')",
        "ValueError",
        "expected the name of an operator such as 'relax.add', but got 'relax.nn.conv2dd'; did you mean 'rela",
    ),
    (
        "analysis.check_well_formed(3)",
        "TypeError",
        "expected a module, text of MLIR or a BlockBuilder, but got 3",
    ),
    (
        "analysis.is_subtype(3, x_type)",
        "TypeError",
        "analysis.is_subtype: expected sub to be a type, such as TensorStructInfo(...), but got 3",
    ),
    (
        "analysis.is_subtyp(x_type, x_type)",
        "AttributeError",
        "module 'relax_mlir.analysis' has no attribute 'is_subtyp'; did you mean 'is_subtype'?",
    ),
    (
        "analysis.estimate_memory_usage(3)",
        "TypeError",
        "expected a module, text of MLIR or a BlockBuilder, but got 3",
    ),
    (
        "relax.register_derive_func(3, print)",
        "TypeError",
        "expected string or bytes-like object, got 'int'",
    ),
    (
        "from relax_mlir.frontend.torch import from_exported_program as f; import torch; f(torch.nn.Linear(2, 2))",
        "TypeError",
        "expected exported_program to be an ExportedProgram, but got Linear(in_features=2, out_features=2, bi",
    ),
    (
        "from relax_mlir.frontend.torch import from_exported_program as f; import torch; f(torch.fx.symbolic_trace(torch.nn.Linear(2, 2)))",
        "TypeError",
        "from_exported_program: expected exported_program to be an ExportedProgram, but got Linear()",
    ),
    (
        "from relax_mlir.frontend.torch import from_exported_program as f; f(3)",
        "TypeError",
        "from_exported_program: expected exported_program to be an ExportedProgram, but got 3",
    ),
    (
        "from relax_mlir.frontend.torch import from_exported_program as f; f(None, keep_params=True)",
        "TypeError",
        "expected the arguments exported_program, keep_params_as_input, unwrap_unit_return_tuple, no_bind_return_tuple, custom_conv",
    ),
    (
        "from relax_mlir.frontend.onnx import from_onnx as f; f(3)",
        "TypeError",
        "expected str, bytes or os.PathLike object, not int",
    ),
    (
        "from relax_mlir.frontend.onnx import from_onnx as f; f('/nonexistent.onnx')",
        "FileNotFoundError",
        "[Errno 2] No such file or directory: '/nonexistent.onnx'",
    ),
    (
        "from relax_mlir.frontend.onnx import from_onnx as f; f(temporary('a.onnx', b'nonsense'))",
        "ValueError",
        "expected a serialized model of ONNX, but got '",
    ),
    (
        "from relax_mlir.frontend.onnx import from_onnx as f; f(b'')",
        "ValueError",
        "expected a model with ir_version and a graph, but got 0 bytes",
    ),
    (
        "from relax_mlir.frontend.onnx import from_onn",
        "ImportError",
        "cannot import name 'from_onn' from 'relax_mlir.frontend.onnx' (",
    ),
    (
        "from relax_mlir.frontend.onnx import InferenceSession as f; f(3)",
        "TypeError",
        "expected str, bytes or os.PathLike object, not int",
    ),
    (
        "runtime.tensor('abc')",
        "TypeError",
        "expected numbers, but got 'abc'",
    ),
    (
        "runtime.tensor(None)",
        "TypeError",
        "expected numbers, but got None",
    ),
    (
        "runtime.tensor([[1, 2], [3]])",
        "ValueError",
        "expected sequences of equal lengths, but got [[1, 2], [3]]",
    ),
    (
        "runtime.tensor(zeros.astype(object))",
        "TypeError",
        "expected an array of numbers, but got one of object",
    ),
    (
        "runtime.tensor(zeros, dtype='nope')",
        "TypeError",
        "expected a data type of NumPy, but got 'nope'",
    ),
    (
        "relax.VirtualMachine(relax.compile(TEXT), [])",
        "ValueError",
        "expected the processor among the devices, 'cpu', but got none",
    ),
    (
        "relax.VirtualMachine(relax.compile(TEXT), memory_cfg={'gpu:0': 'pooled'})",
        "ValueError",
        "expected a device such as 'cpu', 'cpu:1' or 'cuda:0', but got 'gpu:0'",
    ),
    (
        "import relax_runtime; relax_runtime.load(3)",
        "TypeError",
        "expected a path, or the bytes of a file, but got 3",
    ),
]
