//===- Passes.td - Passes from Relax to Relax, and of kernels -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_TRANSFORMS_PASSES
#define RELAX_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def RelaxCheckWellFormedPass : Pass<"relax-check-well-formed", "ModuleOp"> {
  let summary = "Report all violations of the rules of well-formedness at once";
  let description = [{
    Checks what the verifiers check, and what needs the whole module: values used
    where they are not bound, recursion, entry points, the form of calls, virtual
    devices. The message of each error ends with the id of the rule that is
    broken. For a module that is too broken to be verified:

    ```sh
    relax-opt --mlir-very-unsafe-disable-verifier-on-parsing --verify-each=0 \
      --relax-check-well-formed program.mlir
    ```
  }];
}

def RelaxNormalizePass : Pass<"relax-normalize", "::mlir::relax::FuncOp"> {
  let summary = "Put functions into normal form";
  let description = [{
    Flattens each `relax.seq` into the block around it, where shape variables
    that it binds get a new name if theirs means something else behind it;
    applies the rules that calls have of their own (`relax.call_tir` takes the
    fields of a tuple); joins dataflow blocks that stand side by side and drops
    empty ones. The order of bindings stays. A function in normal form is left
    as it is.
  }];
}

def RelaxRealizeVDevicePass : Pass<"relax-realize-vdevice", "ModuleOp"> {
  let summary = "Decide the virtual device of each tensor";
  let description = [{
    Where the module lists virtual devices: sets the device of each tensor type
    that leaves it open, from results to operands and back, until nothing
    changes. A constant that is needed on a device gets a `relax.to_vdevice`.
    `relax.hint_on_device` becomes `relax.to_vdevice`, or goes where the data is
    on the device already.

    It is an error where a tensor would have to be on two devices, where the
    device of an operand of an operator or kernel stays open, and where a device
    is named that the module does not list.

    Example: for a module that lists `cpu0` and `cpu1`, in

    ```mlir
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32, @cpu1> {
      %0 = relax.hint_on_device %x on 1 : !relax.tensor<[n], f32>
      %1 = relax.exp %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      relax.return %1 : !relax.tensor<[n], f32>
    }
    ```

    `%0` becomes `relax.to_vdevice %x to @cpu1`, and `%1` is on `@cpu1`.
  }];
}

def RelaxLambdaLiftPass : Pass<"relax-lambda-lift", "ModuleOp"> {
  let summary = "Make functions of closures";
  let description = [{
    Moves the body of each `relax.closure` into a private function, which takes
    the captured shape variables, as one shape, and the captured values before
    the arguments. A closure that is called where it is known becomes a call of
    that function; any other use becomes `relax.builtin.make_closure`, and so
    does `relax.global_var`. The attribute `relax.captures` counts the arguments
    that are captured.

    A kernel that is called directly, or is a value, gets a private function
    `@<kernel>.closure` around it. The name of a packed function for which the
    module has a function with this `global_symbol` stands for that function.
  }];
}

def RelaxDeriveStructInfoPass : Pass<"relax-derive-struct-info", "ModuleOp"> {
  let summary = "Derive the StructInfo of a whole module";
  let description = [{
    Functions in the order of their calls, callees first, those that call each
    other by their declared types (DR01); in each one binding after the other.

    - A result whose declared type is weaker than what the rule derives gets the
      derived type. `relax.match_cast` keeps its own.
    - A declared type that is stronger, or incompatible, is an error.
    - A function or closure with `derive_result` gets the type of its body,
      without what is out of scope, as result, and its callers see it (DR13). The
      result is declared then: the attribute goes.
    - What may or may not hold is a warning that advises `relax.match_cast`: an
      argument of a call (DR12), a value that is returned (DR13), a cast that
      always fails (DR09). It is checked at run time.
    - Facts in scope count (ST12): declared bounds, dimensions that are not
      negative, and what casts before compare. Nothing is warned of that they
      prove, and what they refute is an error.
  }];
}

def RelaxDeadCodeEliminationPass
    : Pass<"relax-dead-code-elimination", "::mlir::relax::FuncOp"> {
  let summary = "Remove bindings without uses";
  let description = [{
    Removes operations that are pure and whose results nobody uses, calls of pure
    functions included. Inside of dataflow blocks unused casts go as well, where
    no shape variable that they bind is used, and no declared type follows only
    from what casts compare: a program may become more defined there, never less.
    Outside of them errors stay, and so do effects.
  }];
}

