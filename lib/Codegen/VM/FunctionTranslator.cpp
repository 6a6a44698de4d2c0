//===- FunctionTranslator.cpp - A function as instructions ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk over a function. A Relax value is a register, or a constant that no
// instruction makes; an `i64` is a heap slot or an integer. Casts are the
// values that they look at. `relax.builtin.kill` says nothing new: where values
// die is found from their uses, on each path.
//
// Where the result of `relax.if` is what the function returns, its branches
// return, so that calls at their ends are tail calls.
//
// Cases: checks; tensors and kernels; values; integers; calls; control flow.
//
//===----------------------------------------------------------------------===//

#include "FunctionTranslator.h"

#include "relax-mlir/Analysis/Devices.h"
#include "relax-mlir/Analysis/Sites.h"
#include "relax-mlir/IR/Constants.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/VDevice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::relax;
using namespace mlir::relax::vm;

static constexpr int32_t kCpu = 1; // kDLCPU

using Operands = SmallVector<Operand, 4>;

namespace {
class Translator {
public:
  Translator(FuncOp func, ConstantTable &constants)
      : func(func), constants(constants), loc(func.getLoc()) {}

  FailureOr<FunctionText> translate(bool isNative);

private:
  // Places and instructions.
  Operand newRegister(Type type);
  Operand newSlot();
  /// The register or slot of the only result.
  Operand define(Operation *op);
  void setConstant(Operation *op, const Twine &text);
  Operand get(Value value) { return values.lookup(value); }
  Operands get(ValueRange range);
  Operand getList(ValueRange range) { return Operand::list(get(range)); }
  /// A value as a register.
  Operand load(Value value);
  Operand site(StringRef what, StringRef expected = "");
  /// The site of a call, none where it says no more than that it is one.
  Operand callSite(StringRef what);
  void call(const Operand &result, StringRef callee, ArrayRef<Operand> operands,
            const Operand &site = {});
  void builtin(const Operand &result, StringRef name,
               ArrayRef<Operand> operands) {
    call(result, ("builtin " + name).str(), operands);
  }
  /// One without a result.
  void builtin(StringRef name, ArrayRef<Operand> operands) {
    builtin(Operand(), name, operands);
  }
  void jump(Instruction::Kind kind, int64_t label, ArrayRef<Operand> operands);

  // Operations.
  LogicalResult translateBlock(Block &block);
  LogicalResult translateOp(Operation *op);
  LogicalResult translate(AllocStorageOp op);
  LogicalResult translate(AllocTensorOp op);
  LogicalResult translate(CallKernelOp op);
  LogicalResult translate(CallOp op);
  LogicalResult translate(CallPackedOp op);
  LogicalResult translate(relax::CastOp op);
  LogicalResult translate(CheckBoundsOp op);
  LogicalResult translate(CheckDimOp op);
  LogicalResult translate(CheckDivisorOp op);
  LogicalResult translate(CheckFunctionOp op);
  LogicalResult translate(CheckNotNegativeOp op);
  LogicalResult translate(CheckOp op);
  LogicalResult translate(CheckShapeOp op);
  LogicalResult translate(DimOp op);
  LogicalResult translate(DTypeOp op);
  LogicalResult translate(ExternFuncOp op);
  LogicalResult translate(GetItemOp op);
  LogicalResult translate(IfOp op);
  LogicalResult translate(KillOp op);
  LogicalResult translate(LoadConstantOp op);
  LogicalResult translate(MakeClosureOp op);
  LogicalResult translate(MakePrimOp op);
  LogicalResult translate(MakeShapeOp op);
  LogicalResult translate(NullValueOp op);
  LogicalResult translate(PrimValueOp op);
  LogicalResult translate(ReturnOp op);
  LogicalResult translate(ShapeOfOp op);
  LogicalResult translate(StringOp op);
  LogicalResult translate(ToDeviceOp op);
  LogicalResult translate(TupleOp op);
  LogicalResult translate(ViewOp op);
  LogicalResult translate(YieldOp op);
  LogicalResult translateArith(Operation *op);
  LogicalResult translateCompare(arith::CmpIOp op);

