//===- VDevice.h - Virtual devices in types -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor type names a device of the module or leaves it open. The tensors of
// a type are the type itself, the fields of a tuple, and the parameters and the
// result of a closure, recursively.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_VDEVICE_H
#define RELAX_MLIR_IR_VDEVICE_H

#include "relax-mlir/IR/Relax.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::relax {

/// Two devices where there should be one.
using VDeviceConflict = std::pair<FlatSymbolRefAttr, FlatSymbolRefAttr>;

/// The devices that the module around `op` lists; null or empty for none.
DictionaryAttr getGlobalInfo(Operation *op);

/// Returns the device that `name` refers to at `op`; null for a device that is
/// not listed.
VDeviceAttr lookupVDevice(Operation *op, FlatSymbolRefAttr name);

/// Checks that each device which a type or `relax.to_vdevice` names is listed
/// (WF24). Reports each name once in each function.
LogicalResult verifyVDevices(ModuleOp module);

/// The kind of device, as DLPack counts them, that runs the target of a device;
/// none for a target that is not known here.
std::optional<int32_t> getDLDeviceType(VDeviceAttr device);

/// The device that runs a kernel; null for the host.
VDeviceAttr getKernelDevice(Operation *kernel);

/// The type of what is copied to `vdevice`; null for what cannot be copied.
Type moveToVDevice(Type type, FlatSymbolRefAttr vdevice);

/// `type` with all devices left open.
Type eraseVDevices(Type type);

/// `type`, where tensors without a device take the one at the same place of
/// `like`.
Type fillVDevices(Type type, Type like);

/// `type`, where tensors without a device are on `vdevice`: update_struct_info.
/// Of a closure it is the result that is.
Type fillVDevices(Type type, FlatSymbolRefAttr vdevice);

/// The first place where both types name a device, but not the same.
std::optional<VDeviceConflict> findVDeviceConflict(Type type, Type like);

/// Whether a tensor, or one in a tuple, leaves its device open.
bool hasOpenVDevice(Type type);

/// isSubtype, where a device that `sub` leaves open may turn out to be that of
/// `super`: `relax-realize-vdevice` makes it so, or reports why not.
Ternary isSubtypeBeforeRealize(Type sub, Type super);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_VDEVICE_H
