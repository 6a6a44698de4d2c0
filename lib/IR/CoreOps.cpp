//===- CoreOps.cpp - Functions, blocks, values -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentNames.h"
#include "OpFormats.h"

#include "relax-mlir/IR/Alias.h"
#include "relax-mlir/IR/Canonicalize.h"
#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/Purity.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/VDevice.h"
#include "relax-mlir/IR/WellFormed.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// FuncOp: text form
//===----------------------------------------------------------------------===//

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                   FunctionType type, bool isPure) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  if (!isPure)
    state.addAttribute(getIsPureAttrName(state.name),
                       builder.getBoolAttr(false));
  state.addRegion();
}

ArrayAttr
mlir::relax::argumentNames(Builder &builder,
                           ArrayRef<OpAsmParser::Argument> arguments) {
  bool anyName = false;
  SmallVector<StringRef> names;
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    StringRef name = argument.ssaName.name;
    name.consume_front("%");
    bool madeUp = name == ("arg" + Twine(index)).str() ||
                  name.find_first_not_of("0123456789") == StringRef::npos;
    names.push_back(madeUp ? StringRef() : name);
    anyName |= !madeUp;
  }
  return anyName ? builder.getStrArrayAttr(names) : ArrayAttr();
}

/// The arguments of a function: all with names, or all types only.
static ParseResult
parseArguments(OpAsmParser &parser,
               SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Paren, [&]() -> ParseResult {
        SMLoc loc = parser.getCurrentLocation();
        OpAsmParser::Argument argument;
        OptionalParseResult named = parser.parseOptionalArgument(
            argument, /*allowType=*/true, /*allowAttrs=*/true);
        bool isNamed = named.has_value();
        if (isNamed && failed(*named))
          return failure();
        if (!arguments.empty() &&
            isNamed == arguments.front().ssaName.name.empty())
          return parser.emitError(loc, isNamed ? "expected a type without a "
                                                 "name, as in front of it"
                                               : "expected the name of an "
                                                 "argument");
        if (!isNamed) {
          NamedAttrList attributes;
          if (parser.parseType(argument.type) ||
              parser.parseOptionalAttrDict(attributes))
            return failure();
          argument.attrs = attributes.getDictionary(parser.getContext());
        }
        arguments.push_back(argument);
        return success();
      });
}

/// "-> type"; without it the result is to be derived.
static ParseResult parseResults(OpAsmParser &parser, OperationState &state,
                                StringAttr deriveResult,
                                SmallVectorImpl<Type> &types,
                                SmallVectorImpl<DictionaryAttr> &attributes) {
  if (succeeded(parser.parseOptionalArrow()))
    return call_interface_impl::parseFunctionResultList(parser, types,
                                                        attributes);
  state.addAttribute(deriveResult, parser.getBuilder().getUnitAttr());
  types.push_back(ObjectStructInfoType::get(parser.getContext()));
  attributes.emplace_back();
  return success();
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<DictionaryAttr> resultAttrs;
  SmallVector<Type> resultTypes;
  StringAttr name;
  (void)impl::parseOptionalVisibilityKeyword(parser, result.attributes);
  if (succeeded(parser.parseOptionalKeyword("impure")))
    result.addAttribute(getIsPureAttrName(result.name),
                        builder.getBoolAttr(false));
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parseArguments(parser, arguments) ||
      parseResults(parser, result, getDeriveResultAttrName(result.name),
                   resultTypes, resultAttrs))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  NamedAttrList given;
  if (parser.parseOptionalAttrDictWithKeyword(given))
    return failure();
  for (NamedAttribute attribute : given)
    if (result.attributes.get(attribute.getName()))
      return parser.emitError(loc, "expected attribute '")
             << attribute.getName().getValue() << "' once";
  result.attributes.append(given);

  SmallVector<Type> argumentTypes = llvm::map_to_vector(
      arguments, [](OpAsmParser::Argument &a) { return a.type; });
  result.addAttribute(
      getFunctionTypeAttrName(result.name),
      TypeAttr::get(builder.getFunctionType(argumentTypes, resultTypes)));
  if (ArrayAttr names = argumentNames(builder, arguments))
    result.addAttribute(getArgNamesAttrName(result.name), names);
  call_interface_impl::addArgAndResultAttrs(
      builder, result, arguments, resultAttrs, getArgDictsAttrName(result.name),
      getResAttrsAttrName(result.name));

  Region *body = result.addRegion();
  loc = parser.getCurrentLocation();
  OptionalParseResult parsed = parser.parseOptionalRegion(*body, arguments);
  if (parsed.has_value() && failed(*parsed))
    return failure();
  if (parsed.has_value() && body->empty())
    return parser.emitError(loc, "expected a body with one block");
  return success();
}

void FuncOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  if (std::optional<StringRef> visibility = getSymVisibility())
    printer << *visibility << ' ';
  if (!getIsPure())
    printer << "impure ";
  printer.printSymbolName(getSymName());
  call_interface_impl::printFunctionSignature(
      printer, getArgumentTypes(), getArgDictsAttr(), /*isVariadic=*/false,
      getDeriveResult() ? ArrayRef<Type>() : getResultTypes(),
      getResAttrsAttr(), &getBody(), /*printEmptyResult=*/false);
  SmallVector<StringRef> elided = {
      getSymVisibilityAttrName(), getFunctionTypeAttrName(),
      getArgDictsAttrName(),      getResAttrsAttrName(),
      getIsPureAttrName(),        getDeriveResultAttrName()};
  // The names are in the signature, where there is one.
  if (!isExternal())
    elided.push_back(getArgNamesAttrName());
  function_interface_impl::printFunctionAttributes(printer, *this, elided);
  if (!isExternal()) {
    printer << ' ';
    printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  }
}

StringRef mlir::relax::argumentName(ArrayAttr names, unsigned index) {
  if (!names || index >= names.size())
    return {};
  auto name = dyn_cast<StringAttr>(names[index]); // may not be verified
  return name ? name.getValue() : StringRef();
}

void FuncOp::getAsmBlockArgumentNames(Region &region,
                                      OpAsmSetValueNameFn setName) {
  for (auto [index, argument] : llvm::enumerate(region.getArguments())) {
    StringRef name = argumentName(getArgNamesAttr(), index);
    setName(argument, name.empty() ? ("arg" + Twine(index)).str() : name.str());
  }
}

std::string FuncOp::describeArgument(unsigned index) {
  StringRef name = argumentName(getArgNamesAttr(), index);
  if (!name.empty())
    return ("argument '" + name + "'").str();
  unsigned captures = getNumCaptures();
  return index < captures ? ("captured value " + Twine(index)).str()
                          : ("argument " + Twine(index - captures)).str();
}

unsigned FuncOp::getNumCaptures() {
  auto count = RelaxDialect::CapturesAttrHelper(getContext()).getAttr(*this);
  return count ? count.getInt() : 0;
}

//===----------------------------------------------------------------------===//
// FuncOp: attributes of arguments
//===----------------------------------------------------------------------===//

ArrayAttr FuncOp::getArgAttrsAttr() {
  ArrayAttr names = getArgNamesAttr(), others = getArgDictsAttr();
  if (!names)
    return others;
  RelaxDialect::NameAttrHelper helper(getContext());
  unsigned count = others ? others.size() : getArgumentTypes().size();
  SmallVector<Attribute> merged;
  for (unsigned index = 0; index < count; ++index) {
    NamedAttrList list(others ? dyn_cast<DictionaryAttr>(others[index])
                              : DictionaryAttr());
    if (StringRef name = argumentName(names, index); !name.empty())
      list.set(helper.getName(), StringAttr::get(getContext(), name));
    merged.push_back(list.getDictionary(getContext()));
  }
  return ArrayAttr::get(getContext(), merged);
}