  LogicalResult addScalar(CallKernelOp op, Value prim, Type param,
                          Operands &operands);
  LogicalResult addTensor(CallKernelOp op, Value tensor, Type param,
                          const char *role, Operands &operands);
  std::pair<Operand, Operand> getInfo(FuncStructInfoType type, ArrayAttr names,
                                      ValueRange dims);
  bool isReturned(Operation *op);

  FuncOp func;
  ConstantTable &constants;
  Location loc;
  FunctionText text;
  llvm::DenseMap<Value, Operand> values;
  llvm::StringMap<int64_t> sites;
  /// `relax.if` whose branches return.
  llvm::DenseSet<Operation *> returning;
};
} // namespace

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

int64_t ConstantTable::getIndex(StringRef text) {
  auto [it, isNew] = indices.try_emplace(text, numPooled + texts.size());
  if (isNew)
    texts.push_back(text.str());
  return it->second;
}

void ConstantTable::print(raw_ostream &os) const {
  for (auto [index, text] : llvm::enumerate(texts))
    os << "constant #" << numPooled + index << " = " << text << "\n";
}

//===----------------------------------------------------------------------===//
// Places and instructions
//===----------------------------------------------------------------------===//

Operand Translator::newRegister(Type type) {
  int64_t number = text.registers.size();
  text.registers.push_back(
      {/*holdsMemory=*/!isa<PrimStructInfoType, ShapeStructInfoType>(type)});
  return Operand::reg(number);
}

Operand Translator::newSlot() {
  int64_t number = text.slots.size();
  text.slots.emplace_back();
  return Operand::slot(number);
}

Operand Translator::define(Operation *op) {
  Value result = op->getResult(0);
  Operand place = isa<StructInfoTypeInterface>(result.getType())
                      ? newRegister(result.getType())
                      : newSlot();
  values[result] = place;
  return place;
}

void Translator::setConstant(Operation *op, const Twine &text) {
  values[op->getResult(0)] = Operand::constant(constants.getIndex(text.str()));
}

Operands Translator::get(ValueRange range) {
  return llvm::map_to_vector<4>(range, [&](Value v) { return get(v); });
}

Operand Translator::load(Value value) {
  Operand held = get(value);
  if (held.kind == Operand::Register)
    return held;
  Operand result = newRegister(value.getType());
  builtin(result, "value_assign", {held});
  return result;
}

Operand Translator::site(StringRef what, StringRef expected) {
  SiteText site{what.str(), expected.str(), getLocationText(loc)};
  StringRef fields[] = {site.what, site.expected, site.location};
  auto [it, isNew] = sites.try_emplace(
      llvm::join(ArrayRef(fields), StringRef("\0", 1)), text.sites.size());
  if (isNew)
    text.sites.push_back(site);
  return Operand::site(it->second);
}

Operand Translator::callSite(StringRef what) {
  return getLocationText(loc).empty() ? Operand() : site(what);
}

void Translator::call(const Operand &result, StringRef callee,
                      ArrayRef<Operand> operands, const Operand &site) {
  Instruction instruction;
  instruction.result = result;
  instruction.callee = callee.str();
  instruction.operands.assign(operands.begin(), operands.end());
  instruction.site = site;
  text.code.push_back(std::move(instruction));
}

void Translator::jump(Instruction::Kind kind, int64_t label,
                      ArrayRef<Operand> operands) {
  Instruction instruction;
  instruction.kind = kind;
  instruction.operands.assign(operands.begin(), operands.end());
  instruction.label = label;
  text.code.push_back(std::move(instruction));
}

static Operand dtypeOperand(Type dtype) {
  return Operand::dtype(dtype ? getDataTypeName(dtype) : "void");
}

