// RUN: relax-opt %s --relax-to-llvm=checks=necessary --verify-diagnostics | FileCheck %s

// A cast that always fails is trusted never to run. The dimension that it binds
// is not read from the tensor, which is on the stack and has none.
// CHECK-LABEL: llvm.func @__tvm_ffi_constructed
// CHECK: llvm.call @relax_shape_make
"builtin.module"() ({
  "relax.func"() <{arg_names = [], function_type = () -> !relax.object, sym_name = "constructed"}> ({
    %0 = "relax.builtin.alloc_tensor"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> !relax.tensor<[], i1>
    // expected-warning@+1 {{always fails}}
    %1 = "relax.match_cast"(%0) : (!relax.tensor<[], i1>) -> !relax.tensor<[k], f32>
    %2 = "relax.shape"() <{values = #relax.shape<[k]>}> : () -> !relax.shape<[k]>
    "relax.return"(%2) : (!relax.shape<[k]>) -> ()
  }) : () -> ()
}) : () -> ()
