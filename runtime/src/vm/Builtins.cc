//===- Builtins.cc - Implementation of builtins -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First the builtins that are more than a function of relax_runtime.h: those
// which trust what compiled code has checked are wrapped, as bytecode may come
// from anywhere. Then what takes operands out of a frame, by the type of the
// parameter. Last the table.
//
//===----------------------------------------------------------------------===//

#include "Builtins.h"

#include "../ADT.h"
#include "../Tensor.h"
#include "Interpreter.h"
#include "VirtualMachine.h"

#include <tuple>
#include <utility>

using namespace relax_runtime;
using namespace relax_runtime::vm;

namespace {

// Parameters that are not plain C.
struct Register {
  TVMFFIAny *slot;
};
struct String {
  const char *text;
  uint32_t index;
};
struct Ints {
  const int64_t *data;
  int32_t size;
};
struct Values {
  const TVMFFIAny *const *data;
  int32_t size;
};

} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static void killValue(Register value) { relax_value_kill(value.slot); }

static void makeNone(TVMFFIAny *dst) { relax_value_kill(dst); }

static int getConstant(const relax_site *site, TVMFFIAny *dst,
                       const TVMFFIAny *constant, int32_t fresh) {
  const DLTensor *tensor = getTensor(constant);
  if (fresh && tensor)
    return relax_tensor_to_device(site, dst, constant,
                                  tensor->device.device_type,
                                  tensor->device.device_id);
  relax_value_assign(dst, constant);
  return 0;
}

static void setFloat(TVMFFIAny *dst, int64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  relax_prim_set_float(dst, value);
}

static void setBool(TVMFFIAny *dst, int64_t value) {
  relax_prim_set_bool(dst, value != 0);
}

static int getInt(int64_t *dst, const relax_site *site,
                  const TVMFFIAny *value) {
  if (!RELAX_LIKELY(value->type_index == kTVMFFIInt ||
                    value->type_index == kTVMFFIBool))
    return raiseKind(site, "an integer", value);
  *dst = value->v_int64;
  return 0;
}

static int getFloat(int64_t *dst, const relax_site *site,
                    const TVMFFIAny *value) {
  double number;
  if (value->type_index == kTVMFFIFloat)
    number = value->v_float64;
  else if (RELAX_LIKELY(value->type_index == kTVMFFIInt))
    number = static_cast<double>(value->v_int64);
  else
    return raiseKind(site, "a float", value);
  std::memcpy(dst, &number, sizeof(number));
  return 0;
}