/// The kind and the number of a device, as DLPack counts them.
static std::pair<Operand, Operand> deviceOperands(VDeviceAttr device) {
  if (!device)
    return {Operand::integer(kCpu), Operand::integer(0)};
  return {Operand::integer(getDLDeviceType(device).value_or(kCpu)),
          Operand::integer(device.getDevId())};
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult Translator::translate(CheckOp op) {
  Operand where = site(op.getWhat(), op.getExpected());
  Operand value = get(op.getValue());
  // Without virtual devices all tensors are on the host; with them, those that
  // name none may be on any.
  DictionaryAttr listed = getGlobalInfo(func);
  bool isAny = !op.getDeviceAttr() && listed && !listed.empty();
  llvm::TypeSwitch<Type>(op.getType())
      .Case([&](TensorStructInfoType type) {
        auto [kind, id] = deviceOperands(op.getDeviceAttr());
        builtin("tensor_check", {where, value, Operand::integer(type.getNdim()),
                                 dtypeOperand(type.getDtype()),
                                 isAny ? Operand::integer(0) : kind, id});
      })
      .Case([&](ShapeStructInfoType type) {
        builtin("shape_check",
                {where, value, Operand::integer(type.getNdim())});
      })
      .Case([&](PrimStructInfoType type) {
        builtin("prim_check", {where, value, dtypeOperand(type.getDtype())});
      })
      .Case([&](TupleStructInfoType type) {
        builtin("tuple_check",
                {where, value, Operand::integer(type.getFields().size())});
      })
      .Case([&](FuncStructInfoType) {
        builtin("function_check", {where, value});
      });
  return success();
}

/// The run-time StructInfo of a function type and the captured dimensions.
std::pair<Operand, Operand>
Translator::getInfo(FuncStructInfoType type, ArrayAttr names, ValueRange dims) {
  std::string info = toRuntimeStructInfo(
      type, llvm::to_vector(names.getAsValueRange<StringAttr>()),
      getGlobalInfo(func));
  return {Operand::string(info), getList(dims)};
}

LogicalResult Translator::translate(CheckFunctionOp op) {
  auto type = cast<FuncStructInfoType>(op.getType());
  Operand where = site(op.getWhat(), toString(type));
  Operand value = get(op.getValue());
  if (type.isPacked()) {
    builtin("packed_check", {where, value});
    return success();
  }
  auto [info, dims] = getInfo(type, op.getNames(), op.getDims());
  builtin("closure_check", {where, value, info, dims});
  return success();
}

LogicalResult Translator::translate(CheckShapeOp op) {
  builtin("shape_equal_check", {site(op.getWhat(), op.getExpected()),
                                get(op.getValue()), get(op.getShape())});
  return success();
}

LogicalResult Translator::translate(CheckDimOp op) {
  builtin("dim_check",
          {site(op.getWhat(), op.getExpected()),
           Operand::integer(op.getIndex()), Operand::string(op.getExpr()),
           get(op.getWanted()), get(op.getActual())});
  return success();
}

LogicalResult Translator::translate(CheckBoundsOp op) {
  std::string name = op.getName().str();
  auto check = [&](StringRef callee, StringRef relation,
                   std::optional<int64_t> end, StringRef attribute) {
    if (!end)
      return;
    std::string expected = name + relation.str() + std::to_string(*end);
    std::string expr = attribute.str() + "['" + name + "']";
    builtin(callee, {site("shape variable '" + name + "'", expected),
                     Operand::string(expr), Operand::integer(*end),
                     get(op.getValue())});
  };
  check("lower_bound_check", " >= ", op.getLower(), RelaxDialect::kLowerBound);
  check("upper_bound_check", " <= ", op.getUpper(), RelaxDialect::kUpperBound);
  return success();
}

LogicalResult Translator::translate(CheckNotNegativeOp op) {
  builtin("lower_bound_check",
          {site(op.getWhat(), (op.getExpr() + " >= 0").str()),
           Operand::string(""), Operand::integer(0), get(op.getValue())});
  return success();
}

LogicalResult Translator::translate(CheckDivisorOp op) {
  builtin("divisor_check",
          {site("dimension " + op.getExpr().str()), get(op.getDivisor())});
  return success();
}

LogicalResult Translator::translate(DimOp op) {
  Operand where = site("dim"), value = get(op.getValue());
  builtin(define(op), "dim", {where, value, Operand::integer(op.getIndex())});
  return success();
}

//===----------------------------------------------------------------------===//
// Tensors and kernels
//===----------------------------------------------------------------------===//

LogicalResult Translator::translate(AllocStorageOp op) {
  if (!op.getBytes())
    return op.emitOpError() << "cannot be translated to bytecode: run "
                               "relax-lower-shapes before";
  auto [kind, id] = deviceOperands(op.getDeviceAttr());
  Operand where = site("alloc_storage"), bytes = get(op.getBytes());
  builtin(define(op), "storage_alloc", {where, bytes, kind, id});
  return success();
}

LogicalResult Translator::translate(ViewOp op) {
  Operand where = site("view"), data = get(op.getData());
  Operand dims = getList(op.getDims());
  builtin(define(op), "tensor_view", {where, data, dims});
  return success();
}

LogicalResult Translator::translate(AllocTensorOp op) {
  if (Value storage = op.getStorage()) {
    Operand where = site("alloc_tensor"), dims = getList(op.getDims());
    builtin(define(op), "tensor_from_storage",
            {where, get(storage), Operand::integer(op.getOffset().value_or(0)),
             dims, dtypeOperand(op.getResult().getType().getDtype())});
    return success();
  }
  auto [kind, id] = deviceOperands(op.getDeviceAttr());
  Operand where = site("alloc_tensor"), dims = getList(op.getDims());
  builtin(define(op), "tensor_alloc",
          {where, dims, dtypeOperand(op.getResult().getType().getDtype()), kind,
           id});
  return success();
}

LogicalResult Translator::translate(ToDeviceOp op) {
  Operand data = get(op.getData());
  // Kernels read the memory of any device of this target.
  if (op.getData().getDefiningOp<LoadConstantOp>() &&
      isOnlyRead(op.getResult()) &&
      llvm::none_of(op->getUsers(), llvm::IsaPred<CheckOp>)) {
    values[op.getResult()] = data;
    return success();
  }
  auto [kind, id] = deviceOperands(op.getDevice());
  Operand where = site("to_vdevice");
  builtin(define(op), "tensor_to_device", {where, data, kind, id});
  return success();
}

LogicalResult Translator::translate(LoadConstantOp op) {
  Operand constant = Operand::constant(op.getIndex());
  if (!op.getFresh()) {
    values[op.getResult()] = constant;
    return success();
  }
  Operand where = site("constant");
  builtin(define(op), "constant_get", {where, constant, Operand::integer(1)});
  return success();
}

/// The number in a primitive value: an integer, or the bits of a double.
LogicalResult Translator::addScalar(CallKernelOp op, Value prim, Type param,
                                    Operands &operands) {
  if (!isa<IntegerType, FloatType>(param))
    return op.emitOpError()
           << "expected parameter " << operands.size() << " of "
           << op.getCallee() << " to be a scalar, but got " << param;
  Operand value = get(prim), number = newSlot(), where = site("kernel");
  builtin(number, isa<FloatType>(param) ? "prim_float" : "prim_int",
          {where, value});
  number.role = "scalar ";
  operands.push_back(number);
  return success();
}

LogicalResult Translator::addTensor(CallKernelOp op, Value tensor, Type param,
                                    const char *role, Operands &operands) {
  // Kernels on tensors are not bufferized yet.
  auto shaped = dyn_cast<ShapedType>(param);
  int64_t ndim = cast<TensorStructInfoType>(tensor.getType()).getNdim();
  if (!shaped || !shaped.hasRank() || shaped.getRank() != ndim)
    return op.emitOpError()
           << "expected parameter " << operands.size() << " of "
           << op.getCallee() << " to be a memref of rank " << ndim
           << ", but got " << param;
  operands.push_back(get(tensor));
  operands.back().role = role;
  return success();
}

LogicalResult Translator::translate(CallKernelOp op) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getCalleeAttr());
  if (!kernel)
    return op.emitOpError()
           << "expected " << op.getCalleeAttr() << " to be a func.func";
  size_t count =
      op.getInputs().size() + op.getInts().size() + op.getOutputs().size();
  if (kernel.getNumArguments() != count)
    return op.emitOpError() << "expected " << kernel.getNumArguments()
                            << " values for the kernel";
  Operands operands;
  auto param = [&] { return kernel.getArgumentTypes()[operands.size()]; };
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    const char *role = op.isUpdated(index) ? "update " : "read ";
    if (failed(isa<PrimStructInfoType>(input.getType())
                   ? addScalar(op, input, param(), operands)
                   : addTensor(op, input, param(), role, operands)))
      return failure();
  }
  for (Value number : op.getInts()) {
    operands.push_back(get(number));
    operands.back().role = "scalar ";
  }
  for (Value output : op.getOutputs())
    if (failed(addTensor(op, output, param(), "write ", operands)))
      return failure();
  call(Operand(), "kernel " + quote(op.getCallee()), operands,
       callSite("kernel"));
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