void FuncOp::setArgAttrsAttr(ArrayAttr attributes) {
  RelaxDialect::NameAttrHelper helper(getContext());
  SmallVector<Attribute> names, others;
  for (auto dictionary : attributes.getAsRange<DictionaryAttr>()) {
    NamedAttrList list(dictionary);
    auto name = dyn_cast_if_present<StringAttr>(list.erase(helper.getName()));
    names.push_back(name ? name : StringAttr::get(getContext()));
    others.push_back(list.getDictionary(getContext()));
  }
  auto unlessAll = [&](ArrayRef<Attribute> each, auto isEmpty) {
    return llvm::all_of(each, isEmpty) ? ArrayAttr()
                                       : ArrayAttr::get(getContext(), each);
  };
  setArgNamesAttr(unlessAll(
      names, [](Attribute a) { return cast<StringAttr>(a).empty(); }));
  setArgDictsAttr(unlessAll(
      others, [](Attribute a) { return cast<DictionaryAttr>(a).empty(); }));
}

Attribute FuncOp::removeArgAttrsAttr() {
  ArrayAttr removed = getArgAttrsAttr();
  removeArgNamesAttr();
  removeArgDictsAttr();
  return removed;
}

//===----------------------------------------------------------------------===//
// FuncOp: verification
//===----------------------------------------------------------------------===//

FuncStructInfoType FuncOp::getFuncStructInfo() {
  return FuncStructInfoType::get(getArgumentTypes(), getResultTypes().front(),
                                 getIsPure());
}

LogicalResult FuncOp::verifyType() {
  if (getResultTypes().size() != 1)
    return emitOpError() << "expected exactly one result, but got "
                         << getResultTypes().size();
  for (auto [index, type] : llvm::enumerate(getArgumentTypes()))
    if (!isa<StructInfoTypeInterface>(type))
      return emitOpError() << "expected " << describeArgument(index)
                           << " to be a Relax value, but got " << type;
  if (!isa<StructInfoTypeInterface>(getResultTypes().front()))
    return emitOpError() << "expected the result to be a Relax value, but got "
                         << getResultTypes().front();
  return success();
}

static LogicalResult verifyArgumentNames(FuncOp func) {
  if (func->hasAttr("arg_attrs"))
    return func.emitOpError() << "expected attributes of arguments in "
                                 "'arg_dicts', but got 'arg_attrs'";
  RelaxDialect::NameAttrHelper helper(func.getContext());
  if (ArrayAttr attributes = func.getArgDictsAttr())
    for (auto [index, dictionary] :
         llvm::enumerate(attributes.getAsRange<DictionaryAttr>()))
      if (dictionary.contains(helper.getName()))
        return func.emitOpError() << "expected the name of argument " << index
                                  << " in 'arg_names', but got the attribute '"
                                  << helper.getName().getValue() << "'";
  ArrayAttr names = func.getArgNamesAttr();
  if (!names)
    return success();
  if (names.size() != func.getArgumentTypes().size())
    return func.emitOpError()
           << "expected one name for each of " << func.getArgumentTypes().size()
           << " arguments, but got " << names.size();
  llvm::StringSet<> seen;
  for (StringRef name : names.getAsValueRange<StringAttr>())
    if (!name.empty() && !seen.insert(name).second)
      return func.emitOpError() << "expected distinct argument names, but got '"
                                << name << "' twice";
  return success();
}

