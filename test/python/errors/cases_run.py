# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong inputs of compiled functions, files, TVMScript, text of MLIR and commands."""

# Each runs in both modes: `main` takes x, an (n, 4) matrix of float32; `pair` a tuple of two of
# them and an int.
CALLS = [
    ("main()", "TypeError", "main() missing 1 required positional argument: 'x'"),
    ("main(zeros, zeros)", "TypeError", "main() takes 1 positional argument but 2 were given"),
    ("main(None)", "TypeError", "expected !relax.tensor<[n, 4], f32>, but got None (at"),
    ("main('a')", "TypeError", "expected !relax.tensor<[n, 4], f32>, but got a string (at"),
    ("main(3)", "TypeError", "expected !relax.tensor<[n, 4], f32>, but got the integer 3 (at"),
    (
        "main(object())",
        "TypeError",
        "expected !relax.tensor<[n, 4], f32>, but got a Python object of another library (at",
    ),
    (
        "main({'x': zeros})",
        "TypeError",
        "expected !relax.tensor<[n, 4], f32>, but got an object of type ffi.Map (at",
    ),
    ("main(print)", "TypeError", "expected !relax.tensor<[n, 4], f32>, but got a function (at"),
    (
        "main([zeros])",
        "TypeError",
        "expected !relax.tensor<[n, 4], f32>, but got a tuple of 1 field (at",
    ),
    (
        "main([[1.0, 2.0], [3.0]])",
        "TypeError",
        "expected !relax.tensor<[n, 4], f32>, but got a tuple of 2 fields (at",
    ),
    (
        "main(zeros.astype('float64'))",
        "TypeError",
        "expected !relax.tensor<[n, 4], f32>, but got a tensor of rank 2, float64, shape (2, 4) (at",
    ),
    (
        "main(zeros.astype('complex64'))",
        "TypeError",
        "expected !relax.tensor<[n, 4], f32>, but got a tensor of rank 2, data type with code 5, shape (2, 4)",
    ),
    (
        "main(zeros.astype('>f4'))",
        "TypeError",
        "expected numbers in the order of bytes of this machine, but got >f4: write x.astype(x.dtype.newbyteo",
    ),
    (
        "main(zeros.astype(object))",
        "TypeError",
        "main: argument 'x': expected an array of numbers, but got one of object",
    ),
    (
        "main(np.array(['a']))",
        "TypeError",
        "main: argument 'x': expected an array of numbers, but got one of <U1",
    ),
    (
        "main(np.zeros((2, 5), 'float32'))",
        "ValueError",
        "expected !relax.tensor<[n, 4], f32>, but dimension 1 is 5, expected 4 (at",
    ),
    (
        "main(np.zeros(4, 'float32'))",
        "ValueError",
        "expected !relax.tensor<[n, 4], f32>, but got a tensor of rank 1, float32, shape (4,) (at",
    ),
    ("main(y=zeros)", "TypeError", "main() got an unexpected keyword argument 'y'"),
    ("main(zeros, x=zeros)", "TypeError", "main() got multiple values for argument 'x'"),
    ("main(X=zeros)", "TypeError", "main() got an unexpected keyword argument 'X'"),
    (
        "pair(zeros, 3)",
        "TypeError",
        "expected !relax.tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>>, but got a tensor of r",
    ),
    (
        "pair((zeros,), 3)",
        "ValueError",
        "expected !relax.tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>>, but got a tuple of 1",
    ),
    (
        "pair((zeros, zeros, zeros), 3)",
        "ValueError",
        "expected !relax.tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>>, but got a tuple of 3",
    ),
    (
        "pair((zeros, np.zeros((3, 4), 'float32')), 3)",
        "ValueError",
        "expected !relax.tensor<[n, 4], f32>, but dimension 0 is 3, where n = 2 (at",
    ),
    (
        "pair((zeros, None), 3)",
        "TypeError",
        "expected !relax.tensor<[n, 4], f32>, but got None (at",
    ),
    ("pair((zeros, zeros), 'a')", "TypeError", "expected !relax.prim<i64>, but got a string (at"),
    (
        "pair((zeros, zeros), 1.5)",
        "TypeError",
        "expected !relax.prim<i64>, but got the float 1.500000 (at",
    ),
    (
        "pair((zeros, zeros), 2**70)",
        "ValueError",
        "expected !relax.prim<i64>, but got an integer beyond int64 (at",
    ),
    ("pair((zeros, zeros), None)", "TypeError", "expected !relax.prim<i64>, but got None (at"),
    ("pair((zeros, zeros), q=3)", "TypeError", "pair() got an unexpected keyword argument 'q'"),
    ("pair(p=3)", "TypeError", "pair() missing 1 required positional argument: 't'"),
    (
        "main(np.zeros((2, 4), [('a', 'f4')]))",
        "TypeError",
        "main: argument 'x': expected an array of numbers, but got one of the structured type [('a', '<f4')]",
    ),
    (
        "main(zeros.astype('datetime64[s]'))",
        "TypeError",
        "main: argument 'x': expected an array of numbers, but got one of datetime64[s]",
    ),
    (
        "main(zeros.astype(np.longdouble))",
        "TypeError",
        "main: argument 'x': expected numbers of up to 64 bits, but got ",
    ),
    (
        "pair((zeros, np.zeros((2, 4), 'V4')), 3)",
        "TypeError",
        "pair: field 1 of argument 't': expected an array of numbers, but got one of |V4",
    ),
]