LogicalResult Translator::translate(PrimValueOp op) {
  if (auto number = dyn_cast<FloatAttr>(op.getValue())) {
    double value = number.getValueAsDouble();
    std::string digits;
    llvm::raw_string_ostream os(digits);
    if (std::isfinite(value))
      os << llvm::format("%.17g", value);
    else
      os << llvm::format_hex(llvm::bit_cast<uint64_t>(value), 18);
    setConstant(op, "float " + digits);
    return success();
  }
  auto integer = cast<IntegerAttr>(op.getValue());
  if (integer.getType().isInteger(1))
    setConstant(op, integer.getValue().isZero() ? "bool false" : "bool true");
  else
    setConstant(op, "int " + Twine(integer.getType().isUnsignedInteger()
                                       ? static_cast<int64_t>(
                                             integer.getValue().getZExtValue())
                                       : integer.getValue().getSExtValue()));
  return success();
}

LogicalResult Translator::translate(MakePrimOp op) {
  Operand value = get(op.getValue());
  if (value.kind == Operand::Integer) {
    setConstant(op, "int " + Twine(value.value));
    return success();
  }
  builtin(define(op), "prim_set_int", {value});
  return success();
}

LogicalResult Translator::translate(MakeShapeOp op) {
  Operands dims = get(op.getDims());
  bool isStatic = llvm::all_of(dims, [](const Operand &dim) {
    return dim.kind == Operand::Integer && dim.value >= 0;
  });
  if (!isStatic) {
    builtin(define(op), "shape_make", {Operand::list(dims)});
    return success();
  }
  std::string shape;
  llvm::raw_string_ostream os(shape);
  llvm::interleaveComma(dims, os, [&](const Operand &d) { os << d.value; });
  setConstant(op, "shape [" + shape + "]");
  return success();
}