def RelaxCanonicalizeBindingsPass
    : Pass<"relax-canonicalize-bindings", "::mlir::relax::FuncOp"> {
  let summary = "Simplify casts, tuples, shapes and outputs of dataflow blocks";
  let description = [{
    Shape variables that a `relax.match_cast` binds to dimensions that are known
    become these dimensions, and a cast to the type that a value has goes. Fields
    of a tuple that the function makes are its values, a tuple of all fields of
    another one is that one. The shape of a tensor of known dimensions is these.
    Values that are known outside of a dataflow block do not go through it, none
    leaves it twice, and none that is not used.

    `--canonicalize` does the same, but for shape variables; also what
    `relax-simplify-ops` does; and an `if` with a known condition becomes the
    branch that it takes, as a `relax.seq`.
  }];
}

def RelaxSimplifyOpsPass
    : Pass<"relax-simplify-ops", "::mlir::relax::FuncOp"> {
  let summary = "Remove operators that do nothing, and join others";
  let description = [{
    What `--canonicalize` does to operators, without removing those that are not
    used, which may end with an error:

    - `x * 1`, `x - 0`, `x / 1`, `x & true` and the like, where the result has the
      shape of `x`; of floats `x + 0.0` stays, as it is not `x` for -0.0;
    - pairs of inverse operators, and operators that change nothing the second
      time;
    - conversions to the data type that is there, and after one without loss;
    - transposes, reshapes, broadcasts, flips and slices that do nothing, alone or
      with the one before; concatenations of one tensor, of concatenations, and of
      all parts of a split; slices of one part of a concatenation;
    - reshapes before and behind a transpose that merge dimensions and take them
      apart again;
    - `where` with a known condition, or with the same on both sides.

    Results stay the same, bit by bit. An operator gives memory of its own, so it
    stays where somebody could tell.
  }];
  let options = [
    Option<"join", "join", "bool", /*default=*/"true",
           "Make one of two transposes, reshapes or broadcasts, which fusion does "
           "in kernels anyway, and sees the parts of attention in two">
  ];
}

def RelaxEliminateCommonSubexprPass
    : Pass<"relax-eliminate-common-subexpr", "::mlir::relax::FuncOp"> {
  let summary = "Compute equal expressions once";
  let description = [{
    An operation that is pure and equals one before it, whose values are visible,
    is replaced by that one: the same operator, operands, attributes and result
    types. Between the two nothing may be updated in place. An operator gives
    memory of its own, so both stay where somebody could tell, as where both are
    returned.
  }];
  let options = [
    Option<"callOnly", "call-only", "bool", /*default=*/"false",
           "Leave tuples, their fields and casts alone">
  ];
}

def RelaxInlinePrivateFunctionsPass
    : Pass<"relax-inline-private-functions", "ModuleOp"> {
  let summary = "Put the bodies of private functions in the place of calls";
  let description = [{
    Shape variables of the callee become the dimensions of the arguments, or get a
    name that the caller does not have; where the type of an argument does not
    tell them, `relax.match_cast` binds and checks them, as the call did. Private
    functions that nobody uses any more go.

    Left alone are functions that call themselves, also through others; those
    with bounds of shape variables, `relax.force_pure`, `Primitive`, `Composite`
    or `Codegen`; and calls in dataflow blocks of functions with control flow.
  }];
}

def RelaxToNonDataflowPass : Pass<"relax-to-non-dataflow", "::mlir::relax::FuncOp"> {
  let summary = "Inline dataflow blocks";
  let description = [{
    Moves the bindings of dataflow blocks into the function around them: from
    here on the order of bindings is the order of execution.
  }];
}

def RelaxLowerCallTIRPass : Pass<"relax-lower-call-tir", "::mlir::relax::FuncOp"> {
  let summary = "Make the allocation of outputs explicit";
  let description = [{
    Replaces `relax.call_tir` by `relax.builtin.alloc_tensor` for each output
    and `relax.builtin.call_kernel`, and `relax.call_dps_packed` likewise (RF09).
    What `relax.call_tir_inplace` updates is not allocated (OP02). The other
    calls of packed functions become `relax.call_packed`, or `relax.call` of the
    function value.
  }];
}

def RelaxRewriteReshapePass
    : Pass<"relax-rewrite-reshape", "::mlir::relax::FuncOp"> {
  let summary = "View tensors under other dimensions instead of copying them";
  let description = [{
    Replaces `relax.reshape`, `relax.flatten`, `relax.expand_dims` and
    `relax.squeeze` by `relax.builtin.view` where the number of elements is proven
    to stay and nobody can tell the difference: neither the tensor nor its view is
    updated, or seen by somebody who may update it, while the other is in use.
  }];
}