/// Verifies that the bounds are integers, of variables that the arguments bind.
static LogicalResult verifyBounds(FuncOp func) {
  llvm::StringSet<> names;
  for (Type type : func.getArgumentTypes())
    if (isa<StructInfoTypeInterface>(type))
      walkVars(type, [&](const ShapeVarUse &use) {
        if (use.mayBind && !use.isShape)
          names.insert(use.name);
      });
  for (StringRef attribute :
       {RelaxDialect::kLowerBound, RelaxDialect::kUpperBound}) {
    Attribute value = func->getAttr(attribute);
    auto bounds = dyn_cast_if_present<DictionaryAttr>(value);
    if (value && !bounds)
      return func.emitOpError()
             << "expected '" << attribute
             << "' to be a dictionary from shape variables to integers, but "
                "got "
             << value;
    for (NamedAttribute bound :
         bounds ? bounds.getValue() : ArrayRef<NamedAttribute>()) {
      StringRef name = bound.getName().getValue();
      if (!names.contains(name))
        return func.emitOpError()
               << "declares a bound of '" << name << "' in '" << attribute
               << "', which no argument binds as a dimension";
      auto number = dyn_cast<IntegerAttr>(bound.getValue());
      if (!number || !number.getType().isInteger(64))
        return func.emitOpError()
               << "expected the bound of '" << name << "' in '" << attribute
               << "' to be an integer of 64 bits, but got " << bound.getValue();
    }
  }
  for (auto [name, range] : getDeclaredBounds(func))
    if (range.isEmpty())
      return func.emitOpError()
             << "declares the lower bound " << *range.lower << " of '" << name
             << "', which is above the upper bound " << *range.upper;
  return success();
}

LogicalResult FuncOp::verify() {
  if (getSymName().empty())
    return emitOpError() << "expected a name, but got an empty one";
  bool isValid = succeeded(verifyArgumentNames(*this));
  isValid &= succeeded(verifyBounds(*this));
  isValid &= succeeded(verifyGlobalSymbol(*this));
  if (getDeriveResult() && isExternal()) {
    emitOpError() << "is a declaration, so it has to state its result";
    isValid = false;
  }
  if (getDeriveResult() && (getNumResults() != 1 ||
                            !isa<ObjectStructInfoType>(getResultTypes()[0]))) {
    emitOpError() << "expected the result to be !relax.object until it is "
                     "derived";
    isValid = false;
  }
  return success(isValid);
}

LogicalResult FuncOp::verifyRegions() {
  if (!isExternal() && !llvm::hasSingleElement(getBody()))
    return emitOpError() << "expected one block, but got "
                         << getBody().getBlocks().size();
  if (!isExternal() &&
      (getBody().front().empty() || !isa<ReturnOp>(getBody().front().back())))
    return emitOpError() << "expected its block to end with 'relax.return'";
  bool isValid = succeeded(verifyShapeScopes(*this));
  if (isPureFunction(*this))
    isValid &= succeeded(verifyPurity(*this));
  isValid &= succeeded(verifyInplaceUses(*this));
  return success(isValid);
}

//===----------------------------------------------------------------------===//
// Purity
//===----------------------------------------------------------------------===//

Operation *mlir::relax::getFunctionAround(Operation *op) {
  Operation *parent = op->getParentOp();
  while (parent && !isa<FuncOp, ClosureOp>(parent))
    parent = parent->getParentOp();
  return parent;
}

/// Whether the type of a function declares it pure.
static bool isDeclaredPure(Operation *function) {
  if (auto closure = dyn_cast<ClosureOp>(function))
    return closure.getFuncStructInfo().getPure();
  return cast<FuncOp>(function).getIsPure();
}

bool mlir::relax::isForcePure(Operation *function) {
  auto flag = RelaxDialect::ForcePureAttrHelper(function->getContext())
                  .getAttr(function);
  return flag && flag.getValue();
}

bool mlir::relax::isPureFunction(Operation *function) {
  return isDeclaredPure(function) && !isForcePure(function);
}

void mlir::relax::walkImpure(Operation *function,
                             llvm::function_ref<void(Operation *)> visit) {
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != function && isa<FuncOp, ClosureOp>(op))
      return WalkResult::skip(); // it runs where it is called
    if (auto purity = dyn_cast<PurityOpInterface>(op);
        purity && !purity.isPureOp())
      visit(op);
    return WalkResult::advance();
  });
}