CASES = [
    ("relax.load(3)", "TypeError", "expected a path, or the bytes of a file, but got 3"),
    ("relax.load(None)", "TypeError", "expected a path, or the bytes of a file, but got None"),
    (
        "relax.load('/nonexistent/model.rx')",
        "OSError",
        "/nonexistent/model.rx: cannot be opened: No such file or directory",
    ),
    ("relax.load('/tmp')", "ValueError", "/tmp: expected a file"),
    (
        "relax.load(b'')",
        "ValueError",
        "bytes: section 'header': expected 8 bytes at offset 0, but only 0 are left",
    ),
    (
        "relax.load(b'nonsense')",
        "ValueError",
        "bytes: section 'header': expected the first bytes of an artefact of relax-mlir; this is another kind",
    ),
    (
        "relax.load(temporary('m.rx', b'RX' * 100))",
        "ValueError",
        "expected the first bytes of an artefact of relax-mlir; this is another kind of file",
    ),
    (
        "relax.load(temporary('m.so', b'\\x7fELF' + bytes(100)))",
        "ValueError",
        "braries, like strip, may have removed it",
    ),
    (
        "relax.load(temporary('m.mlir', TEXT.encode()))",
        "ValueError",
        "expected the first bytes of an artefact of relax-mlir; this is another kind of file",
    ),
    (
        "machine().executable.save(3)",
        "TypeError",
        "relax.Executable.save: expected path to be a str or a path, but got 3",
    ),
    (
        "machine().executable.save('/nonexistent/m.rx')",
        "OSError",
        "/nonexistent/m.rx: cannot be written: No such file or directory",
    ),
    (
        "machine().executable.save('/tmp')",
        "OSError",
        "/tmp: expected a file to replace, but got a folder",
    ),
    (
        "machine().executable.export_library('/nonexistent/m.so')",
        "FileNotFoundError",
        "/nonexistent/m.so: expected the folder /nonexistent to exist",
    ),
    (
        "machine().executable.export_library(3)",
        "TypeError",
        "relax.Executable.export_library: expected path to be a str or a path, but got 3",
    ),
    (
        "machine().executable.export_library(temporary('a.so'), options='-O3')",
        "RuntimeError",
        "the library was not linked:",
    ),
    (
        "machine().executable.export_library(temporary('a.so'), options=['-fnosuch'])",
        "RuntimeError",
        "the library was not linked:",
    ),
    (
        "import os, warnings\nfrom unittest import mock\nwith mock.patch.dict(os.environ, CC='true'):\n    relax.compile(TEXT).export_library(temporary('a.so'))",
        "RuntimeError",
        "true wrote no library; is it a C compiler?",
    ),
    (
        "import os, warnings\nfrom unittest import mock\nwith mock.patch.dict(os.environ, RELAX_MLIR_CACHE=str(temporary('cache'))), warnings.catch_warnings():\n    warnings.simplefilter('error')\n    relax.compile(TEXT)",
        "RuntimeWarning",
        "not stored: expected a folder in RELAX_MLIR_CACHE, but got ",
    ),
    (
        "relax.load(temporary('rx.so', relax.compile(TEXT).to_bytes()))",
        "ValueError",
        "rx.so: expected a library, but this is an .rx file: give it that ending",
    ),
    (
        "relax.compile(TEXT, 'llvm -mtriple=aarch64-linux-gnu').export_library(temporary('a.so'))",
        "RuntimeError",
        "links no code for aarch64: set CC to a cross compiler, such as aarch64-linux-gnu-gcc, and runtime",
    ),
    (
        "machine().executable.export_library(temporary('a.so'), cc='no-such-compiler')",
        "TypeError",
        "relax.Executable.export_library: expected the arguments path, self_contained, options, runtime, but got 'cc'",
    ),
    (
        "from_source(None)",
        "TypeError",
        "script.from_source: expected program to be a str, but got None",
    ),
    ("from_source(3)", "TypeError", "script.from_source: expected program to be a str, but got 3"),
    (
        "from_source('')",
        "ScriptError",
        "expected one decorated class or function in the text, but got 0",
    ),
    (
        "from_source('model.py')",
        "TypeError",
        "expected the text of a program in TVMScript, but got the name of a file; to read it: Path('model.py'",
    ),
    (
        "from_source('x = 3')",
        "ScriptError",
        "expected one decorated class or function in the text, but got 0",
    ),
    ("from_source('def f(')", "ScriptError", "'(' was never closed"),
    ("from_source(TEXT)", "ScriptError", "invalid syntax"),
    (
        "from_source('@R.function\\ndef f(x): return x')",
        "ScriptError",
        "expected StructInfo of parameter 'x', such as x: R.Tensor((n, 4), \"float32\")",
    ),
    (
        "from_source('@R.function\\ndef f(x: R.Tensor((2,), \"float33\")): return x')",
        "ScriptError",
        "expected a data type, one of bool, int4, int8, int16, int32, int64, uint4, uint8, uint16, uint32, uint64, float16",
    ),
    (
        "from_source('@R.function\\ndef f(x: R.Tenser((2,), \"float32\")): return x')",
        "ScriptError",
        "expected something that R has, but got R.Tenser; did you mean 'R.Tensor'?",
    ),
    (
        "from_source('@R.function\\ndef f(x: int): return x')",
        "ScriptError",
        'expected StructInfo such as R.Tensor((n, 4), "float32"), R.Shape([n]), R.Tuple(...), R.Callable(...)',
    ),
    (
        "from_source('@R.functoin\\ndef f(x: R.Object): return x')",
        "ScriptError",
        "MissingOperatorError: expected something that R has, but got R.functoin",
    ),
    (
        "from_source('@I.ir_modul\\nclass M: pass')",
        "ScriptError",
        "AttributeError: module 'relax_mlir.script.ir' has no attribute 'ir_modul'; did you mean 'ir_module'?",
    ),
    (
        "kernel_script('return R.addd(x, x)')",
        "ScriptError",
        "expected something that R has, but got R.addd; did you mean 'R.add'?",
    ),
    (
        "kernel_script('return R.relu(x)')",
        "ScriptError",
        "expected something that R has, but got R.relu; did you mean 'R.nn.relu'?",
    ),
    (
        "kernel_script('return R.nn.rellu(x)')",
        "ScriptError",
        "expected something that R has, but got R.nn.rellu; did you mean 'R.nn.relu'?",
    ),
    (
        "kernel_script('return R.sum(x, axes=1)')",
        "ScriptError",
        "expected an argument that R.sum has (x, axis, keepdims), but got 'axes'",
    ),
    (
        "kernel_script('return R.sum(x, axis=\"a\")')",
        "ScriptError",
        "op.sum: expected axis to be an int, a list of int or None, but got 'a'",
    ),
    (
        "kernel_script('return R.exp(x, x)')",
        "ScriptError",
        "op.exp: expected the argument x, but got 2 by position",
    ),
    (
        "kernel_script('return R.exp()')",
        "ScriptError",
        "op.exp: expected the argument x, but 'x' is missing",
    ),
    (
        "kernel_script('return R.exp(z)')",
        "ScriptError",
        "expected a name that is bound, but got 'z'",
    ),
    (
        "kernel_script('return x.shape')",
        "ScriptError",
        "expected a value of a Relax program, but got x.shape as a whole; write x.shape[i], or R.shape_of(x)",
    ),
    (
        "kernel_script('return x.reshape((4, n))')",
        "ScriptError",
        "a value of a program has no attribute 'reshape'; write op.reshape(x, ...)",
    ),
    (
        "kernel_script('return x[1:3]')",
        "ScriptError",
        "expected an int, the number of a field of a tuple, but got slice(1, 3, None); for elements of a tens",
    ),
    (
        "kernel_script('return x[0]')",
        "ScriptError",
        "relax.get_item: expected a tuple, but got '!relax.tensor<[n, 4], f32>'",
    ),
    (
        "kernel_script('return x @ x')",
        "ScriptError",
        "expected R.matmul in place of the operator @ for values of a Relax function",
    ),
    (
        "kernel_script('pass')",
        "ScriptError",
        "expected a return statement at the end of function 'main'; one without a result ends with return R.t",
    ),
    (
        "kernel_script('y = R.exp(x)')",
        "ScriptError",
        "expected a return statement at the end of function 'main'; one without a result ends with return R.t",
    ),
    (
        "kernel_script('y: R.Tensor((3, 3), \"float32\") = R.exp(x)\\nreturn y')",
        "ScriptError",
        "expected a value of type !relax.tensor<[3, 3], f32>, but got one of type !relax.tensor<[n, 4], f32>",
    ),
    (
        "kernel_script('for i in range(3):\\n    y = R.exp(x)\\nreturn y')",
        "ScriptError",
        "expected a recursive function in place of a for loop",
    ),
    (
        "kernel_script('while True:\\n    pass')",
        "ScriptError",
        "expected a recursive function in place of a while loop",
    ),
    (
        "kernel_script('import os\\nreturn x')",
        "ScriptError",
        "expected no statement of the kind Import in a Relax function",
    ),
    (
        "kernel_script('return lambda a: a')",
        "ScriptError",
        "expected a value of a Relax program, but got <function Evaluator._eval_lambda.<locals>.function",
    ),
    (
        "kernel_script('with R.dataflow():\\n    y = R.exp(x)\\nreturn y')",
        "ScriptError",
        "expected a name that is visible here, but 'y' is bound in the dataflow block of line 5 and can be us",
    ),
    (
        "kernel_script('with R.dataflw():\\n    y = R.exp(x)\\nreturn y')",
        "ScriptError",
        "expected something that R has, but got R.dataflw",
    ),
    (
        "kernel_script('with R.dataflow():\\n    y = R.exp(x)\\n    R.output(z)\\nreturn y')",
        "ScriptError",
        "expected a name that is bound, but got 'z'",
    ),
    (
        "kernel_script('return cls.missing(x)')",
        "ScriptError",
        "expected a name that is bound, but got 'cls'",
    ),
    (
        "kernel_script('return R.call_tir(cls.k, (x,), R.Tensor((2,), \"float32\"))')",
        "ScriptError",
        "expected a name that is bound, but got 'cls'",
    ),
    (
        "kernel_script('return R.astype(x, \"flaot16\")')",
        "ScriptError",
        "expected a data type, one of bool, int4, int8, int16, int32, int64, uint4, uint8, uint16, uint32, uint64, float16",
    ),
    ("kernel_script('return 1 / 0')", "ScriptError", "ZeroDivisionError: division by zero"),
    (
        "kernel_script('return open(\"/etc/passwd\")')",
        "ScriptError",
        "expected a value of a Relax program, but got <_io.TextIOWrapper name='/etc/passwd' mode='r' encoding",
    ),
    (
        "relax.IRModule(TEXT.replace('relax.exp', 'relax.expp'))",
        "MLIRError",
        "custom op 'relax.expp' is unknown; did you mean 'relax.exp'?",
    ),
    (
        "relax.IRModule(TEXT.replace('relax.exp', 'relax.nn.relu'))",
        "MLIRError",
        "custom op 'relax.nn.relu' is unknown; did you mean 'relax.relu'?",
    ),
    (
        "relax.IRModule(TEXT.replace('relax.exp', 'relaxx.exp'))",
        "MLIRError",
        "Dialect `relaxx' not found for custom op 'relaxx.exp' ; did you mean 'relax.exp'?",
    ),
    (
        "relax.IRModule(TEXT.replace('f32', 'f33'))",
        "MLIRError",
        "expected a data type or '@' device",
    ),
    (
        "relax.IRModule(TEXT.replace('!relax.tensor', '!relax.tensr'))",
        "MLIRError",
        "unknown  type `tensr` in dialect `relax`; did you mean 'tensor'?",
    ),
    (
        "relax.IRModule(TEXT.replace('%0 :', '%1 :'))",
        "MLIRError",
        "use of undeclared SSA value name",
    ),
    ("relax.IRModule(TEXT.replace('return %0', 'return %x, %0'))", "MLIRError", "expected ':'"),
    (
        "relax.IRModule(TEXT.replace('relax.return', 'relax.retrun'))",
        "MLIRError",
        "custom op 'relax.retrun' is unknown; did you mean 'relax.return'?",
    ),
    (
        "relax.IRModule(TEXT.replace('[n, 4]', '[n, -4]'))",
        "MLIRError",
        "expected dimensions of 0 or more",
    ),
    (
        "relax.IRModule(TEXT.replace('[n, 4]', '[n +, 4]'))",
        "MLIRError",
        "expected a dimension: an integer, a variable or an expression",
    ),
    ("relax.IRModule(TEXT + TEXT)", "MLIRError", "redefinition of symbol named 'main'"),
    (
        "relax.IRModule('relax.func @f(%x: f32) -> f32 { %0 = relax.exp %x : !relax.object relax.return %0 : f32 }')",
        "MLIRError",
        "custom op 'relax.exp' invalid kind of type specified: expected builtin.function, but found '!relax.o",
    ),
    ("relax.IRModule('\\x00\\xff')", "MLIRError", "unexpected character"),
    (
        "relax.compile(TEXT.replace('-> !relax.tensor<[n, 4], f32> {', '-> !relax.tensor<[n, 5], f32> {'))",
        "MLIRError",
        "'relax.return' op expected a result of type '!relax.tensor<[n, 5], f32>', but got '!relax.tensor<[n,",
    ),
    (
        "command('relax-opt', '-relax-legalise-ops', text=TEXT)",
        "CommandError",
        "Unknown command line argument '-relax-legalise-ops'.  Try: 'relax-opt --help'",
    ),
    (
        "command('relax-opt', '-relax-normalize', '/nonexistent.mlir')",
        "CommandError",
        "cannot open input file '/nonexistent.mlir': No such file or directory",
    ),
    (
        "command('relax-opt', text='nonsense')",
        "CommandError",
        "custom op 'nonsense' is unknown (tried 'builtin.nonsense' as well)",
    ),
    (
        "command('relax-opt', text=TEXT.replace('relax.exp', 'relax.expp'))",
        "CommandError",
        "custom op 'relax.expp' is unknown",
    ),
    (
        "command('relax-opt', '-relax-phase-llvm', text=TEXT)",
        "CommandError",
        "'relax.exp' op cannot be lowered to LLVM: run relax-legalize-ops, relax-lower-call-tir, relax-lower-",
    ),
    (
        "command('relax-opt', '-relax-phase-shapes', text=TEXT)",
        "CommandError",
        "'relax.exp' op has to be lowered before shapes are: the phases normalize, legalize and memory do it",
    ),
    (
        "command('relax-opt', '-relax-lower-shapes=checks=none', text=TEXT)",
        "CommandError",
        "for the --checks option: Cannot find option named 'none'!",
    ),
    (
        "command('relax-opt', '-pass-pipeline=builtin.module(relax-nope)', text=TEXT)",
        "CommandError",
        "<unknown>:0: error: MLIR Textual PassPipeline Parser:1:1: error: 'relax-nope' does not refer to a re",
    ),
    (
        "command('relax-opt', '--split-input-file=xx', text=TEXT)",
        "CommandError",
        "expected a marker of 3 characters or more for --split-input-file, but got 'xx'",
    ),
    (
        "command('relax-translate', '--mlir-to-llvmir', '-split-input-file=x', text=TEXT)",
        "CommandError",
        "expected a marker of 3 characters or more for --split-input-file, but got 'x'",
    ),
    (
        "command('relax-translate', '--mlir-to-llvmir', text=TEXT)",
        "CommandError",
        "Dialect `relax' not found for custom op 'relax.func'",
    ),
    (
        "import sys; command(sys.executable, '-m', 'relax_mlir', 'inspect', temporary('b.mlirbc', b'ML\\xefR\\x01\\x00\\x00'))",
        "CommandError",
        "b.mlirbc: damaged or incomplete bytecode: attempting to parse a byte at the end of the bytecode",
    ),
    (
        "import sys; command(sys.executable, '-m', 'relax_mlir', 'nonsense')",
        "CommandError",
        "invalid choice: 'nonsense'",
    ),
    (
        "import sys; command(sys.executable, '-m', 'relax_mlir', 'config', '--nope')",
        "CommandError",
        "unrecognized arguments: --nope",
    ),
    (
        "from_source('@T.prim_func\\ndef f(A: T.Buffer((4,), \"float32\")):\\n    for i in range(4):\\n        A[i + 3] = T.float32(0)')",
        "ScriptError",
        "expected indices of 'A' from 0 to 3, but got 3 to 6",
    ),
    (
        "from_source('@T.prim_func\\ndef f(A: T.Buffer((4,), \"float32\")):\\n    A[-1] = A[0]')",
        "ScriptError",
        "expected indices of 'A' from 0 to 3, but got -1",
    ),
    (
        "from relax_mlir import te; A = te.placeholder(('n',), name='A'); te.create_prim_func([A, te.compute(A.shape, lambda i: A[i + 1])])",
        "ValueError",
        "expected indices of 'A' from 0 to n - 1, but got up to n in A[i + 1]",
    ),
    (
        "from relax_mlir import te; k = te.reduce_axis((0, 4)); te.compute((4,), lambda i: te.placeholder((4,))[k] + 1)",
        "ValueError",
        "expected 'compute' to use 'rv' in a reduction over it, such as te.sum(..., axis=rv)",
    ),
    (
        "from relax_mlir import te; k = te.reduce_axis((0, 4), name='k'); te.compute((4,), lambda i: te.sum(te.placeholder((4,))[k], axis=i), name='C')",
        "ValueError",
        "expected 'C' to use 'k' in a reduction over it, such as te.sum(..., axis=k)",
    ),
    (
        "from_source('@R.function(nope=1)\\ndef f(x: R.Object): return x')",
        "ScriptError",
        "expected options of @R.function, check_well_formed, name, private, pure, but got 'nope'",
    ),
    (
        "from_source('@R.function(privat=True)\\ndef f(x: R.Object): return x')",
        "ScriptError",
        "but got 'privat'; did you mean 'private'?",
    ),
    (
        "from_source('@R.function(pure=3)\\ndef f(x: R.Object): return x')",
        "ScriptError",
        "expected pure to be True or False, but got 3",
    ),
    (
        "from_source('@I.ir_module(nope=3)\\nclass M: pass')",
        "ScriptError",
        "expected options of @I.ir_module, check_well_formed, s_tir, but got 'nope'",
    ),
    (
        "from_source('@I.ir_module\\nclass M(3): pass')",
        "ScriptError",
        "expected a class of functions alone, but got 3",
    ),
    (
        "kernel_script('return f\"{x}\"')",
        "ScriptError",
        "expected a value that is known when the program is read, but got one of the program",
    ),
    ("kernel_script('return R.sum(x=x, x=x)')", "ScriptError", "expected the argument 'x' once"),
    (
        "kernel_script('R.func_attr(3)\\nreturn x')",
        "ScriptError",
        "expected a dict of attributes, but got 3",
    ),
    (
        "kernel_script('y = z = x\\nreturn y')",
        "ScriptError",
        "expected one name on the left, but got y = z",
    ),
    (
        "relax.IRModule(TEXT.replace('n, 4], f32>\\n', 'n, 5], f32>\\n'))",
        "MLIRError",
        "error: \"-\":3:8: 'relax.exp' op expected the result '!relax.tensor<[n, 4], f32>', but got '!relax.tensor<[n, 5], f32>'",
    ),
    (
        "relax.IRModule(TEXT.replace('relax.exp %x', 'relax.sum %x {axis = array<i64: 9>}'))",
        "MLIRError",
        "error: \"-\":3:8: 'relax.sum' op expected an axis from -2 to 1, but got 9",
    ),
    (
        "relax.IRModule(TEXT.replace('relax.exp %x', 'relax.sum %x {axis = \"a\"}'))",
        "MLIRError",
        "error: \"-\":3:21: 'relax.sum' op attribute 'axis' failed to satisfy constraint: i64 dense array attribute, such as array<i64: 0, 1>",
    ),
    (
        "relax.IRModule('relax.func @f(%x: !relax.object) -> !relax.object {}')",
        "MLIRError",
        "empty block: expect at least a terminator; a function ends with relax.return",
    ),
    (
        "relax.IRModule(TEXT.replace('  relax.return %0 : !relax.tensor<[n, 4], f32>', ''))",
        "MLIRError",
        "block with no terminator; a function ends with relax.return, a dataflow block with relax.output",
    ),
    (
        "relax.IRModule('relax.func @f(%x: i32) -> i32 { relax.return %x : i32 }')",
        "MLIRError",
        "invalid kind of type specified: expected a type of Relax, such as !relax.tensor<[n], f32>",
    ),
    (
        "relax.IRModule('relax.func @f(%x: !relax.object) -> !relax.object { %0 = relax.get_item %x[0] : (!relax.object) -> !relax.object }')",
        "MLIRError",
        "expected the type of the tuple alone, such as !relax.tuple<!relax.object>",
    ),
    (
        "relax.IRModule('relax.func @f() -> !relax.object { %0 = relax.constant dense<1> : !relax.tensor<[3], f32> }')",
        "MLIRError",
        "elements literal must be a shaped type: write dense<[1.0, 2.0]> : tensor<2xf32>",
    ),
    (
        'from_source(\'@T.prim_func\\ndef f(A: T.Buffer((4,), "float32")):\\n    for i in T.thread_binding(4, thread="nope.x"):\\n        A[i] = T.float32(0)\')',
        "ScriptError",
        "expected thread, 'threadIdx.x' or the like, but got 'nope.x'",
    ),
    (
        "tir_script('B = A')",
        "ScriptError",
        "<text>:3:5: expected 'B[...] = ...', or a new name: 'B' is a parameter",
    ),
    (
        "tir_script('for i in range(4):\\n    B[i] = R.exp(A[i])')",
        "ScriptError",
        "<text>:4:16: expected T.exp in place of R.exp in a kernel",
    ),
    (
        "tir_script('for i in range(4):\\n    B[i] = R.nn.relu(A[i])')",
        "ScriptError",
        "expected an operator of tensor programs, such as T.exp, in place of R.nn.relu in a kernel",
    ),
    (
        'from_source(\'@I.ir_module\\nclass M:\\n    I.mlir("func.func private @j()")\\n    I.mlir("func.func @k(")\\n    @R.function\\n    def f(x: R.Object): return x\')',
        "ScriptError",
        "<text>:4:5: expected functions as text of MLIR: expected ",
    ),
    (
        "from_source('@R.function\\ndef f(x: R.Tensor((2,), \"float32\")):\\n    return x' + ' + x' * 2000)",
        "ScriptError",
        "<text>:3:12: expected an expression that is nested less deeply: give names to parts of it",
    ),
    (
        "from_source('@R.function\\ndef f(x: R.Tensor((2,), \"float32\")):\\n    return x' + ' + x' * 20000)",
        "ScriptError",
        "<text>:3:1: expected an expression that is nested less deeply: give names to parts of it",
    ),
    (
        "from_source('@T.prim_func\\ndef f(a: T.handle, b: T.handle):\\n    n = T.int64()\\n    A = T.match_buffer(a, (n,))\\n    B = T.match_buffer(b, (n,))\\n    for i in range(n * 2):\\n        B[i] = A[i]')",
        "ScriptError",
        "<text>:7:9: expected indices of 'A' from 0 to n - 1, but got up to n * 2 - 1",
    ),
    (
        "from_source('@T.prim_func\\ndef f(a: T.handle, b: T.handle):\\n    n = T.int64()\\n    A = T.match_buffer(a, (n,))\\n    B = T.match_buffer(b, (n,))\\n    for i in range(1 + n):\\n        B[i] = A[i]')",
        "ScriptError",
        "<text>:7:9: expected indices of 'A' from 0 to n - 1, but got up to n",
    ),
    (
        "tir_script('B = 1.0, 2.0')",
        "ScriptError",
        "expected 'B[...] = ...', or a new name: 'B' is a parameter",
    ),
    (
        "tir_script('B, A = A, B')",
        "ScriptError",
        "expected 'B[...] = ...', or a new name: 'B' is a parameter",
    ),
    (
        "tir_script('C = T.alloc_buffer((4,))\\nC = A')",
        "ScriptError",
        "<text>:4:5: expected 'C[...] = ...', or a new name: 'C' is a buffer",
    ),
    (
        "from_source('@R.macro\\ndef m(a, b):\\n    return a\\n@R.function\\ndef f(x: R.Object): return m(x)')",
        "ScriptError",
        "<text>:5:28: m(a, b): missing a required argument: 'b'",
    ),
    (
        "import os; os.mkfifo(temporary('f.so').with_name('fifo.so')); relax.compile(TEXT).export_library(temporary('f.so').with_name('fifo.so'))",
        "OSError",
        "fifo.so: expected a file to replace, but got a FIFO",
    ),
    (
        "relax.load('model.rx\\0')",
        "ValueError",
        "expected a path without the character NUL, but got 'model.rx\\x00'",
    ),
    (
        "relax.compile(module()).save('model.rx\\0')",
        "ValueError",
        "expected a path without the character NUL, but got 'model.rx\\x00'",
    ),
    (
        "relax.compile(module()).export_library('model\\0.so')",
        "ValueError",
        "expected a path without the character NUL, but got 'model\\x00.so'",
    ),
    (
        "relax.compile('builtin.module { builtin.module { relax.func @f(%x: !relax.object) -> !relax.object { relax.return %x : !relax.object } } }')",
        "ValueError",
        "expected functions in the module itself, but got a module within it",
    ),
    (
        "kernel_script('y = R.const([1, [2]], \"float32\")\\nreturn y')",
        "ScriptError",
        "expected sequences of equal lengths, but got [1, [2]]",
    ),
    (
        "runtime.tensor(np.array([1e30, 300.5]), dtype='int8')",
        "ValueError",
        "expected numbers of int8, but got 1e+30",
    ),
    (
        "runtime.tensor([300], dtype='int8')",
        "ValueError",
        "expected numbers of int8, but got [300]",
    ),
    (
        "runtime.tensor(np.ma.masked_array(zeros, mask=zeros == 0))",
        "TypeError",
        "expected an array without a mask: write x.filled()",
    ),
    (
        "machine()['main'](type('A', (), {'__dlpack__': lambda self, **k: 3, '__dlpack_device__': lambda self: (1, 0)})())",
        "TypeError",
        "main: argument 'x': expected an array whose __dlpack__ returns a new capsule, but got an object of type A",
    ),
]
