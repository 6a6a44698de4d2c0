//===- StructInfoTest.cc - StructInfo at run time ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Closures against the StructInfo that is expected of them, in tables: the
// actual type, the expected type, and the reason where it does not fit.
//
//===----------------------------------------------------------------------===//

#include "Test.h"

#include <set>
#include <thread>

static int doNothing(void *, const TVMFFIAny *, int32_t, TVMFFIAny *) {
  return 0;
}

static const relax_site kCast = {"main", "match_cast", "G", ""};

static Slot makeClosure(const std::string &sinfo,
                        const std::vector<int64_t> &dims = {}) {
  static std::set<std::string> texts; // generated code has static ones
  Slot closure;
  CHECK(relax_closure_make(&kCast, closure, nullptr, doNothing, 0, nullptr,
                           texts.insert(sinfo).first->c_str(),
                           static_cast<int32_t>(dims.size()),
                           dims.data()) == 0);
  return closure;
}

static int check(const Slot &closure, const std::string &sinfo,
                 const std::vector<int64_t> &dims = {}) {
  return relax_closure_check(&kCast, closure, sinfo.c_str(),
                             static_cast<int32_t>(dims.size()), dims.data());
}

// The kind and the reason of the error, or "" where the closure fits.
static std::string reason(const std::string &actual,
                          const std::string &expected,
                          const std::vector<int64_t> &actualDims = {},
                          const std::vector<int64_t> &expectedDims = {}) {
  Slot closure = makeClosure(actual, actualDims);
  int code = check(closure, expected, expectedDims);
  // A StructInfo that was read once is kept.
  CHECK(check(closure, expected, expectedDims) == code);
  if (code == 0)
    return "";
  takeError();
  CHECK(check(closure, expected, expectedDims) == -1);
  std::string error = takeError();
  size_t kind = error.find(": main: match_cast: expected G, but got a closure "
                           "of ");
  size_t type = error.rfind(">: ");
  CHECK(kind != std::string::npos && type != std::string::npos);
  return error.substr(0, kind) + ": " + error.substr(type + 3);
}

// JSON of functions: func("T", "T") takes a T and returns one.
static std::string func(const std::string &params, const std::string &ret,
                        bool isPure = true) {
  return "{\"kind\": \"func\", \"params\": [" + params + "], \"ret\": " + ret +
         ", \"pure\": " + (isPure ? "true}" : "false}");
}

static std::string tensor(const std::string &dims,
                          const std::string &more = "") {
  return "{\"kind\": \"tensor\", \"dtype\": \"float32\", \"dims\": [" + dims +
         "]" + more + "}";
}

static std::string shape(const std::string &dims) {
  return "{\"kind\": \"shape\", \"dims\": [" + dims + "]}";
}

static std::string expr(const std::string &text, const std::string &vars) {
  return "{\"expr\": \"" + text + "\", \"vars\": [" + vars + "]}";
}

static const std::string kObject = "{\"kind\": \"object\"}";
static const std::string kTensor1 = "{\"kind\": \"tensor\", \"ndim\": 1, "
                                    "\"dtype\": \"float32\"}";

struct Case {
  std::string actual, expected, reason;
};

static void checkCases(const std::vector<Case> &cases) {
  for (const Case &c : cases)
    CHECK_TEXT(reason(c.actual, c.expected), c.reason);
}

// ST06, MC06: the number of parameters, purity, and what is not known.
static void testSignature() {
  const std::string unary = func(kObject, kObject);
  checkCases({
      {unary, unary, ""},
      {unary, "", ""},
      {unary, "{\"kind\": \"func\"}", ""},
      {unary, "{\"kind\": \"func\", \"pure\": true}", ""},
      {"", "{\"kind\": \"func\"}", ""},
      {unary, func(kObject, kObject, false), ""},
      {func(kObject, kObject, false), unary,
       "TypeError: purity: impure is not pure"},
      {unary, func("", kObject), "TypeError: number of parameters 1 is not 0"},
      {unary, func(kObject + "," + kObject, kObject),
       "TypeError: number of parameters 1 is not 2"},
      {"", unary,
       "TypeError: number of parameters unknown cannot be shown to be 1"},
      {func("", kObject), func("", kTensor1),
       "TypeError: result: !relax.object is not accepted as "
       "!relax.tensor<ndim = 1, f32>"},
      {"{\"kind\": \"func\", \"params\": [], \"pure\": true}",
       func("", kTensor1),
       "TypeError: result: !relax.object is not accepted as "
       "!relax.tensor<ndim = 1, f32>"},
  });
}