LogicalResult mlir::relax::verifyPurity(Operation *function) {
  bool isValid = true;
  walkImpure(
      function, [&](Operation *op) {
        if (isa<DataflowOp>(op->getParentOp()))
          return; // the block reports it (WF07)
        isValid = false;
        InFlightDiagnostic diag =
            op->emitOpError()
            << "is impure, which is not allowed in a pure function [DR15]";
        diag.attachNote(function->getLoc())
            << "the function is pure: declare it 'impure', or promise with "
            << RelaxDialect::ForcePureAttrHelper::getNameStr()
            << " that nobody sees the effects";
      });
  return success(isValid);
}

void mlir::relax::forcePurity(Operation *function) {
  bool hasImpure = false;
  walkImpure(function, [&](Operation *) { hasImpure = true; });
  if (hasImpure && isDeclaredPure(function))
    RelaxDialect::ForcePureAttrHelper(function->getContext())
        .setAttr(function, BoolAttr::get(function->getContext(), true));
}

/// Verifies that `actual` is a subtype of the declared type `expected`; `role`
/// names it.
static LogicalResult verifySubtype(Operation *op, Type actual, Type expected,
                                   StringRef role, Operation *declaration) {
  if (isSubtypeAt(op, actual, expected) == Ternary::Yes)
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "expected " << role << " of type " << expected
                            << ", but got " << actual;
  bool maySucceed = checkCompatibility(actual, expected) != Ternary::No ||
                    isSubtype(expected, actual) != Ternary::No;
  if (maySucceed)
    diag.attachNote() << "insert relax.match_cast to check it at run time";
  diag.attachNote(declaration->getLoc()) << "the type is declared here";
  return diag;
}

Type ReturnOp::getDeclaredType() {
  // The function may not be verified yet.
  Operation *parent = (*this)->getParentOp();
  if (isa<ClosureOp>(parent)) {
    auto type = parent->getNumResults() == 1
                    ? dyn_cast<FuncStructInfoType>(parent->getResultTypes()[0])
                    : FuncStructInfoType();
    return type ? type.getRet() : Type();
  }
  auto func = dyn_cast<FuncOp>(parent);
  TypeAttr attribute = func ? func.getFunctionTypeAttr() : TypeAttr();
  auto type =
      attribute ? dyn_cast<FunctionType>(attribute.getValue()) : FunctionType();
  return type && type.getNumResults() == 1 ? type.getResult(0) : Type();
}

/// DR13: what is possibly compatible is checked when the function returns.
LogicalResult ReturnOp::verify() {
  Type declared = getDeclaredType();
  if (!declared) // the function reports it
    return success();
  if (checkCompatibility(getValue().getType(), declared) != Ternary::No)
    return success();
  InFlightDiagnostic diag = emitOpError()
                            << "expected a result of type " << declared
                            << ", but got " << getValue().getType();
  diag.attachNote((*this)->getParentOp()->getLoc())
      << "the type is declared here";
  return diag;
}