static int stringValue(TVMFFIAny *dst, String string) {
  return relax_string_make(dst, string.text,
                           static_cast<int64_t>(std::strlen(string.text)));
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static int checkClosure(const relax_site *site, const TVMFFIAny *value,
                        const char *structInfo, Ints dims) {
  return relax_closure_check(site, value, structInfo, dims.size, dims.data);
}

static int checkDim(const relax_site *site, int64_t index, const char *expr,
                    int64_t expected, int64_t actual) {
  return RELAX_LIKELY(expected == actual)
             ? 0
             : relax_dim_raise(site, index, expr, expected, actual);
}

static int checkLowerBound(const relax_site *site, const char *expr,
                           int64_t bound, int64_t actual) {
  return RELAX_LIKELY(actual >= bound)
             ? 0
             : relax_dim_raise(site, -1, expr, bound, actual);
}

static int checkUpperBound(const relax_site *site, const char *expr,
                           int64_t bound, int64_t actual) {
  return RELAX_LIKELY(actual <= bound)
             ? 0
             : relax_dim_raise(site, -1, expr, bound, actual);
}

static int checkDivisor(const relax_site *site, int64_t divisor) {
  return RELAX_LIKELY(divisor != 0)
             ? 0
             : relax_error_raise(site, "ZeroDivisionError",
                                 "the divisor is zero");
}

//===----------------------------------------------------------------------===//
// Tensors and shapes
//===----------------------------------------------------------------------===//

static int newTensor(const relax_site *site, TVMFFIAny *dst, Ints dims,
                     relax_dtype dtype, int32_t deviceType, int32_t deviceId) {
  return relax_tensor_alloc(site, dst, dims.size, dims.data, dtype, deviceType,
                            deviceId);
}

static int layTensor(const relax_site *site, TVMFFIAny *dst,
                     const TVMFFIAny *storage, int64_t offset, Ints dims,
                     relax_dtype dtype) {
  return relax_tensor_from_storage(site, dst, storage, offset, dims.size,
                                   dims.data, dtype);
}

static int viewTensor(const relax_site *site, TVMFFIAny *dst,
                      const TVMFFIAny *tensor, Ints dims) {
  return RELAX_LIKELY(getTensor(tensor) != nullptr)
             ? relax_tensor_view(site, dst, tensor, dims.size, dims.data)
             : raiseKind(site, "a tensor", tensor);
}

static int getBool(int64_t *dst, const relax_site *site,
                   const TVMFFIAny *value) {
  if (!RELAX_LIKELY(value->type_index == kTVMFFIBool || getTensor(value)))
    return raiseKind(site, "one Boolean", value);
  int32_t result;
  if (relax_tensor_bool(site, value, &result))
    return -1;
  *dst = result;
  return 0;
}

static int shapeValue(TVMFFIAny *dst, Ints dims) {
  return relax_shape_make(dst, dims.size, dims.data);
}

static int getShape(const relax_site *site, TVMFFIAny *dst,
                    const TVMFFIAny *tensor) {
  return RELAX_LIKELY(getTensor(tensor) != nullptr)
             ? relax_shape_of(dst, tensor)
             : raiseKind(site, "a tensor", tensor);
}

RELAX_COLD static int raiseIndex(const relax_site *site, int64_t index,
                                 const TVMFFIAny *value) noexcept {
  return raiseError(site, "IndexError",
                    "expected a value with dimension " + std::to_string(index) +
                        ", but got " + describe(value));
}

static int getDim(int64_t *dst, const relax_site *site, const TVMFFIAny *value,
                  int64_t index) {
  if (const DLTensor *tensor = getTensor(value)) {
    if (!RELAX_LIKELY(index >= 0 && index < tensor->ndim))
      return raiseIndex(site, index, value);
    *dst = tensor->shape[index];
    return 0;
  }
  if (value->type_index == kTVMFFIShape) {
    if (!RELAX_LIKELY(index >= 0 && index < relax_shape_ndim(value)))
      return raiseIndex(site, index, value);
    *dst = relax_shape_dims(value)[index];
    return 0;
  }
  if (value->type_index == kTVMFFIInt && index == 0) {
    *dst = value->v_int64;
    return 0;
  }
  return raiseKind(site, "a tensor, a shape or an integer", value);
}

static int getNdim(int64_t *dst, const relax_site *site,
                   const TVMFFIAny *value) {
  if (const DLTensor *tensor = getTensor(value))
    *dst = tensor->ndim;
  else if (value->type_index == kTVMFFIShape)
    *dst = relax_shape_ndim(value);
  else
    return raiseKind(site, "a tensor or a shape", value);
  return 0;
}

//===----------------------------------------------------------------------===//
// Tuples and algebraic data
//===----------------------------------------------------------------------===//

static int tupleValue(const relax_site *site, TVMFFIAny *dst, Values fields) {
  return relax_tuple_make(site, dst, fields.size, fields.data);
}

static int makeTagged(const relax_site *site, TVMFFIAny *dst, int64_t tag,
                      Values fields) {
  return relax_adt_make(site, dst, tag, fields.size, fields.data);
}

static int getTag(int64_t *dst, const relax_site *site,
                  const TVMFFIAny *value) {
  return relax_adt_tag(site, value, dst);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static int getFunction(Frame &frame, const relax_site *site, TVMFFIAny *dst,
                       String name) {
  TVMFFIObject *function = frame.vm->getNamed(site, name.index);
  if (!function)
    return -1;
  assignObject(dst, kTVMFFIFunction, function);
  return 0;
}

RELAX_COLD static int raiseCaptures(const relax_site *site,
                                    const FunctionCode &code,
                                    int32_t size) noexcept {
  return raiseError(site, "TypeError",
                    "expected " + countText(code.numCaptures, "value") +
                        " for a closure over '" + code.def->name +
                        "', but got " + std::to_string(size));
}

static int makeClosureValue(Frame &frame, const relax_site *site,
                            TVMFFIAny *dst, const FunctionCode &code,
                            Values captures, const char *structInfo,
                            Ints dims) {
  RELAX_SAFE_CALL_BEGIN();
  if (!RELAX_LIKELY(captures.size == code.numCaptures))
    return raiseCaptures(site, code, captures.size);
  for (int32_t i = 0; i < captures.size; ++i)
    if (!RELAX_LIKELY(captures.data[i]->type_index != kTVMFFIDLTensorPtr))
      return raiseBorrowed(site, "captured");
  ClosureObj *closure =
      makeClosure(frame.vm, code, structInfo, dims.size, dims.data);
  TVMFFIAny value = {};
  value.type_index = kTVMFFIFunction;
  value.v_obj = ffi::detail::ObjectUnsafe::GetHeader(closure);
  ffi::Any held;
  assignOwned(reinterpret_cast<TVMFFIAny *>(&held), value);
  for (int32_t i = 0; i < captures.size; ++i)
    closure->captures()[i] = ffi::AnyView::CopyFromTVMFFIAny(*captures.data[i]);
  owned(dst) = std::move(held);
  RELAX_SAFE_CALL_END();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

// Sums and products wrap around, as in machine code.
static int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }
static uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

static void moveInt(int64_t *dst, int64_t value) { *dst = value; }
static void addInts(int64_t *dst, int64_t a, int64_t b) {
  *dst = wrap(bits(a) + bits(b));
}
static void subtractInts(int64_t *dst, int64_t a, int64_t b) {
  *dst = wrap(bits(a) - bits(b));
}
static void multiplyInts(int64_t *dst, int64_t a, int64_t b) {
  *dst = wrap(bits(a) * bits(b));
}

// Rounded down; the one quotient beyond 63 bits wraps around.
static int64_t divideDown(int64_t a, int64_t b) {
  if (b == -1)
    return wrap(-bits(a));
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static int floorDiv(Frame &frame, int64_t *dst, int64_t a, int64_t b) {
  if (checkDivisor(&frame.code->site, b))
    return -1;
  *dst = divideDown(a, b);
  return 0;
}
static int floorMod(Frame &frame, int64_t *dst, int64_t a, int64_t b) {
  if (checkDivisor(&frame.code->site, b))
    return -1;
  *dst = wrap(bits(a) - bits(divideDown(a, b)) * bits(b));
  return 0;
}

// Sums and products as numbers.
static int addExactly(int64_t *dst, const relax_site *site, int64_t a,
                      int64_t b) {
  return RELAX_LIKELY(!__builtin_add_overflow(a, b, dst))
             ? 0
             : relax_overflow_raise(site, "+", a, b);
}
static int subtractExactly(int64_t *dst, const relax_site *site, int64_t a,
                           int64_t b) {
  return RELAX_LIKELY(!__builtin_sub_overflow(a, b, dst))
             ? 0
             : relax_overflow_raise(site, "-", a, b);
}
static int multiplyExactly(int64_t *dst, const relax_site *site, int64_t a,
                           int64_t b) {
  return RELAX_LIKELY(!__builtin_mul_overflow(a, b, dst))
             ? 0
             : relax_overflow_raise(site, "*", a, b);
}
static int divideExactly(int64_t *dst, const relax_site *site, int64_t a,
                         int64_t b) {
  if (checkDivisor(site, b))
    return -1;
  if (!RELAX_LIKELY(b != -1 || a != INT64_MIN))
    return relax_overflow_raise(site, "floordiv", a, b);
  *dst = divideDown(a, b);
  return 0;
}

static void minInt(int64_t *dst, int64_t a, int64_t b) { *dst = a < b ? a : b; }
static void maxInt(int64_t *dst, int64_t a, int64_t b) { *dst = a < b ? b : a; }
static void isEqual(int64_t *dst, int64_t a, int64_t b) { *dst = a == b; }
static void isNotEqual(int64_t *dst, int64_t a, int64_t b) { *dst = a != b; }
static void isLess(int64_t *dst, int64_t a, int64_t b) { *dst = a < b; }
static void isLessEqual(int64_t *dst, int64_t a, int64_t b) { *dst = a <= b; }
static void isGreater(int64_t *dst, int64_t a, int64_t b) { *dst = a > b; }
static void isGreaterEqual(int64_t *dst, int64_t a, int64_t b) {
  *dst = a >= b;
}
static void bitAnd(int64_t *dst, int64_t a, int64_t b) { *dst = a & b; }
static void bitOr(int64_t *dst, int64_t a, int64_t b) { *dst = a | b; }
static void logicalNot(int64_t *dst, int64_t a) { *dst = a == 0; }
static void selectInt(int64_t *dst, int64_t condition, int64_t a, int64_t b) {
  *dst = condition ? a : b;
}

//===----------------------------------------------------------------------===//
// From operands to parameters
//===----------------------------------------------------------------------===//

namespace {

// The kind of a parameter in bytecode, and the code that takes it out of a
// frame. Lists are laid out in the scratch memory at `scratch`, which moves on.
template <typename T> struct ParamTraits;

template <ParamKind Kind> struct OperandTraits {
  static constexpr bool isOperand = true;
  static constexpr ParamKind kind = Kind;
  static constexpr ResultKind result = ResultKind::None;
};
template <ResultKind Kind> struct OtherTraits {
  static constexpr bool isOperand = false;
  static constexpr ParamKind kind = ParamKind::Site;
  static constexpr ResultKind result = Kind;
};

template <> struct ParamTraits<Frame &> : OtherTraits<ResultKind::None> {
  static Frame &get(Frame &frame, const Step &, const Arg &, char *&) {
    return frame;
  }
};
template <> struct ParamTraits<TVMFFIAny *> : OtherTraits<ResultKind::Value> {
  static TVMFFIAny *get(Frame &frame, const Step &step, const Arg &, char *&) {
    return &frame.registers[step.destination];
  }
};
template <> struct ParamTraits<int64_t *> : OtherTraits<ResultKind::Int> {
  static int64_t *get(Frame &frame, const Step &step, const Arg &, char *&) {
    return &frame.heap[step.destination];
  }
};
template <>
struct ParamTraits<const relax_site *> : OperandTraits<ParamKind::Site> {
  static const relax_site *get(Frame &, const Step &, const Arg &arg, char *&) {
    return static_cast<const relax_site *>(arg.pointer);
  }
};
template <>
struct ParamTraits<const TVMFFIAny *> : OperandTraits<ParamKind::Value> {
  static const TVMFFIAny *get(Frame &frame, const Step &, const Arg &arg,
                              char *&) {
    return frame.getValue(arg);
  }
};
template <> struct ParamTraits<Register> : OperandTraits<ParamKind::Register> {
  static Register get(Frame &frame, const Step &, const Arg &arg, char *&) {
    return {&frame.registers[arg.index]};
  }
};
template <> struct ParamTraits<int64_t> : OperandTraits<ParamKind::Int> {
  static int64_t get(Frame &frame, const Step &, const Arg &arg, char *&) {
    return frame.getInt(arg);
  }
};
template <> struct ParamTraits<int32_t> : OperandTraits<ParamKind::Immediate> {
  static int32_t get(Frame &, const Step &, const Arg &arg, char *&) {
    return static_cast<int32_t>(arg.integer);
  }
};
template <> struct ParamTraits<relax_dtype> : OperandTraits<ParamKind::DType> {
  static relax_dtype get(Frame &, const Step &, const Arg &arg, char *&) {
    return static_cast<relax_dtype>(arg.integer);
  }
};
template <>
struct ParamTraits<const char *> : OperandTraits<ParamKind::String> {
  static const char *get(Frame &, const Step &, const Arg &arg, char *&) {
    return static_cast<const char *>(arg.pointer);
  }
};
template <> struct ParamTraits<String> : OperandTraits<ParamKind::String> {
  static String get(Frame &, const Step &, const Arg &arg, char *&) {
    return {static_cast<const char *>(arg.pointer), arg.index};
  }
};
template <>
struct ParamTraits<const FunctionCode &> : OperandTraits<ParamKind::Function> {
  static const FunctionCode &get(Frame &, const Step &, const Arg &arg,
                                 char *&) {
    return *static_cast<const FunctionCode *>(arg.pointer);
  }
};
template <> struct ParamTraits<Ints> : OperandTraits<ParamKind::Ints> {
  static Ints get(Frame &frame, const Step &, const Arg &arg, char *&scratch) {
    const Arg *elements = static_cast<const Arg *>(arg.pointer);
    int64_t *ints = reinterpret_cast<int64_t *>(scratch);
    for (uint32_t i = 0; i < arg.index; ++i)
      ints[i] = frame.getInt(elements[i]);
    scratch += sizeof(int64_t) * arg.index;
    return {ints, static_cast<int32_t>(arg.index)};
  }
};
template <> struct ParamTraits<Values> : OperandTraits<ParamKind::Values> {
  static Values get(Frame &frame, const Step &, const Arg &arg,
                    char *&scratch) {
    const Arg *elements = static_cast<const Arg *>(arg.pointer);
    auto **values = reinterpret_cast<const TVMFFIAny **>(scratch);
    for (uint32_t i = 0; i < arg.index; ++i)
      values[i] = frame.getValue(elements[i]);
    scratch += sizeof(void *) * arg.index;
    return {values, static_cast<int32_t>(arg.index)};
  }
};

// Every pair of a function and what it means in bytecode.
template <auto Function> struct Builtin;

template <typename Result, typename... Params, Result (*Function)(Params...)>
struct Builtin<Function> {
  static constexpr size_t numParams =
      (size_t(0) + ... + size_t(ParamTraits<Params>::isOperand));

  // The kinds of its operands; one more, as there may be none.
  struct Kinds {
    ParamKind kinds[numParams + 1] = {};
    constexpr Kinds() {
      size_t next = 0;
      ((ParamTraits<Params>::isOperand
            ? void(kinds[next++] = ParamTraits<Params>::kind)
            : void()),
       ...);
    }
  };
  static constexpr Kinds params{};

  static constexpr ResultKind result() {
    ResultKind found = ResultKind::None;
    ((found = ParamTraits<Params>::result != ResultKind::None
                  ? ParamTraits<Params>::result
                  : found),
     ...);
    return found;
  }

  // The operand that parameter `index` takes.
  static constexpr size_t position(size_t index) {
    const bool isOperand[] = {ParamTraits<Params>::isOperand..., false};
    size_t position = 0;
    for (size_t i = 0; i < index; ++i)
      position += isOperand[i];
    return position;
  }

  template <size_t... Index>
  static int call(Frame &frame, const Step &step,
                  std::index_sequence<Index...>) {
    [[maybe_unused]] char *scratch = frame.scratch;
    // In braces, so that lists are laid out from left to right.
    std::tuple<Params...> args{ParamTraits<Params>::get(
        frame, step,
        step.args[ParamTraits<Params>::isOperand ? position(Index) : 0],
        scratch)...};
    return std::apply(invoke, std::move(args));
  }

  static int invoke(Params... params) {
    if constexpr (std::is_void_v<Result>) {
      Function(params...);
      return 0;
    } else {
      return Function(params...);
    }
  }

  static int entry(Frame &frame, const Step &step) {
    return call(frame, step, std::index_sequence_for<Params...>());
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

const ParamKindInfo relax_runtime::vm::paramKindInfos[numParamKinds] = {
    {"site", "`site 0`: a place in the program, for errors"},
    {"value", "a register `%0` or a constant `#0`"},
    {"register", "a register `%0`"},
    {"int", "a heap slot `$0` or an integer `4`"},
    {"immediate", "an integer of 32 bits"},
    {"dtype", "a data type `float32`, or `void` where it is not known"},
    {"string", "`\"text\"`"},
    {"function", "`@name`: a function of the executable"},
    {"ints", "a list of ints `[$0, 4]`"},
    {"values", "a list of values `[%0, #1]`"},
};

const BuiltinInfo relax_runtime::vm::builtinInfos[] = {
#define RELAX_BUILTIN(name, function, operands, cFunction, summary)            \
  {#name,                                                                      \
   Builtin<function>::entry,                                                   \
   Builtin<function>::result(),                                                \
   Builtin<function>::params.kinds,                                            \
   Builtin<function>::numParams,                                               \
   operands,                                                                   \
   cFunction,                                                                  \
   summary},
#include "Builtins.def"
};
const size_t relax_runtime::vm::numBuiltins =
    sizeof(builtinInfos) / sizeof(BuiltinInfo);

int64_t relax_runtime::vm::findBuiltin(std::string_view name) {
  static const std::unordered_map<std::string_view, int64_t> indices = [] {
    std::unordered_map<std::string_view, int64_t> indices;
    for (size_t i = 0; i < numBuiltins; ++i)
      indices[builtinInfos[i].name] = static_cast<int64_t>(i);
    return indices;
  }();
  auto found = indices.find(name);
  return found == indices.end() ? -1 : found->second;
}