// ST06: parameters go the other way.
static void testVariance() {
  checkCases({
      {func(kObject, kTensor1), func(kTensor1, kObject), ""},
      {func(kTensor1, kObject), func(kObject, kObject),
       "TypeError: parameter 0: !relax.object is not accepted as "
       "!relax.tensor<ndim = 1, f32>"},
      {func(kObject + "," + func(kTensor1, kObject), kObject),
       func(kObject + "," + func(kObject, kObject), kObject), ""},
      {func(kObject + "," + func(kObject, kObject), kObject),
       func(kObject + "," + func(kTensor1, kObject), kObject),
       "TypeError: parameter 1: parameter 0: !relax.object is not accepted as "
       "!relax.tensor<ndim = 1, f32>"},
      {func("", func("", kObject, false)), func("", func("", kObject)),
       "TypeError: result: purity: impure is not pure"},
  });
}

// ST02: tensors.
static void testTensors() {
  const auto returns = [](const std::string &ret) { return func("", ret); };
  const std::string any = "{\"kind\": \"tensor\"}";
  const std::string half = "{\"kind\": \"tensor\", \"dtype\": \"float16\"}";
  const std::string onCpu1 = tensor("2", ", \"device\": [1, 1]");
  checkCases({
      {returns(tensor("2")), returns(any), ""},
      {returns(tensor("2")), returns(kTensor1), ""},
      {returns(tensor("2, 3")), returns(kTensor1),
       "ValueError: result: rank 2 is not 1"},
      {returns(any), returns(kTensor1),
       "TypeError: result: data type unknown cannot be shown to be float32"},
      {returns(half), returns(kTensor1),
       "TypeError: result: data type float16 is not float32"},
      {returns("{\"kind\": \"tensor\", \"dtype\": \"float32\"}"),
       returns(kTensor1),
       "ValueError: result: rank unknown cannot be shown to be 1"},
      {returns(tensor("2, 3")), returns(tensor("2, 4")),
       "ValueError: result: dimension 1: 3 is not 4"},
      {returns(kTensor1), returns(tensor("2")),
       "ValueError: result: dimension 0: unknown cannot be shown to be 2"},
      {returns(onCpu1), returns(tensor("2")), ""},
      {returns(onCpu1), returns(tensor("2", ", \"device\": [1, 0]")),
       "ValueError: result: device cpu:1 is not cpu:0"},
      {returns(tensor("2")), returns(onCpu1),
       "ValueError: result: device unknown cannot be shown to be cpu:1"},
  });
}

// ST03, ST04, ST05: the other values.
static void testOthers() {
  const auto returns = [](const std::string &ret) { return func("", ret); };
  const auto tuple = [](const std::string &fields) {
    return "{\"kind\": \"tuple\", \"fields\": [" + fields + "]}";
  };
  const auto prim = [](const std::string &more) {
    return "{\"kind\": \"prim\", \"dtype\": \"int64\"" + more + "}";
  };
  const std::string packed = "{\"kind\": \"packed\"}";
  checkCases({
      {returns(shape("2")), returns("{\"kind\": \"shape\"}"), ""},
      {returns(shape("2")), returns(shape("3")),
       "ValueError: result: dimension 0: 2 is not 3"},
      {returns(prim(", \"value\": 3")), returns(prim("")), ""},
      {returns(prim(", \"value\": 3")), returns(prim(", \"value\": 4")),
       "ValueError: result: value: 3 is not 4"},
      {returns(prim("")), returns(prim(", \"value\": 4")),
       "ValueError: result: value: unknown cannot be shown to be 4"},
      {returns("{\"kind\": \"prim\", \"dtype\": \"int32\"}"), returns(prim("")),
       "TypeError: result: data type int32 is not int64"},
      {returns(tuple(shape("2") + "," + kTensor1)),
       returns(tuple("{\"kind\": \"shape\"}," + kObject)), ""},
      {returns(tuple(kObject)), returns("{\"kind\": \"tuple\"}"), ""},
      {returns(tuple(kObject)), returns(tuple("")),
       "ValueError: result: number of fields 1 is not 0"},
      {returns("{\"kind\": \"tuple\"}"), returns(tuple("")),
       "ValueError: result: number of fields unknown cannot be shown to be 0"},
      {returns(tuple(kObject + "," + tuple(kObject))),
       returns(tuple(kObject + "," + tuple(packed))),
       "TypeError: result: field 1: field 0: !relax.object is not accepted as "
       "a packed function"},
      {returns(packed), returns(packed), ""},
      {returns(func("", kObject)), returns(packed),
       "TypeError: result: !relax.func<() -> !relax.object, pure> is not "
       "accepted as a packed function"},
  });
}