def RelaxPlanMemoryPass : Pass<"relax-plan-memory", "::mlir::relax::FuncOp"> {
  let summary = "Let tensors that are not in use at the same time share memory";
  let description = [{
    Puts the tensors that stay in the function into storages (RF09): one for all
    those of known size, or of a size that bounds of shape variables limit, with
    offsets; others for those of symbolic size, shared where sizes are equal, or
    one is proven to be the larger (RF10), or their maximum can be computed where
    the storage is allocated. Tensors in the two branches of `relax.if` never
    exist together. A kernel that computes element by element writes its output
    over an input that dies there.

    Tensors that leave the function, by being returned, captured or passed to
    functions, keep memory of their own.
  }];
  let options = [
    Option<"inplace", "inplace", "bool", "true",
           "Let kernels write over inputs that die">
  ];
}

def RelaxLowerShapesPass : Pass<"relax-lower-shapes", "::mlir::relax::FuncOp"> {
  let summary = "Turn shape variables into values and checks into operations";
  let description = [{
    Makes an `i64` value of each shape variable, where the signature or a
    `relax.match_cast` binds it; inserts the checks of arguments, casts and
    results of packed calls (MC01-MC08); computes the dimensions of allocations
    and shapes. Types lose their dimensions.

    With `checks=necessary` the program trusts its caller: what stays are the
    reads that bind shape variables, the divisors of dimensions, and, where a
    value is first read, that it is of the kind and rank that its type says.
  }];
  let options = [
    Option<"checks", "checks", "::mlir::relax::CheckMode",
           "::mlir::relax::CheckMode::All",
           "Which checks of structural information stay",
           [{::llvm::cl::values(
               clEnumValN(::mlir::relax::CheckMode::All, "all", "all of them"),
               clEnumValN(::mlir::relax::CheckMode::Necessary, "necessary",
                          "those without which a read is unsafe"))}]>
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RelaxEliminateChecksPass
    : Pass<"relax-eliminate-checks", "::mlir::relax::FuncOp"> {
  let summary = "Remove checks that are proven";
  let description = [{
    Where shapes are lowered, removes a check of a value whose kind, rank, data
    type and device follow from what makes it or were checked before; reads a
    dimension once, and not at all where the tensor or shape is made of it; and
    removes checks of dimensions, bounds and divisors that follow from those
    before, and from dimensions not being negative.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RelaxKillAfterLastUsePass
    : Pass<"relax-kill-after-last-use", "::mlir::relax::FuncOp"> {
  let summary = "Drop values after their last use";
  let description = [{
    Inserts `relax.builtin.kill` behind the last use of each value, so that the
    memory of a tensor that is dead can serve the next allocation.
  }];
}

def RelaxPoolConstantsPass : Pass<"relax-pool-constants", "ModuleOp"> {
  let summary = "Lay out the constants of the module in one pool";
  let description = [{
    Lists the tensors of all `relax.constant` once each as `relax.constants` of
    the module, behind those that are there already, and replaces them by
    `relax.builtin.load_constant`. One that a kernel or a caller might change is
    a fresh copy.

    Example: `relax.constant dense<1.0> : tensor<2xf32>`, which is returned,
    becomes `relax.builtin.load_constant 0 fresh` in a module with
    `relax.constants = [dense<1.0> : tensor<2xf32>]`.
  }];
}

def RelaxAssignVDevicePass : Pass<"relax-assign-vdevice", "ModuleOp"> {
  let summary = "Put a program that names no device on one";
  let description = [{
    Lists a virtual device in a module that lists none, and puts all
    tensors there: parameters, results, and what functions compute;
    relax-realize-vdevice moves constants to it. A module that lists devices
    says itself where its tensors are, and stays as it is.
  }];
  let options = [
    Option<"device", "device", "std::string", /*default=*/"\"\"",
           "The kind of the device, such as cuda; empty for the host">,
    Option<"arch", "arch", "std::string", /*default=*/"\"\"",
           "Its architecture, such as sm_90; empty for the oldest one">
  ];
  let dependentDialects = ["::mlir::relax::RelaxDialect"];
}

def RelaxAssignKernelDevicesPass
    : Pass<"relax-assign-kernel-devices", "ModuleOp"> {
  let summary = "Say which kernels devices run";
  let description = [{
    A kernel whose tensors are on a device other than the host gets `relax.device`.
    Where calls are on several devices, each device has a copy of its own.
  }];
}

def RelaxPrepareKernelsPass : Pass<"relax-prepare-kernels", "ModuleOp"> {
  let summary = "Make kernels ready for bufferization";
  let description = [{
    Marks the outputs of kernels on tensors as writable and puts results in them,
    so that bufferization updates outputs in place; the parameters that
    `relax.call_tir_inplace` updates are outputs too. Kernels are renamed to
    `relax.kernel.<name>`, since one named `exp` must not stand for that of libm,
    and are private.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def RelaxWidenBoolMemrefsPass
    : Pass<"relax-widen-bool-memrefs", "::mlir::func::FuncOp"> {
  let summary = "Store Booleans in bytes";
  let description = [{
    Turns memrefs of `i1` into memrefs of `i8`, as Boolean tensors lie in memory:
    a byte that is not zero is true, and 1 is stored.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RelaxBFloatsAsBitsPass
    : Pass<"relax-bfloats-as-bits", "::mlir::ModuleOp"> {
  let summary = "Move bf16 as i16 in the LLVM dialect";
  let description = [{
    Turns `bf16` into `i16` in a module that only moves it: the LLVM dialect,
    after arithmetic is expanded to `f32` and integers. Elsewhere it changes
    nothing.
  }];
}

def RelaxExtremaToLLVMPass : Pass<"relax-extrema-to-llvm"> {
  let summary = "Make intrinsics of maxima and minima of floats";
  let description = [{
    Turns `arith.maximumf` and `minimumf` of numbers and vectors into intrinsics
    that ignore the signs of zeros, which take two instructions on x86, or one
    where the right operand is a constant. NaN of either operand is the result.
    Those of a constant zero stay, since the greater zero is the one without sign.

    Example: `arith.maximumf %x, %y : vector<16xf32>` becomes
    `llvm.intr.maximum(%y, %x) {fastmathFlags = #llvm.fastmath<nsz>}`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def RelaxMergeFunctionsPass
    : Pass<"relax-merge-functions", "::mlir::ModuleOp"> {
  let summary = "Share the code of functions that differ in constants";
  let description = [{
    Private functions of the LLVM dialect that do the same but for integers and
    addresses, as the loops of layers of different sizes do, become one function
    with a parameter for each constant that differs. The old ones call it, where
    that is less code. Functions with loops that LLVM is to vectorize stay.
  }];
}

def RelaxLowerExpandShapePass
    : Pass<"relax-lower-expand-shape", "::mlir::func::FuncOp"> {
  let summary = "Lower memref.expand_shape with any number of dynamic dimensions";
  let description = [{
    Turns `memref.expand_shape` into `memref.reinterpret_cast` with the sizes that
    it carries, where upstream's lowering takes one dynamic size in a group.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect"
  ];
}

def RelaxBufferizeKernelsPass
    : Pass<"relax-bufferize-kernels", "ModuleOp"> {
  let summary = "Bufferize kernels that compute tensors";
  let description = [{
    Runs `one-shot-bufferize` with function boundaries, simplifies kernels, and
    drops results that are parameters, where a kernel of the module has tensors
    or results. Nothing is done where all kernels are on memrefs already.
  }];
}

def RelaxDeallocateBuffersPass
    : Pass<"relax-deallocate-buffers", "ModuleOp"> {
  let summary = "Free the memory that kernels allocate";
  let description = [{
    Frees each buffer that only its own block reads and writes where the block
    ends. If there are others, runs the passes of upstream that track ownership;
    what kernels free themselves is marked with
    `bufferization.manual_deallocation` for them.
  }];
}

def RelaxAttachTargetPass : Pass<"relax-attach-target", "ModuleOp"> {
  let summary = "Attach what kernels should know of the processor";
  let description = [{
    Puts a description of the processor on the module, which passes that choose
    tiles and instructions read. Where a module has none, they take the processor
    that they run on.

    Example:

    ```mlir
    module attributes {dlti.target_system_spec = #dlti.target_system_spec<
        "CPU" = #dlti.target_device_spec<
            "vector_bits" = 512 : i64, "L1_cache_size_in_bytes" = 32768 : i64,
            "L2_cache_size_in_bytes" = 1048576 : i64, "features" = "sse2,avx512f">>} {}
    ```
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", /*default=*/"0",
           "The width of a vector register; 0 means that of this processor">,
    Option<"l1Bytes", "l1-bytes", "int64_t", /*default=*/"0",
           "The first cache of a core; 0 means that of this processor">,
    Option<"l2Bytes", "l2-bytes", "int64_t", /*default=*/"0",
           "The second cache of a core; 0 means that of this processor">,
    ListOption<"features", "features", "std::string",
           "Instructions that kernels are written for, as LLVM calls them, such "
           "as sse2 and avx512vnni">,
    Option<"tf32", "tf32", "bool", /*default=*/"false",
           "Whether GPUs may round elements of float32 to TF32 before they "
           "multiply them">
  ];
  let dependentDialects = ["::mlir::DLTIDialect"];
}

def RelaxApproximateMathPass
    : Pass<"relax-approximate-math", "::mlir::func::FuncOp"> {
  let summary = "Compute elementary functions of float32 by polynomials";
  let description = [{
    Turns the trigonometric and hyperbolic functions of `math`, their inverse
    ones, `erf`, `exp`, `exp2`, `expm1`, `log`, `log10`, `log1p`, `log2` and `powf`
    of numbers and vectors of `f32` into arithmetic that is less than 4 units in
    the last place from the exact value, for all numbers: those that are not
    normal, infinities and NaN, too. Those of `f16` and `bf16` are computed in
    `f32`. `arith.remf` is exact. Of `f64`, `exp`, `expm1`, `log` and `log1p` become
    arithmetic, and all other ones are left for libm.

    Example: `math.exp %x : vector<16xf32>` becomes some 25 operations of `arith`
    on such vectors. `math.sin`, `cos` and `tan` become an `scf.if` for vectors with
    an element of at least 2^24, `arith.remf` for those with a quotient of at least
    2^23. A power of 2 or a logarithm to base 2 or 10 that is computed in `f64`, by
    a factor, and rounded to `f32` is computed in `f32`.

    With `fast`, LLVM may compute the sums and products that loops accumulate in
    another order and ignore the signs of zeros, and `exp`, `exp2`, `erf`, `powf`,
    `sin`, `cos`, `tan` and the hyperbolic functions have fewer digits; `docs/dev/math.md` says how many.
    An operation with the flag `afn` has them in any case. Powers of two are
    scaled by `vscalefps` where the target of the module has it.

    With `flush-bf16`, vectors of 16 numbers are rounded to `bf16` by
    `vcvtneps2bf16` where the target has it, instead of ten instructions.
  }];
  let options = [
    Option<"fast", "fast", "bool", /*default=*/"false",
           "Whether results may be less accurate">,
    Option<"flushBF16", "flush-bf16", "bool", /*default=*/"false",
           "Whether numbers below 2^-126 may become 0 as they become bf16">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

//===----------------------------------------------------------------------===//
// Distributed programs
//===----------------------------------------------------------------------===//

def RelaxPropagateShardingPass : Pass<"relax-propagate-sharding", "ModuleOp"> {
  let summary = "Make distributed programs of annotated ones";
  let description = [{
    Carries what each `relax.annotate_sharding` of a function says of axes to the
    tensors around it, to users and to operands, and gives their types shardings:
    parameters, too. Where an operator derives another sharding than the one that
    arrives at its result, or an annotation asks for another one, it is followed
    by `relax.redistribute`. Functions without annotations stay as they are.

    A dimension of fewer elements than devices stays whole. It is an error where
    two annotations that are as near ask for different things of one tensor, and
    where an operator of distributed tensors has no rule.
  }];
}

def RelaxLegalizeRedistributePass
    : Pass<"relax-legalize-redistribute", "ModuleOp"> {
  let summary = "Make collective operators of redistribute";
  let description = [{
    A replica is cut by `relax.redistribute_replica_to_shard`, a tensor that is
    cut becomes a replica by `relax.allgather`, with a transposition around it
    where the axis is not the first one, and one that is to be cut along another
    axis becomes a replica first.

    It is an error where the meshes differ, or have several dimensions.
  }];
}

def RelaxLowerGlobalViewToLocalViewPass
    : Pass<"relax-lower-global-view-to-local-view", "ModuleOp"> {
  let summary = "Add up what each worker has of a contraction";
  let description = [{
    An operator that sums, or otherwise reduces, over an axis that is cut gives
    each worker a term of the result: `relax.allreduce` follows it. Other
    operators compute their parts from parts, as they are.

    `relax.call_tir` of distributed tensors becomes
    `relax.call_tir_local_view` of a kernel for the parts, where the kernel is
    `linalg` on tensors.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def RelaxLowerDistIRPass : Pass<"relax-lower-dist-ir", "ModuleOp"> {
  let summary = "Make the program of each worker of a distributed one";
  let description = [{
    Types lose their shardings, and are those of the parts. The first worker has
    the whole arguments: `relax.broadcast_from_worker0` and
    `relax.scatter_from_worker0` at the begin of a function give each worker its
    own. Each worker returns its part of the result.

    It is an error where what `relax-legalize-redistribute` and
    `relax-lower-global-view-to-local-view` lower is left, where a mesh has
    several dimensions, and where it does not divide a dimension.
  }];
}

#endif // RELAX_TRANSFORMS_PASSES