LogicalResult Translator::translate(ShapeOfOp op) {
  Operand where = site("shape_of"), tensor = get(op.getTensor());
  builtin(define(op), "shape_of", {where, tensor});
  return success();
}

LogicalResult Translator::translate(StringOp op) {
  setConstant(op, "string " + quote(op.getValue()));
  return success();
}

LogicalResult Translator::translate(DTypeOp op) {
  setConstant(op, "dtype " + getDataTypeName(op.getValue()));
  return success();
}

LogicalResult Translator::translate(NullValueOp op) {
  setConstant(op, "none");
  return success();
}

LogicalResult Translator::translate(TupleOp op) {
  Operand where = site("tuple"), fields = getList(op.getFields());
  builtin(define(op), "tuple_make", {where, fields});
  return success();
}

LogicalResult Translator::translate(GetItemOp op) {
  Operand where = site("get_item"), tuple = get(op.getTupleValue());
  builtin(define(op), "tuple_get",
          {where, tuple, Operand::integer(op.getIndex())});
  return success();
}

LogicalResult Translator::translate(relax::CastOp op) {
  values[op.getResult()] = get(op.getValue());
  return success();
}

LogicalResult Translator::translate(KillOp) { return success(); }

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

LogicalResult Translator::translateCompare(arith::CmpIOp op) {
  StringRef name;
  switch (op.getPredicate()) {
  case arith::CmpIPredicate::eq:
    name = "eq";
    break;
  case arith::CmpIPredicate::ne:
    name = "ne";
    break;
  case arith::CmpIPredicate::slt:
    name = "lt";
    break;
  case arith::CmpIPredicate::sle:
    name = "le";
    break;
  case arith::CmpIPredicate::sgt:
    name = "gt";
    break;
  case arith::CmpIPredicate::sge:
    name = "ge";
    break;
  default:
    return op.emitOpError() << "cannot be translated to bytecode: expected a "
                               "comparison of signed integers";
  }
  Operands operands = get(op->getOperands());
  builtin(define(op), name, operands);
  return success();
}

