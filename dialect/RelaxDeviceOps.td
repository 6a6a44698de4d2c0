//===- RelaxDeviceOps.td - Virtual devices -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_DEVICE_OPS
#define RELAX_DEVICE_OPS

include "RelaxCoreOps.td"

def Relax_HintOnDeviceOp : Relax_InferredOp<"hint_on_device",
    [Pure, ViewLikeOpInterface]> {
  let summary = "a hint that data should be on a device (OP08)";
  let hasPythonFunction = 1;
  let pythonSummary = "data, with the hint that it should be on a device";
  let description = [{
    `device` is the `dev_id` of a virtual device of the module.
    `relax-realize-vdevice` turns the hint into `relax.to_vdevice`, or drops it
    where the data is there already.

    Example: `%0 = relax.hint_on_device %x on 1 : !relax.tensor<[n], f32>`
  }];
  let arguments = (ins
    Relax_Arg<Relax_AnyValue, "A tensor, or a tuple of tensors">:$data,
    Relax_Arg<I64Attr, "The `dev_id` of one virtual device of the module">:$device);
  let results = (outs Res<Relax_AnyValue, "Of the type of `data`">:$result);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    Value getViewSource() { return getOperation()->getOperand(0); }
  }];
}

def Relax_ToVDeviceOp : Relax_InferredOp<"to_vdevice"> {
  let summary = "a copy of data on a virtual device (OP08)";
  let hasPythonFunction = 1;
  let description = [{
    Copies a tensor, or each tensor of a tuple of tensors and tuples.

    **Constraints:** the operand is a tensor, or a tuple of such, recursively.

    Example: `%0 = relax.to_vdevice %x to @cpu1 : !relax.tensor<[n], f32>`
  }];
  let arguments = (ins
    Relax_Arg<Relax_AnyValue, "A tensor, or a tuple of tensors">:$data,
    Relax_Arg<FlatSymbolRefAttr, "The name of a device that the module lists",
      convert = "$_self.removeprefix(\"@\")">:$vdevice);
  let results = (outs Res<Relax_AnyValue, "Of the type of `data`, on the device",
                          [MemAlloc]>:$result);
  let hasCustomAssemblyFormat = 1;
}

#endif // RELAX_DEVICE_OPS