// MC06: variables by their place, whatever their names.
static void testVariables() {
  const std::string m = tensor("\"m\""), n = tensor("\"n\"");
  const std::string four = tensor("4");
  checkCases({
      {func(m, m), func(n, n), ""},
      {func(m, m), func(four, four), ""},
      {func(m, m), func(four, tensor("5")),
       "ValueError: result: dimension 0: 4 is not 5"},
      {func(four, four), func(m, kObject),
       "ValueError: parameter 0: dimension 0: m cannot be shown to be 4"},
      {func(m + "," + n, m), func(m + "," + n, n),
       "ValueError: result: dimension 0: m cannot be shown to be n"},
      // One variable in two places, and two in one.
      {func(m + "," + m, kObject), func(m + "," + n, kObject),
       "ValueError: parameter 1: dimension 0: n cannot be shown to be m"},
      {func(m + "," + n, kObject), func(m + "," + m, kObject), ""},
      {func(n + "," + m, n), func(m + "," + n, m), ""},
      // A variable takes any dimension, known or not, but keeps it.
      {func(m, kTensor1), func(kTensor1, kTensor1), ""},
      {func(m + "," + m, kObject), func(kTensor1 + "," + kTensor1, kObject),
       "ValueError: parameter 1: dimension 0: unknown cannot be shown to be "
       "unknown"},
      {func(m, m), func(kTensor1, four),
       "ValueError: result: dimension 0: unknown cannot be shown to be 4"},
      {func(m, kObject),
       func("{\"kind\": \"tensor\", \"dtype\": "
            "\"float32\"}",
            kObject),
       "ValueError: parameter 0: rank unknown cannot be shown to be 1"},
      // Shapes, values and fields of tuples bind too, in any order.
      {func(tensor(expr("m * 2", "\"m\"")) + "," + shape("\"m\""), m),
       func(tensor("8") + "," + shape("4"), four), ""},
      {func("{\"kind\": \"prim\", \"value\": \"m\"}", m),
       func("{\"kind\": \"prim\", \"value\": 4}", four), ""},
      {func("{\"kind\": \"tuple\", \"fields\": [" + kObject + "," + m + "]}",
            m),
       func("{\"kind\": \"tuple\", \"fields\": [" + kObject + "," + n + "]}",
            n),
       ""},
      // A variable that nothing binds is equal to nothing.
      {func("", m), func("", tensor("\"n\"")),
       "ValueError: result: dimension 0: m cannot be shown to be n"},
  });
}

// MC06: a function among the parameters has variables of its own, unless the
// function around it binds them.
static void testNestedVariables() {
  const std::string m = tensor("\"m\""), n = tensor("\"n\"");
  const std::string four = tensor("4");
  checkCases({
      {func(func(m, m), kObject), func(func(n, n), kObject), ""},
      {func(func(four, four), kObject), func(func(n, n), kObject), ""},
      {func(func(m, m), kObject), func(func(four, four), kObject),
       "ValueError: parameter 0: parameter 0: dimension 0: m cannot be shown "
       "to be 4"},
      {func(m + "," + func(m, m), m), func(four + "," + func(four, four), four),
       ""},
      {func(m + "," + func(m, m), m), func(n + "," + func(n, n), n), ""},
      {func(m + "," + func(m, m), m), func(n + "," + func(m, m), n), ""},
      {func(m, func(n, m)), func(n, func(m, n)), ""},
      {func(m, func(n, n)), func(n, func(m, n)),
       "ValueError: result: result: dimension 0: m cannot be shown to be n"},
  });
}

