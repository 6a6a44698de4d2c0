//===- AssignVDevice.cpp - Put a program on one device -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All tensors of a program that names no device are on one, the first of the
// kind that the program is compiled for. Constants lie on the host, so they are
// to be moved there by relax-realize-vdevice.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/VDevice.h"
#include "relax-mlir/Transforms/Passes.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXASSIGNVDEVICEPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

static constexpr StringLiteral kName = "device";

/// All results and block arguments below `op` are on the device.
static void assign(Operation *op, FlatSymbolRefAttr vdevice) {
  op->walk([&](Operation *inner) {
    for (Value result : inner->getResults())
      result.setType(fillVDevices(result.getType(), vdevice));
    for (Region &region : inner->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setType(fillVDevices(argument.getType(), vdevice));
  });
}

static void assignSignature(relax::FuncOp func, FlatSymbolRefAttr vdevice) {
  auto fill = [&](TypeRange types) {
    return llvm::map_to_vector(
        types, [&](Type type) { return fillVDevices(type, vdevice); });
  };
  func.setFunctionType(FunctionType::get(func.getContext(),
                                         fill(func.getArgumentTypes()),
                                         fill(func.getResultTypes())));
}

namespace {
struct RelaxAssignVDevicePass
    : relax::impl::RelaxAssignVDevicePassBase<RelaxAssignVDevicePass> {
  using RelaxAssignVDevicePassBase::RelaxAssignVDevicePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    DictionaryAttr listed = getGlobalInfo(module);
    if (device.empty() || (listed && !listed.empty()))
      return;
    Builder builder(&getContext());
    std::string target = device;
    if (!arch.empty())
      target += " -arch=" + arch;
    auto attribute = VDeviceAttr::get(&getContext(), target, /*devId=*/0,
                                      /*memScope=*/"global");
    RelaxDialect::GlobalInfoAttrHelper(&getContext())
        .setAttr(module, builder.getDictionaryAttr(
                             builder.getNamedAttr(kName, attribute)));
    auto vdevice = FlatSymbolRefAttr::get(&getContext(), kName);
    for (auto func : module.getOps<relax::FuncOp>()) {
      assignSignature(func, vdevice);
      if (func.isExternal())
        continue;
      assign(func, vdevice);
    }
  }
};
} // namespace
