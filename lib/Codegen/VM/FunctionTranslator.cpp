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
// Cases: steps of the runtime, which operations describe themselves
// (`RuntimeStepOpInterface`); tensors and kernels; values; integers; calls;
// control flow.
//
//===----------------------------------------------------------------------===//

#include "FunctionTranslator.h"

#include "relax-mlir/Analysis/HostProgram.h"
#include "relax-mlir/Analysis/Sites.h"
#include "relax-mlir/IR/RuntimeSteps.h"
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
  LogicalResult translate(CallKernelOp op);
  LogicalResult translate(CallOp op);
  LogicalResult translate(CallPackedOp op);
  LogicalResult translate(relax::CastOp op);
  LogicalResult translate(DimOp op);
  LogicalResult translate(DTypeOp op);
  LogicalResult translate(ExternFuncOp op);
  LogicalResult translate(IfOp op);
  LogicalResult translate(KillOp op);
  LogicalResult translate(LoadConstantOp op);
  LogicalResult translate(MakePrimOp op);
  LogicalResult translate(MakeShapeOp op);
  LogicalResult translate(NullValueOp op);
  LogicalResult translate(PrimValueOp op);
  LogicalResult translate(ReturnOp op);
  LogicalResult translate(ShapeOfOp op);
  LogicalResult translate(StringOp op);
  LogicalResult translate(TagOp op);
  LogicalResult translate(ToDeviceOp op);
  LogicalResult translate(YieldOp op);
  void translateSteps(RuntimeStepOpInterface op);
  LogicalResult translateArith(Operation *op);
  LogicalResult translateCompare(arith::CmpIOp op);

  Operand get(const StepOperand &operand);
  /// The number in a primitive value: an integer, or the bits of a double.
  Operand getScalar(Value prim, Type param);

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

//===----------------------------------------------------------------------===//
// Steps of the runtime
//===----------------------------------------------------------------------===//

Operand Translator::get(const StepOperand &operand) {
  switch (operand.kind) {
  case StepOperand::SSAValue:
    return get(operand.value);
  case StepOperand::Int32:
  case StepOperand::Int64:
    return Operand::integer(operand.number);
  case StepOperand::DType:
    return dtypeOperand(operand.dtype);
  case StepOperand::Text:
    return Operand::string(operand.text);
  case StepOperand::Function:
    return Operand::function(operand.text);
  case StepOperand::List:
    return getList(operand.elements);
  }
  llvm_unreachable("unknown kind of operand");
}

void Translator::translateSteps(RuntimeStepOpInterface op) {
  SmallVector<RuntimeStep, 2> steps;
  op.getRuntimeSteps(steps);
  for (const RuntimeStep &step : steps) {
    Operands operands = {site(step.what, step.expected)};
    for (const StepOperand &operand : step.operands)
      operands.push_back(get(operand));
    builtin(op->getNumResults() == 0 ? Operand() : define(op), step.builtin,
            operands);
  }
}

//===----------------------------------------------------------------------===//
// Tensors and kernels
//===----------------------------------------------------------------------===//

LogicalResult Translator::translate(DimOp op) {
  Operand where = site("dim"), value = get(op.getValue());
  builtin(define(op), "dim", {where, value, Operand::integer(op.getIndex())});
  return success();
}

LogicalResult Translator::translate(TagOp op) {
  Operand where = site("adt_tag"), value = get(op.getValue());
  builtin(define(op), "adt_tag", {where, value});
  return success();
}

LogicalResult Translator::translate(ToDeviceOp op) {
  if (mayAliasConstant(op))
    values[op.getResult()] = get(op.getData());
  else
    translateSteps(op);
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

Operand Translator::getScalar(Value prim, Type param) {
  Operand value = get(prim), number = newSlot(), where = site("kernel");
  builtin(number, isa<FloatType>(param) ? "prim_float" : "prim_int",
          {where, value});
  return number;
}

LogicalResult Translator::translate(CallKernelOp op) {
  FailureOr<func::FuncOp> kernel = getKernel(op);
  if (failed(kernel))
    return failure();
  Operands operands;
  auto add = [&](Operand operand, const char *role) {
    operand.role = role;
    operands.push_back(operand);
  };
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    if (isa<PrimStructInfoType>(input.getType()))
      add(getScalar(input, kernel->getArgumentTypes()[index]), "scalar ");
    else
      add(get(input), op.isUpdated(index) ? "update " : "read ");
  }
  for (Value number : op.getInts())
    add(get(number), "scalar ");
  for (Value output : op.getOutputs())
    add(get(output), "write ");
  StringRef callee = getKernelDevice(*kernel) ? "device_kernel " : "kernel ";
  call(Operand(), (callee + quote(op.getCallee())).str(), operands,
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
  bool isBool = op.getResult().getType().getDtype().isInteger(1);
  if (value.kind != Operand::Integer)
    builtin(define(op), isBool ? "prim_set_bool" : "prim_set_int", {value});
  else if (isBool)
    setConstant(op, value.value ? "bool true" : "bool false");
  else
    setConstant(op, "int " + Twine(value.value));
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

LogicalResult Translator::translate(relax::CastOp op) {
  values[op.getResult()] = get(op.getValue());
  return success();
}

LogicalResult Translator::translate(KillOp) { return success(); }

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

LogicalResult Translator::translateCompare(arith::CmpIOp op) {
  StringRef name = arith::stringifyCmpIPredicate(op.getPredicate());
  if (name.starts_with("u"))
    return op->emitOpError() << "cannot be translated to bytecode: expected a "
                                "comparison of signed integers";
  name.consume_front("s"); // of slt
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
  call(define(op), functionName(*op.getCallee()), args, callSite("call"));
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

LogicalResult Translator::translate(IfOp op) {
  // What a comparison of integers gives is jumped on as it is.
  auto prim = op.getCond().getDefiningOp<MakePrimOp>();
  Operand condition = prim ? get(prim.getValue()) : Operand();
  if (!prim || condition.kind == Operand::Integer)
    condition = load(op.getCond());
  if (isReturned(op.getResult()))
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
      .Case<CallKernelOp, CallOp, CallPackedOp, relax::CastOp, DimOp, DTypeOp,
            ExternFuncOp, IfOp, KillOp, LoadConstantOp, MakePrimOp, MakeShapeOp,
            NullValueOp, PrimValueOp, ReturnOp, ShapeOfOp, StringOp, TagOp,
            ToDeviceOp, YieldOp>([&](auto op) { return translate(op); })
      .Case([&](RuntimeStepOpInterface op) {
        translateSteps(op);
        return success();
      })
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
  if (failed(verifyHostProgram(func)))
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
