//===- Wrap.h - From the types of the C interface and back ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CAPI_WRAP_H
#define RELAX_MLIR_LIB_CAPI_WRAP_H

#include "relax-mlir-c/Dialect.h"

#include "relax-mlir/IR/PrimExprFacts.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"

namespace mlir::relax {

using ::wrap; // which overloads below would hide

/// The context with the dialect in it: types of a dialect that is not loaded
/// cannot be made.
inline MLIRContext *loaded(MlirContext context) {
  MLIRContext *unwrapped = unwrap(context);
  unwrapped->getOrLoadDialect<RelaxDialect>();
  return unwrapped;
}

inline Location loaded(MlirLocation location) {
  Location unwrapped = unwrap(location);
  unwrapped->getContext()->getOrLoadDialect<RelaxDialect>();
  return unwrapped;
}

inline PrimExprAttr expr(MlirAttribute attr) {
  return cast<PrimExprAttr>(unwrap(attr));
}

template <typename T> T structInfo(MlirType type) {
  return cast<T>(unwrap(type));
}

inline SmallVector<Type> unwrapTypes(intptr_t count, MlirType const *types) {
  return llvm::map_to_vector(ArrayRef(types, count),
                             [](MlirType type) { return unwrap(type); });
}

inline SmallVector<PrimExprAttr> exprs(intptr_t count,
                                       MlirAttribute const *attrs) {
  return llvm::map_to_vector(ArrayRef(attrs, count), expr);
}

inline MlirRelaxTernary wrap(Ternary answer) {
  return static_cast<MlirRelaxTernary>(answer);
}

inline MlirStringRef wrap(FlatSymbolRefAttr symbol) {
  return wrap(symbol ? symbol.getValue() : StringRef());
}

inline MlirStringRef wrapName(StringAttr name) {
  return wrap(name ? name.getValue() : StringRef());
}

inline StringAttr stringOrNull(MLIRContext *context, MlirStringRef text) {
  return text.length == 0 ? StringAttr()
                          : StringAttr::get(context, unwrap(text));
}

inline void reportSorted(const llvm::StringSet<> &names,
                         MlirRelaxNameCallback callback, void *userData) {
  SmallVector<StringRef> sorted(names.keys());
  llvm::sort(sorted);
  for (StringRef name : sorted)
    callback(wrap(name), userData);
}

inline PrimExprFacts &facts(MlirRelaxPrimExprFacts facts) {
  return *static_cast<PrimExprFacts *>(facts.ptr);
}

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CAPI_WRAP_H
