//===- Sharding.cpp - Distributed tensors -----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Meshes, placements and shardings: text form and verification; shardings in
// types; the operators that change them. The rules of other operators are in
// Inference/Sharding.cpp.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Sharding.h"

#include "relax-mlir/IR/PrimExprFacts.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

using EmitAttrError = llvm::function_ref<InFlightDiagnostic()>;

LogicalResult DeviceMeshAttr::verify(EmitAttrError emitError,
                                     ArrayRef<int64_t> shape,
                                     ArrayRef<int64_t> deviceIds) {
  // More devices than there can be are refused before they are multiplied.
  constexpr int64_t kMostDevices = 1 << 20;
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 1 || extent > kMostDevices)
      return emitError() << "expected extents of a mesh from 1 to "
                         << kMostDevices << ", but got " << extent;
    count = std::min(count * extent, kMostDevices + 1);
  }
  if (count != static_cast<int64_t>(deviceIds.size()))
    return emitError() << "expected as many devices as the extents of the mesh "
                          "multiply to, but got "
                       << deviceIds.size();
  llvm::SmallDenseSet<int64_t, 8> seen;
  for (int64_t id : deviceIds) {
    if (id < 0 || id > INT32_MAX)
      return emitError() << "expected device ids from 0 to " << INT32_MAX
                         << ", but got " << id;
    if (!seen.insert(id).second)
      return emitError() << "expected distinct device ids, but got " << id
                         << " twice";
  }
  return success();
}

static ParseResult parseIntegers(AsmParser &parser,
                                 SmallVectorImpl<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(values.emplace_back());
  });
}

Attribute DeviceMeshAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape, ids;
  if (parser.parseLess() || parseIntegers(parser, shape) ||
      parser.parseComma() || parseIntegers(parser, ids) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<DeviceMeshAttr>(loc, parser.getContext(),
                                           ArrayRef<int64_t>(shape),
                                           ArrayRef<int64_t>(ids));
}

void DeviceMeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getShape(), printer.getStream());
  printer << "], [";
  llvm::interleaveComma(getDeviceIds(), printer.getStream());
  printer << "]>";
}

LogicalResult PlacementAttr::verify(EmitAttrError emitError,
                                    ArrayRef<int64_t> axes) {
  for (int64_t axis : axes)
    if (axis < kReplica)
      return emitError() << "expected an axis of 0 or more, but got " << axis;
  return success();
}

/// Parses "S[0]" or "R".
static ParseResult parsePlacementAxis(AsmParser &parser, int64_t &axis) {
  axis = PlacementAttr::kReplica;
  if (succeeded(parser.parseOptionalKeyword("R")))
    return success();
  if (parser.parseKeyword("S", " or 'R' in a placement") ||
      parser.parseLSquare())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(axis) || parser.parseRSquare())
    return failure();
  if (axis >= 0)
    return success();
  return parser.emitError(loc, "expected an axis of 0 or more, but got ")
         << axis;
}

/// Parses "[S[0], R]"; null after an error.
static PlacementAttr parsePlacementAxes(AsmParser &parser) {
  SmallVector<int64_t> axes;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parsePlacementAxis(parser, axes.emplace_back());
      }))
    return {};
  return PlacementAttr::get(parser.getContext(), ArrayRef<int64_t>(axes));
}

Attribute PlacementAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  PlacementAttr placement = parsePlacementAxes(parser);
  if (!placement || parser.parseGreater())
    return {};
  return placement;
}

std::string PlacementAttr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(getAxes(), os, [&](int64_t axis) {
    if (axis == kReplica)
      os << 'R';
    else
      os << "S[" << axis << ']';
  });
  return text;
}

void PlacementAttr::print(AsmPrinter &printer) const {
  printer << "<[" << str() << "]>";
}

LogicalResult ShardingAttr::verify(EmitAttrError emitError, DeviceMeshAttr mesh,
                                   PlacementAttr placement) {
  if (mesh.getShape().size() == placement.getAxes().size())
    return success();
  return emitError() << "expected an entry of the placement for each of the "
                     << mesh.getShape().size()
                     << " dimensions of the mesh, but got '" << placement.str()
                     << "'";
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  PlacementAttr placement = parsePlacementAxes(parser);
  DeviceMeshAttr mesh;
  if (!placement || parser.parseKeyword("on") ||
      parser.parseCustomAttributeWithFallback(mesh) || parser.parseGreater())
    return {};
  return parser.getChecked<ShardingAttr>(loc, parser.getContext(), mesh,
                                         placement);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<[" << getPlacement().str() << "] on ";
  printer.printStrippedAttrOrType(getMesh());
  printer << '>';
}