/// Truth values are 0 and 1.
LogicalResult Translator::translateArith(Operation *op) {
  bool isSupported = llvm::all_of(op->getResultTypes(), [](Type type) {
    return type.isInteger(64) || type.isInteger(1);
  });
  if (auto constant = dyn_cast<arith::ConstantOp>(op);
      constant && isSupported) {
    APInt value = cast<IntegerAttr>(constant.getValue()).getValue();
    values[constant.getResult()] = Operand::integer(
        value.getBitWidth() == 1 ? value.getZExtValue() : value.getSExtValue());
    return success();
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op);
      compare && compare.getLhs().getType().isInteger(64))
    return translateCompare(compare);
  if (isa<arith::ExtUIOp>(op) && isSupported) {
    values[op->getResult(0)] = get(op->getOperand(0));
    return success();
  }
  StringRef name =
      llvm::TypeSwitch<Operation *, StringRef>(op)
          .Case([](arith::AddIOp) { return "exact_add"; })
          .Case([](arith::SubIOp) { return "exact_sub"; })
          .Case([](arith::MulIOp) { return "exact_mul"; })
          .Case([](arith::FloorDivSIOp) { return "exact_floordiv"; })
          .Case([](arith::MinSIOp) { return "min"; })
          .Case([](arith::MaxSIOp) { return "max"; })
          .Case([](arith::AndIOp) { return "and"; })
          .Case([](arith::OrIOp) { return "or"; })
          .Case([](arith::SelectOp) { return "select"; })
          .Default([](Operation *) { return ""; });
  // Sums of truth values would be more than 1.
  bool isBit = isa<arith::AndIOp, arith::OrIOp, arith::SelectOp>(op);
  if (name.empty() || !isSupported ||
      (!isBit && op->getResult(0).getType().isInteger(1)))
    return op->emitOpError() << "cannot be translated to bytecode: expected "
                                "arithmetic of i64";
  Operands operands = get(op->getOperands());
  if (name.starts_with("exact_"))
    operands.insert(operands.begin(), site(describeExpr(op)));
  builtin(define(op), name, operands);
  return success();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

LogicalResult Translator::translate(ExternFuncOp op) {
  Operand where = site("extern_func");
  builtin(define(op), "function_get",
          {where, Operand::string(op.getGlobalSymbol())});
  return success();
}

LogicalResult Translator::translate(CallPackedOp op) {
  Operands args = get(op.getArgs());
  call(define(op), "packed " + quote(op.getCallee()), args,
       callSite("call_packed"));
  return success();
}

LogicalResult Translator::translate(CallOp op) {
  Operands args = get(op.getArgs());
  if (Value function = op.getFunction()) {
    args.insert(args.begin(), load(function));
    call(define(op), "", args, callSite("call"));
    return success();
  }
  call(define(op), functionName(*op.getCallee()), args);
  return success();
}

