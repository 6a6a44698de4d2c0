//===- RuntimeCalls.cpp - Building calls of the runtime -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeCalls.h"

#include "relax-mlir/Analysis/Sites.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::relax;

uint32_t mlir::relax::encodeDType(Type dtype) {
  if (!dtype)
    return 0;
  // The codes of DLDataTypeCode.
  uint32_t code =
      llvm::TypeSwitch<Type, uint32_t>(dtype)
          .Case([](IntegerType type) {
            return type.getWidth() == 1 ? 6 : type.isUnsigned() ? 1 : 0;
          })
          .Case([](BFloat16Type) { return 4; })
          .Case([](Float8E3M4Type) { return 7; })
          .Case([](Float8E4M3Type) { return 8; })
          .Case([](Float8E4M3B11FNUZType) { return 9; })
          .Case([](Float8E4M3FNType) { return 10; })
          .Case([](Float8E4M3FNUZType) { return 11; })
          .Case([](Float8E5M2Type) { return 12; })
          .Case([](Float8E5M2FNUZType) { return 13; })
          .Case([](Float8E8M0FNUType) { return 14; })
          .Default([](Type) { return 2; });
  // A Boolean takes a byte.
  uint32_t bits = dtype.isInteger(1) ? 8 : dtype.getIntOrFloatBitWidth();
  return code | bits << 8 | 1u << 16;
}

RuntimeModule::RuntimeModule(ModuleOp module)
    : module(module), symbols(module) {}

LLVM::LLVMPointerType RuntimeModule::ptrType() {
  return LLVM::LLVMPointerType::get(getContext());
}

Type RuntimeModule::anyType() {
  Builder builder(getContext());
  return LLVM::LLVMStructType::getLiteral(
      getContext(),
      {builder.getI32Type(), builder.getI32Type(), builder.getI64Type()});
}

LLVM::GlobalOp RuntimeModule::makeGlobal(Location loc, Type type,
                                         bool isConstant, StringRef prefix,
                                         Attribute value) {
  OpBuilder builder(getContext());
  auto global = LLVM::GlobalOp::create(builder, loc, type, isConstant,
                                       LLVM::Linkage::Internal, prefix, value);
  symbols.insert(global); // renames on conflict
  return global;
}

LLVM::GlobalOp RuntimeModule::makeStruct(
    StringRef prefix, ArrayRef<Type> types,
    function_ref<SmallVector<Value>(ImplicitLocOpBuilder &)> addFields) {
  Location loc = UnknownLoc::get(getContext());
  Type type = LLVM::LLVMStructType::getLiteral(getContext(), types);
  LLVM::GlobalOp global =
      makeGlobal(loc, type, /*isConstant=*/true, prefix, Attribute());
  ImplicitLocOpBuilder init(loc, getContext());
  init.setInsertionPointToStart(&global.getInitializerRegion().emplaceBlock());
  SmallVector<Value> fields = addFields(init);
  Value value = LLVM::PoisonOp::create(init, type);
  for (auto [index, field] : llvm::enumerate(fields))
    value = LLVM::InsertValueOp::create(init, value, field, index);
  LLVM::ReturnOp::create(init, value);
  return global;
}

Value RuntimeModule::addressOf(ImplicitLocOpBuilder &builder,
                               LLVM::GlobalOp global) {
  return LLVM::AddressOfOp::create(builder, global);
}

Value RuntimeModule::string(ImplicitLocOpBuilder &builder, StringRef text) {
  LLVM::GlobalOp &global = strings[text];
  if (!global) {
    std::string bytes = text.str();
    bytes.push_back('\0');
    Type type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
    global = makeGlobal(builder.getUnknownLoc(), type, /*isConstant=*/true,
                        "relax.string", builder.getStringAttr(bytes));
  }
  return addressOf(builder, global);
}

