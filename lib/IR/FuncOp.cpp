//===- FuncOp.cpp - Functions and their purity ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text form of functions, the names and attributes of their arguments, what
// makes one valid, and which operations a pure function may hold (DR15).
//
//===----------------------------------------------------------------------===//

#include "ArgumentNames.h"

#include "relax-mlir/IR/Purity.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
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