LogicalResult Translator::translate(MakeClosureOp op) {
  Operand where = site(("closure '" + op.getCallee() + "'").str());
  auto [info, dims] = getInfo(cast<FuncStructInfoType>(op.getInfo()),
                              op.getNames(), op.getDims());
  Operand captures = getList(op.getCaptures());
  builtin(define(op), "closure_make",
          {where, Operand::function(op.getCallee()), captures, info, dims});
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// Whether nothing but the end of the function comes after an operation, which
/// gives the result.
bool Translator::isReturned(Operation *op) {
  Operation *next = op->getNextNode();
  while (isa_and_nonnull<KillOp>(next))
    next = next->getNextNode();
  if (!isa_and_nonnull<ReturnOp, YieldOp>(next) ||
      next->getOperand(0) != op->getResult(0))
    return false;
  return isa<ReturnOp>(next) || returning.contains(next->getParentOp());
}

LogicalResult Translator::translate(IfOp op) {
  Operand condition = load(op.getCond());
  if (isReturned(op))
    returning.insert(op);
  else
    define(op);
  int64_t otherwise = text.numLabels++, after = text.numLabels++;
  jump(Instruction::If, otherwise, {condition});
  if (failed(translateBlock(op.getThenRegion().front())))
    return failure();
  bool goesOn = !returning.contains(op);
  if (goesOn)
    jump(Instruction::Goto, after, {});
  jump(Instruction::Label, otherwise, {});
  if (failed(translateBlock(op.getElseRegion().front())))
    return failure();
  if (goesOn)
    jump(Instruction::Label, after, {});
  return success();
}

LogicalResult Translator::translate(YieldOp op) {
  Operand value = get(op.getValue());
  if (returning.contains(op->getParentOp()))
    jump(Instruction::Ret, 0, {value});
  else
    builtin(get(op->getParentOp()->getResult(0)), "value_assign", {value});
  return success();
}

LogicalResult Translator::translate(ReturnOp op) {
  jump(Instruction::Ret, 0, {get(op.getValue())});
  return success();
}

LogicalResult Translator::translateOp(Operation *op) {
  loc = op->getLoc();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AllocStorageOp, AllocTensorOp, CallKernelOp, CallOp, CallPackedOp,
            relax::CastOp, CheckBoundsOp, CheckDimOp, CheckDivisorOp,
            CheckFunctionOp, CheckNotNegativeOp, CheckOp, CheckShapeOp, DimOp,
            DTypeOp, ExternFuncOp, GetItemOp, IfOp, KillOp, LoadConstantOp,
            MakeClosureOp, MakePrimOp, MakeShapeOp, NullValueOp, PrimValueOp,
            ReturnOp, ShapeOfOp, StringOp, ToDeviceOp, TupleOp, ViewOp,
            YieldOp>([&](auto op) { return translate(op); })
      .Default([&](Operation *op) -> LogicalResult {
        if (isa_and_nonnull<arith::ArithDialect>(op->getDialect()))
          return translateArith(op);
        return op->emitOpError()
               << "cannot be translated to bytecode: run the phases normalize, "
                  "legalize, memory and shapes before";
      });
}

LogicalResult Translator::translateBlock(Block &block) {
  for (Operation &op : block) {
    if (failed(translateOp(&op)))
      return failure();
    // Its branches returned what comes after it.
    if (returning.contains(&op))
      break;
  }
  return success();
}

static std::string getParameterName(FuncOp func, size_t index) {
  ArrayAttr names = func.getArgNamesAttr();
  auto name = names && index < names.size() ? dyn_cast<StringAttr>(names[index])
                                            : StringAttr();
  return name && !name.empty() ? name.str() : "arg" + std::to_string(index);
}

FailureOr<FunctionText> Translator::translate(bool isNative) {
  if (func.isExternal())
    return func.emitOpError() << "has no body to translate";
  if (failed(verifyDevices(func)))
    return failure();
  text.name = func.getSymName();
  text.isPrivate = func.isPrivate();
  text.numCaptures = func.getNumCaptures();
  if (auto info = RelaxDialect::RuntimeStructInfoAttrHelper(func.getContext())
                      .getAttr(func))
    text.structInfo = info.str();
  for (auto [index, argument] : llvm::enumerate(func.getArguments())) {
    text.params.push_back(getParameterName(func, index));
    values[argument] = newRegister(argument.getType());
    // The caller holds it as well.
    text.registers.back().holdsMemory = false;
  }
  text.isNative = isNative;
  if (!isNative && failed(translateBlock(func.getBody().front())))
    return failure();
  return std::move(text);
}

FailureOr<FunctionText>
mlir::relax::vm::translateFunction(FuncOp func, ConstantTable &constants,
                                   bool isNative) {
  return Translator(func, constants).translate(isNative);
}