// Dimensions that are expressions, under other names.
static void testExpressions() {
  const std::string mn = tensor("\"m\", \"n\""), ba = tensor("\"b\", \"a\"");
  const auto takes = [&](const std::string &text) {
    return func(mn, tensor(expr(text, "\"m\", \"n\"")));
  };
  const auto wants = [&](const std::string &text) {
    return func(ba, tensor(expr(text, "\"a\", \"b\"")));
  };
  const auto wantsFor = [&](const std::string &dims, const std::string &dim) {
    return func(tensor(dims), tensor(dim));
  };
  const std::string cannot = "ValueError: result: dimension 0: ";
  checkCases({
      {takes("m + n"), wants("a + b"), ""},
      {takes("m * n * 2 - 3"), wants("a * b * 2 - 3"), ""},
      {takes("-m + n"), wants("a - b"), ""},
      {takes("m + n"), wants("a + b * 2"),
       cannot + "a + b cannot be shown to be a + b * 2"},
      {takes("m floordiv 2 * n"), wants("a * (b floordiv 2)"), ""},
      {takes("m floordiv 2 * n"), wants("b floordiv (a * 2)"),
       cannot + "(b floordiv 2) * a cannot be shown to be (b floordiv (a * "
                "2))"},
      {takes("n * (m floordiv 2)"), wants("a * (b floordiv 2)"), ""},
      {takes("min(m, n)"), wants("min(a, b)"), ""},
      {takes("lt(m, n)"), wants("lt(b, a)"), ""},
      {takes("lt(m, n)"), wants("lt(a, b)"),
       cannot + "lt(b, a) cannot be shown to be lt(a, b)"},
      {takes("(m + 5) mod n"), wants("(b + 5) mod a"), ""},
      {takes("m mod n"), wants("b floordiv a"),
       cannot + "(b mod a) cannot be shown to be (b floordiv a)"},
      // With values in the place of variables.
      {takes("m * n + 1"), wantsFor("3, 5", "16"), ""},
      {takes("m * n + 1"), wantsFor("3, 5", "15"), cannot + "16 is not 15"},
      {takes("(0 - m) floordiv n"), wantsFor("7, 2", "-4"), ""},
      {takes("(0 - m) mod n"), wantsFor("7, 2", "1"), ""},
      {takes("max(m, n) + min(m, n)"), wantsFor("7, 2", "9"), ""},
      {takes("m * n"), wantsFor("0, \"k\"", "0"), ""},
      {takes("m mod n"), wantsFor("7, 0", "0"),
       cannot + "{(7) mod (0)} cannot be shown to be 0"},
      // An expression that overflows, or is of an unknown grammar, is compared
      // as text.
      {takes("m * 9223372036854775807 * 2"),
       wants("b * 9223372036854775807 * 2"), ""},
      {takes("m << n"), wants("b << a"), ""},
      {takes("m << n"), wants("a << b"),
       cannot + "{(b) << (a)} cannot be shown to be {(a) << (b)}"},
  });
}

// MC06: captured dimensions are values.
static void testCaptured() {
  const std::string captured =
      func(tensor("{\"capture\": 1}"), tensor("\"m\""));
  const std::string four = func(tensor("4"), kTensor1);
  CHECK_TEXT(reason(captured, four, {3, 4}), "");
  CHECK_TEXT(reason(captured, four, {4, 3}),
             "ValueError: parameter 0: dimension 0: 4 is not 3");
  CHECK_TEXT(reason(captured, captured, {3, 4}, {3, 4}), "");
  CHECK_TEXT(reason(captured, captured, {3, 4}, {3, 5}),
             "ValueError: parameter 0: dimension 0: 5 is not 4");
  const auto product = [](const char *expr, const char *captures) {
    return func(tensor("\"m\""),
                tensor("{\"expr\": \"" + std::string(expr) +
                       "\", \"vars\": [\"m\"], \"captures\": {" + captures +
                       "}}"));
  };
  const std::string mk = product("m * k + k", "\"k\": 0");
  CHECK_TEXT(reason(mk, product("m * 3 + 3", ""), {3}), "");
  CHECK_TEXT(reason(mk, product("m * i + i", "\"i\": 1"), {-3}, {0, -3}), "");
  CHECK_TEXT(reason(mk, mk, {3}, {4}),
             "ValueError: result: dimension 0: m * 3 + 3 cannot be shown to be "
             "m * 4 + 4");
}

// MC06, MC07: the whole message.
static void testErrorMessage() {
  Slot closure = makeClosure(
      func(tensor("\"m\", {\"capture\": 0}", ", \"device\": [1, 1]") + "," +
               "{\"kind\": \"prim\", \"dtype\": \"bool\"}",
           "{\"kind\": \"tuple\", \"fields\": [{\"kind\": \"tensor\"}, " +
               shape("\"m\"") + "]}",
           false),
      {7});
  CHECK_RAISES(
      check(closure, func("", kObject)), "TypeError",
      "main: match_cast: expected G, but got a closure of "
      "!relax.func<(!relax.tensor<[m, 7], f32, cpu:1>, !relax.prim<i1>) -> "
      "!relax.tuple<!relax.tensor<*>, !relax.shape<[m]>>, impure>: number of "
      "parameters 2 is not 0");
  Slot packed(ffi::Function::FromTyped([](int64_t x) { return x; }));
  CHECK_RAISES(check(packed, ""), "TypeError",
               "main: match_cast: expected G, but got a packed function, not a "
               "closure");
  CHECK_RAISES(check(Slot(int64_t(3)), ""), "TypeError",
               "main: match_cast: expected G, but got the integer 3");
}