Value RuntimeModule::site(ImplicitLocOpBuilder &builder, StringRef function,
                          StringRef what, StringRef expected) {
  std::string location = getLocationText(builder.getLoc());
  StringRef fields[] = {function, what, expected, location};
  LLVM::GlobalOp &global =
      sites[llvm::join(ArrayRef(fields), StringRef("\0", 1))];
  if (!global) {
    SmallVector<Type> types(std::size(fields), ptrType());
    global = makeStruct("relax.site", types, [&](ImplicitLocOpBuilder &init) {
      return llvm::map_to_vector(
          fields, [&](StringRef text) { return string(init, text); });
    });
  }
  return addressOf(builder, global);
}

Value RuntimeModule::callSite(ImplicitLocOpBuilder &builder, StringRef function,
                              int64_t number, StringRef kind, StringRef name,
                              ArrayRef<std::pair<uint32_t, int32_t>> operands) {
  SmallVector<int32_t> words;
  for (auto [dtype, ndim] : operands)
    words.append({static_cast<int32_t>(dtype), ndim});
  Type i32 = builder.getI32Type();
  LLVM::GlobalOp table;
  if (!words.empty())
    table = makeGlobal(
        builder.getUnknownLoc(), LLVM::LLVMArrayType::get(i32, words.size()),
        /*isConstant=*/true, "relax.operands", builder.getI32TensorAttr(words));
  Type types[] = {ptrType(), ptrType(), ptrType(), i32, i32, ptrType()};
  auto addFields = [&](ImplicitLocOpBuilder &init) -> SmallVector<Value> {
    auto constant = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(init, i32,
                                      builder.getI32IntegerAttr(value));
    };
    Value none = LLVM::ZeroOp::create(init, ptrType());
    init.setLoc(builder.getLoc()); // the site says where the call is
    return {site(init, function, name, ""),
            string(init, kind),
            string(init, name),
            constant(number),
            constant(operands.size()),
            table ? addressOf(init, table) : none};
  };
  return addressOf(builder, makeStruct("relax.call", types, addFields));
}

Value RuntimeModule::cache(ImplicitLocOpBuilder &builder) {
  // A pointer that is null is an integer that is 0.
  return addressOf(builder,
                   makeGlobal(builder.getUnknownLoc(), builder.getI64Type(),
                              /*isConstant=*/false, "relax.cache",
                              builder.getI64IntegerAttr(0)));
}

Value RuntimeModule::constant(ImplicitLocOpBuilder &builder, int64_t index) {
  constexpr StringLiteral kName = "relax_constants";
  auto pool = symbols.lookup<LLVM::GlobalOp>(kName);
  if (!pool) {
    OpBuilder declare(getContext());
    pool = LLVM::GlobalOp::create(declare, builder.getUnknownLoc(), ptrType(),
                                  /*isConstant=*/false, LLVM::Linkage::External,
                                  kName, Attribute());
    // Each library has its own.
    pool.setVisibility_(LLVM::Visibility::Protected);
    symbols.insert(pool);
    ImplicitLocOpBuilder init(builder.getUnknownLoc(), getContext());
    init.setInsertionPointToStart(&pool.getInitializerRegion().emplaceBlock());
    LLVM::ReturnOp::create(init, LLVM::ZeroOp::create(init, ptrType()));
  }
  Value first =
      LLVM::LoadOp::create(builder, ptrType(), addressOf(builder, pool));
  return LLVM::GEPOp::create(
      builder, ptrType(), anyType(), first,
      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(index))});
}

Value RuntimeModule::call(ImplicitLocOpBuilder &builder, StringRef name,
                          Type result, ValueRange args) {
  Type returned = result ? result : LLVM::LLVMVoidType::get(getContext());
  auto type =
      LLVM::LLVMFunctionType::get(returned, llvm::to_vector(args.getTypes()));
  auto callee = symbols.lookup<LLVM::LLVMFuncOp>(name);
  if (!callee) {
    OpBuilder declare(getContext());
    callee =
        LLVM::LLVMFuncOp::create(declare, builder.getUnknownLoc(), name, type);
    symbols.insert(callee);
  }
  auto call = LLVM::CallOp::create(builder, callee, args);
  return result ? call.getResult() : Value();
}