std::optional<unsigned> ShardingAttr::getMeshDim(int64_t axis) const {
  for (auto [dim, cut] : llvm::enumerate(getPlacement().getAxes()))
    if (cut == axis)
      return dim;
  return std::nullopt;
}

int64_t ShardingAttr::getNumParts(int64_t axis) const {
  int64_t count = 1;
  for (auto [extent, cut] :
       llvm::zip(getMesh().getShape(), getPlacement().getAxes()))
    if (cut == axis)
      count *= extent;
  return count;
}

bool ShardingAttr::isReplicated() const {
  return llvm::all_of(getPlacement().getAxes(), [](int64_t axis) {
    return axis == PlacementAttr::kReplica;
  });
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

ShardingAttr mlir::relax::getSharding(Type type) {
  auto tensor = dyn_cast<TensorStructInfoType>(type);
  return tensor ? tensor.getSharding() : ShardingAttr();
}

bool mlir::relax::isDistributed(Type type) {
  if (auto tuple = dyn_cast<TupleStructInfoType>(type))
    return llvm::any_of(tuple.getFields(),
                        [](Type field) { return isDistributed(field); });
  auto func = dyn_cast<FuncStructInfoType>(type);
  if (!func || func.isPacked())
    return static_cast<bool>(getSharding(type));
  return isDistributed(func.getRet()) ||
         llvm::any_of(func.getParams(),
                      [](Type param) { return isDistributed(param); });
}

bool mlir::relax::isDistributed(TypeRange types) {
  return llvm::any_of(types, [](Type type) { return isDistributed(type); });
}

std::optional<int64_t> mlir::relax::findMissingAxis(PlacementAttr placement,
                                                    int64_t ndim) {
  for (int64_t axis : placement.getAxes())
    if (axis >= std::max<int64_t>(ndim, 0))
      return axis;
  return std::nullopt;
}

Type mlir::relax::eraseShardings(Type type) {
  if (!isDistributed(type))
    return type;
  if (auto tensor = dyn_cast<TensorStructInfoType>(type))
    return tensor.withSharding({});
  auto eraseAll = [](ArrayRef<Type> types) {
    return llvm::map_to_vector(types, eraseShardings);
  };
  if (auto tuple = dyn_cast<TupleStructInfoType>(type))
    return TupleStructInfoType::get(type.getContext(),
                                    eraseAll(tuple.getFields()));
  auto func = cast<FuncStructInfoType>(type);
  return FuncStructInfoType::get(eraseAll(func.getParams()),
                                 eraseShardings(func.getRet()), func.getPure());
}

PrimExprAttr mlir::relax::getPart(PrimExprAttr dim, int64_t count) {
  PrimExprAttr divisor = PrimExprAttr::getInt(dim.getContext(), count);
  PrimExprAttr part = PrimExprAttr::getFloorDiv(dim, divisor);
  bool hasRest =
      proveEqual(PrimExprAttr::getMul(part, divisor), dim) == Ternary::No;
  return hasRest ? PrimExprAttr() : part;
}

FailureOr<Type>
mlir::relax::getLocalType(Type type,
                          function_ref<InFlightDiagnostic()> emitError) {
  if (auto tuple = dyn_cast<TupleStructInfoType>(type)) {
    SmallVector<Type> fields;
    for (Type field : tuple.getFields()) {
      FailureOr<Type> local = getLocalType(field, emitError);
      if (failed(local))
        return failure();
      fields.push_back(*local);
    }
    return Type(TupleStructInfoType::get(type.getContext(), fields));
  }
  ShardingAttr sharding = getSharding(type);
  if (!sharding)
    return type;
  auto tensor = cast<TensorStructInfoType>(type);
  if (sharding.isReplicated())
    return Type(tensor.withSharding({}));
  if (!tensor.hasShape())
    return emitError() << "expected a tensor of known shape, since it is cut, "
                          "but got "
                       << type;
  SmallVector<PrimExprAttr> dims(tensor.getDims());
  for (auto [axis, dim] : llvm::enumerate(dims)) {
    int64_t count = sharding.getNumParts(axis);
    PrimExprAttr part = count == 1 ? dim : getPart(dim, count);
    if (!part)
      return emitError() << "expected dimension " << axis
                         << " to be a multiple of " << count
                         << ", the devices that share it, but got " << dim.str()
                         << " in " << type;
    dim = part;
  }
  return Type(
      TensorStructInfoType::get(ShapeExprAttr::get(type.getContext(), dims),
                                tensor.getDtype(), tensor.getVdevice()));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// The sharding of `tensor` on a mesh, where it fits.
static FailureOr<ShardingAttr> makeSharding(OptionalLoc location,
                                            TensorStructInfoType tensor,
                                            DeviceMeshAttr mesh,
                                            PlacementAttr placement) {
  auto emitError = [&] {
    return mlir::emitError(
        location.value_or(UnknownLoc::get(tensor.getContext())));
  };
  if (!location) { // nobody wants to know why
    if (mesh.getShape().size() != placement.getAxes().size())
      return failure();
  } else if (failed(ShardingAttr::verify(emitError, mesh, placement))) {
    return failure();
  }
  if (auto axis = findMissingAxis(placement, tensor.getNdim()))
    return inferError(location, "expected input of rank ", *axis + 1,
                      " or more for the placement ", placement.str(),
                      ", but got ", Type(tensor));
  return ShardingAttr::get(tensor.getContext(), mesh, placement);
}

LogicalResult AnnotateShardingOp::inferReturnTypes(MLIRContext *,
                                                   OptionalLoc location,
                                                   Adaptor adaptor,
                                                   InferredTypes &results) {
  TensorStructInfoType input = tensorType(adaptor.getInput());
  if (failed(makeSharding(location, input, adaptor.getDeviceMesh(),
                          adaptor.getPlacement())))
    return failure();
  results.push_back(input);
  return success();
}

LogicalResult RedistributeOp::inferReturnTypes(MLIRContext *,
                                               OptionalLoc location,
                                               Adaptor adaptor,
                                               InferredTypes &results) {
  TensorStructInfoType input = tensorType(adaptor.getInput());
  FailureOr<ShardingAttr> sharding = makeSharding(
      location, input, adaptor.getDeviceMesh(), adaptor.getPlacement());
  if (failed(sharding))
    return failure();
  results.push_back(input.withSharding(*sharding));
  return success();
}

/// Of a distributed tensor: a replica on a mesh of one dimension is cut.
static LogicalResult inferCutReplica(OptionalLoc location,
                                     TensorStructInfoType input, int64_t count,
                                     int64_t axis, InferredTypes &results) {
  ShardingAttr sharding = input.getSharding();
  DeviceMeshAttr mesh = sharding.getMesh();
  if (mesh.getShape().size() != 1 || mesh.getShape()[0] != count)
    return inferError(location, "expected a mesh of ", count,
                      " devices in one dimension, but got ", mesh);
  if (!sharding.isReplicated())
    return inferError(location, "expected input to be a replica, but got ",
                      Type(input));
  auto cut = PlacementAttr::get(input.getContext(), axis);
  results.push_back(
      input.withSharding(ShardingAttr::get(input.getContext(), mesh, cut)));
  return success();
}

LogicalResult RedistributeReplicaToShardOp::inferReturnTypes(
    MLIRContext *, OptionalLoc location, Adaptor adaptor,
    InferredTypes &results) {
  TensorStructInfoType input = tensorType(adaptor.getInput());
  int64_t count = adaptor.getNumWorkers();
  if (count < 1)
    return inferError(location, "expected num_workers of 1 or more, but got ",
                      count);
  if (!input.hasRank()) {
    results.push_back(withRank(input, input.getNdim()));
    return success();
  }
  FailureOr<int64_t> axis =
      normalizeAxis(location, adaptor.getAxis(), input.getNdim());
  if (failed(axis))
    return failure();
  PrimExprAttr part = input.hasShape() ? getPart(input.getDims()[*axis], count)
                                       : PrimExprAttr();
  if (input.hasShape() && !part)
    return inferError(location, "expected num_workers that divides dimension ",
                      *axis, ", but got ", count, " and ", Type(input));
  if (input.getSharding())
    return inferCutReplica(location, input, count, *axis, results);
  if (!input.hasShape()) {
    results.push_back(withRank(input, input.getNdim()));
    return success();
  }
  SmallVector<PrimExprAttr> dims(input.getDims());
  dims[*axis] = part;
  results.push_back(withDims(input, dims));
  return success();
}