bool MatchCastOp::alwaysFails() {
  Type from = getValue().getType(), to = getResult().getType();
  return checkCompatibility(from, to) == Ternary::No &&
         isSubtype(to, from) == Ternary::No;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Verifies that the values of a terminator fit the results of the operation
/// around it.
static LogicalResult verifyTerminator(Operation *parent, Operation *terminator,
                                      StringRef role) {
  if (terminator->getNumOperands() != parent->getNumResults())
    return terminator->emitOpError()
           << "expected " << parent->getNumResults() << " values, but got "
           << terminator->getNumOperands();
  for (auto [operand, result] :
       llvm::zip(terminator->getOperandTypes(), parent->getResultTypes()))
    if (failed(verifySubtype(terminator, operand, result, role, parent)))
      return failure();
  return success();
}

template <typename TerminatorOp>
static LogicalResult verifyBody(Operation *parent, Region &region,
                                StringRef role) {
  Block &block = region.front();
  if (block.empty() || !isa<TerminatorOp>(block.back()))
    return parent->emitOpError() << "expected its block to end with '"
                                 << TerminatorOp::getOperationName() << "'";
  return verifyTerminator(parent, &block.back(), role);
}

LogicalResult DataflowOp::verifyRegions() {
  bool isValid = true;
  auto reject = [&](Operation &op, StringRef message) {
    isValid = false;
    InFlightDiagnostic diag = op.emitOpError() << message << " [WF07]";
    diag.attachNote(getLoc()) << "the dataflow block begins here";
  };
  for (Operation &op : getBody().front()) {
    if (isa<IfOp, DataflowOp>(op))
      reject(op, "is not allowed in a dataflow block");
    if (auto purity = dyn_cast<PurityOpInterface>(op);
        purity && !purity.isPureOp())
      reject(op, "is impure, which is not allowed in a dataflow block");
  }
  isValid &= succeeded(verifyBody<OutputOp>(*this, getBody(), "an output"));
  return success(isValid);
}

LogicalResult DataflowOp::deriveResultTypes(SmallVectorImpl<Type> &results) {
  llvm::append_range(results, getBody().front().back().getOperandTypes());
  return success();
}

/// Whether `op` is in a dataflow block, in sequences at most, but in no closure
/// in the block.
static bool isInDataflow(Operation *op) {
  Operation *parent = op->getParentOp();
  while (isa_and_nonnull<SeqOp>(parent))
    parent = parent->getParentOp();
  return isa_and_nonnull<DataflowOp>(parent);
}

LogicalResult SeqOp::verifyRegions() {
  bool isValid = true;
  if (isInDataflow(*this))
    for (Operation &op : getBody().front())
      if (!isa<DataflowOp, YieldOp>(op)) {
        isValid = false;
        op.emitOpError() << "is an ordinary binding inside of a 'relax.seq' in "
                            "a dataflow block [NF05]";
      }
  isValid &= succeeded(verifyBody<YieldOp>(*this, getBody(), "a value"));
  return success(isValid);
}

/// The type that a region yields, without what only the region knows.
static Type deriveYield(Region &region,
                        llvm::function_ref<bool(StringRef)> isInScope) {
  return eraseToWellDefined(
      cast<YieldOp>(region.front().back()).getValue().getType(), isInScope);
}

Type SeqOp::deriveResult(llvm::function_ref<bool(StringRef)> isInScope) {
  return deriveYield(getBody(), isInScope);
}

/// DR06: the least upper bound of both branches.
Type IfOp::deriveResult(llvm::function_ref<bool(StringRef)> isInScope) {
  return unifyStructInfo(deriveYield(getThenRegion(), isInScope),
                         deriveYield(getElseRegion(), isInScope));
}

/// Derives a type in the scope of an operation, which is collected when the
/// first variable is looked up.
template <typename OpTy> static Type deriveInScope(OpTy op) {
  std::optional<llvm::StringSet<>> scope;
  return op.deriveResult([&](StringRef name) {
    if (!scope)
      collectScope(op, scope.emplace());
    return scope->contains(name);
  });
}

LogicalResult SeqOp::deriveResultTypes(SmallVectorImpl<Type> &results) {
  results.push_back(deriveInScope(*this));
  return success();
}

LogicalResult IfOp::deriveResultTypes(SmallVectorImpl<Type> &results) {
  results.push_back(deriveInScope(*this));
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow of dataflow blocks, sequences and branches
//===----------------------------------------------------------------------===//

/// From an operation into one of its regions, each of which is entered without
/// arguments, and back to its results.
static void addSuccessors(Operation *op, RegionBranchPoint point,
                          SmallVectorImpl<RegionSuccessor> &successors) {
  if (!point.isParent()) {
    successors.emplace_back(op, op->getResults());
    return;
  }
  for (Region &region : op->getRegions())
    successors.emplace_back(&region);
}

// Types along an edge may differ: what is declared may say less, which
// verifyRegions checks.

void DataflowOp::getSuccessorRegions(
    RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &successors) {
  addSuccessors(*this, point, successors);
}
bool DataflowOp::areTypesCompatible(Type, Type) { return true; }

void SeqOp::getSuccessorRegions(RegionBranchPoint point,
                                SmallVectorImpl<RegionSuccessor> &successors) {
  addSuccessors(*this, point, successors);
}
bool SeqOp::areTypesCompatible(Type, Type) { return true; }

void IfOp::getSuccessorRegions(RegionBranchPoint point,
                               SmallVectorImpl<RegionSuccessor> &successors) {
  addSuccessors(*this, point, successors);
}
bool IfOp::areTypesCompatible(Type, Type) { return true; }

/// Parses the branches of relax.if. MLIR drops the uses of what a region
/// defines where the region is wrong itself; where something after it is,
/// uses ahead of the region would outlive their definitions.
ParseResult mlir::relax::parseBranches(OpAsmParser &parser, Region &thenRegion,
                                       Region &elseRegion) {
  if (parser.parseRegion(thenRegion))
    return failure();
  if (parser.parseKeyword("else") || parser.parseRegion(elseRegion)) {
    for (Block &block : thenRegion)
      block.dropAllDefinedValueUses();
    return failure();
  }
  for (Region *region : {&thenRegion, &elseRegion})
    if (region->empty())
      region->emplaceBlock(); // the verifier asks for a terminator
  return success();
}

void mlir::relax::printBranches(OpAsmPrinter &printer, Operation *,
                                Region &thenRegion, Region &elseRegion) {
  printer.printRegion(thenRegion);
  printer << " else ";
  printer.printRegion(elseRegion);
}

LogicalResult IfOp::verify() {
  auto tensor = dyn_cast<TensorStructInfoType>(getCond().getType());
  bool fits = isa<ObjectStructInfoType>(getCond().getType());
  if (tensor)
    fits = (!tensor.hasRank() || tensor.getNdim() == 0) &&
           (!tensor.getDtype() || tensor.getDtype().isInteger(1));
  if (auto prim = dyn_cast<PrimStructInfoType>(getCond().getType()))
    fits = prim.getDtype().isInteger(1);
  if (!fits)
    return emitOpError() << "expected a condition of type "
                            "!relax.tensor<[], i1> or !relax.prim<i1>, but got "
                         << getCond().getType();
  return success();
}

LogicalResult IfOp::verifyRegions() {
  bool isValid = true;
  for (Region *region : {&getThenRegion(), &getElseRegion()})
    isValid &= succeeded(verifyBody<YieldOp>(*this, *region, "a branch"));
  return success(isValid);
}

LogicalResult DTypeOp::verify() {
  if (isDataType(getValue()))
    return success();
  return emitOpError() << "expected a data type, but got " << getValue()
                       << " [WF20]";
}

//===----------------------------------------------------------------------===//
// Derivation
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *context,
                                           OptionalLoc loc, Adaptor adaptor,
                                           InferredTypes &results) {
  ShapedType type = adaptor.getValue().getShapedType();
  if (!isDataType(type.getElementType()))
    return inferError(loc, "expected a constant of a data type, but got ",
                      type.getElementType(), " [WF20]");
  SmallVector<PrimExprAttr> dims =
      llvm::map_to_vector(type.getShape(), [&](int64_t dim) {
        return PrimExprAttr::getInt(context, dim);
      });
  results.push_back(TensorStructInfoType::get(ShapeExprAttr::get(context, dims),
                                              type.getElementType()));
  return success();
}

LogicalResult PrimValueOp::inferReturnTypes(MLIRContext *context,
                                            OptionalLoc loc, Adaptor adaptor,
                                            InferredTypes &results) {
  Attribute value = adaptor.getValue();
  if (auto expr = dyn_cast<PrimExprAttr>(value)) {
    results.push_back(
        PrimStructInfoType::get(IntegerType::get(context, 64), expr));
    return success();
  }
  // WF18: parsing derives the type before the attribute is verified.
  auto number = dyn_cast<TypedAttr>(value);
  if (!isa<IntegerAttr, FloatAttr>(value) || !isDataType(number.getType()))
    return inferError(loc,
                      "expected a number of a data type or an expression, but "
                      "got ",
                      value, " [WF18]");
  Type type = number.getType();
  PrimExprAttr known;
  if (auto integer = dyn_cast<IntegerAttr>(value))
    known = PrimExprAttr::getInt(context,
                                 type.isUnsignedInteger() || type.isInteger(1)
                                     ? integer.getValue().getZExtValue()
                                     : integer.getValue().getSExtValue());
  results.push_back(PrimStructInfoType::get(type, known));
  return success();
}

static LogicalResult inferObject(MLIRContext *context, InferredTypes &results) {
  results.push_back(ObjectStructInfoType::get(context));
  return success();
}

LogicalResult StringOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                         Adaptor, InferredTypes &results) {
  return inferObject(context, results);
}