// Text that is no StructInfo raises an error, wherever it comes from.
static void testInvalidText() {
  const std::string json = "{\"kind\": \"func\", \"ret\": ";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{",
       "Expecting property name enclosed in double quotes: line 1 column 2 "
       "(char 1)"},
      {"[]", "expected an object with a kind, but got []"},
      {json + "{\"kind\": \"map\"}}",
       "expected an object with a kind, but got {\"kind\":\"map\"}"},
      {json + tensor("1.5") + "}", "expected a dimension, but got 1.5"},
      {json + tensor("\"m + 1\"") + "}",
       "expected the name of a variable, but got \"m + 1\""},
      {json + tensor("{\"capture\": 1}") + "}",
       "expected the index of one of 1 captured dimension, but got 1"},
      {json + tensor("{}") + "}", "expected a dimension, but got {}"},
      {json + tensor("2", ", \"ndim\": 2") + "}",
       "expected 2 dimensions, but got [2]"},
      {json + tensor("2", ", \"device\": [1]") + "}",
       "expected the type and the id of a device, but got [1]"},
      {"{\"kind\": \"func\", \"params\": 3}", "expected an array, but got 3"},
      {"{\"kind\": \"func\", \"pure\": 1}",
       "expected true or false as pure, but got 1"},
      {std::string(100000, '['), "the text nests deeper than 400 levels"},
  };
  for (const auto &[text, message] : cases) {
    Slot closure = makeClosure(text, {5});
    CHECK_RAISES(check(closure, func("", kObject)), "ValueError",
                 "StructInfo: " + message);
  }
}

// Deep, but not too deep.
static void testNesting() {
  std::string text = kObject, dim = "\"m\"";
  for (int i = 0; i < 190; ++i)
    text = func(text, kObject);
  CHECK_TEXT(reason(text, text + " "), "");
  std::string sum = "m";
  for (int i = 0; i < 5000; ++i)
    sum = "(" + sum + ")";
  const std::string f = func(tensor(dim), tensor(expr(sum, dim)));
  CHECK_TEXT(reason(f, f + " "), "");
}

static std::string structInfo(const Slot &function) {
  ffi::Any text = ffi::Function::GetGlobalRequired(
      "relax_mlir.runtime.function_struct_info")(function.any);
  return text == nullptr ? "None" : std::string(text.cast<ffi::String>());
}

// The result of reading is what was written, with captured dimensions filled
// in.
static void testStructInfo() {
  const std::string text =
      R"({"kind":"func","params":[{"kind":"tensor","ndim":2,"dtype":"float32",)"
      R"("dims":["m",{"capture":0}],"device":[1,0]},{"kind":"object"},)"
      R"({"kind":"prim","dtype":"int64","value":{"expr":"m * k","vars":["m"],)"
      R"("captures":{"k":0}}},{"kind":"packed"}],"ret":{"kind":"tuple",)"
      R"("fields":[{"kind":"shape","ndim":-1},{"kind":"shape","ndim":1,)"
      R"("dims":[{"expr":"k + 1","captures":{"k":0}}]}]},"pure":true})";
  const std::string filled =
      R"({"kind":"func","params":[{"kind":"tensor","ndim":2,"dtype":"float32",)"
      R"("dims":["m",7],"device":[1,0]},{"kind":"object"},)"
      R"({"kind":"prim","dtype":"int64","value":{"expr":"m * 7","vars":["m"]}})"
      R"(,{"kind":"packed"}],"ret":{"kind":"tuple",)"
      R"("fields":[{"kind":"shape","ndim":-1},{"kind":"shape","ndim":1,)"
      R"("dims":[8]}]},"pure":true})";
  CHECK_TEXT(structInfo(makeClosure(text, {7})), filled);
  CHECK_TEXT(structInfo(makeClosure(filled)), filled);
  CHECK_TEXT(structInfo(makeClosure("")), R"({"kind":"func","pure":false})");
  CHECK_TEXT(
      structInfo(Slot(ffi::Function::FromTyped([](int64_t x) { return x; }))),
      "None");
}

// Threads read the same closure for the first time at once.
static void testThreads() {
  const std::string m = tensor("\"m\""), four = tensor("4");
  for (int round = 0; round < 50; ++round) {
    Slot closure = makeClosure(func(m, m));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back(
          [&] { CHECK(check(closure, func(four, four)) == 0); });
    for (std::thread &thread : threads)
      thread.join();
  }
}

void testStructInfoOfClosures() {
  testSignature();
  testVariance();
  testTensors();
  testOthers();
  testVariables();
  testNestedVariables();
  testExpressions();
  testCaptured();
  testErrorMessage();
  testInvalidText();
  testNesting();
  testStructInfo();
  testThreads();
}