LogicalResult DTypeOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                        Adaptor, InferredTypes &results) {
  return inferObject(context, results);
}

LogicalResult NullValueOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                            Adaptor, InferredTypes &results) {
  return inferObject(context, results);
}

LogicalResult ShapeOp::inferReturnTypes(MLIRContext *, OptionalLoc,
                                        Adaptor adaptor,
                                        InferredTypes &results) {
  results.push_back(ShapeStructInfoType::get(adaptor.getValues()));
  return success();
}

LogicalResult TupleOp::inferReturnTypes(MLIRContext *context, OptionalLoc loc,
                                        Adaptor adaptor,
                                        InferredTypes &results) {
  for (Type type : adaptor.getFields().getTypes())
    if (!isa<StructInfoTypeInterface>(type))
      return inferError(loc, "expected Relax values as fields, but got ", type);
  results.push_back(TupleStructInfoType::get(
      context, llvm::to_vector(adaptor.getFields().getTypes())));
  return success();
}

LogicalResult GetItemOp::inferReturnTypes(MLIRContext *, OptionalLoc loc,
                                          Adaptor adaptor,
                                          InferredTypes &results) {
  Type type = adaptor.getTupleValue().getType();
  auto tuple = dyn_cast<TupleStructInfoType>(type);
  if (!tuple)
    return inferError(loc, "expected a tuple, but got ", type);
  int64_t index = adaptor.getIndex();
  int64_t size = tuple.getFields().size();
  if (index < 0 || index >= size)
    return inferError(loc, "expected an index below ", size,
                      ", the number of fields, but got ", index);
  results.push_back(tuple.getFields()[index]);
  return success();
}

OpFoldResult GetItemOp::fold(FoldAdaptor) {
  if (auto tuple = getTupleValue().getDefiningOp<TupleOp>())
    if (Value field = tuple.getFields()[getIndex()]; mayReplace(*this, field))
      return field;
  return {};
}

LogicalResult ExternFuncOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                             Adaptor, InferredTypes &results) {
  results.push_back(FuncStructInfoType::get(context, "default_derive"));
  return success();
}

LogicalResult ShapeOfOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                          Adaptor adaptor,
                                          InferredTypes &results) {
  TensorStructInfoType tensor = tensorType(adaptor.getTensor());
  results.push_back(ShapeStructInfoType::get(
      context, tensor.getShape(), tensor.getNdim(), tensor.getShapeVar()));
  return success();
}
