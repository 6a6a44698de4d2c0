//===- PtxArithmeticTest.cc - Arithmetic of the PTX interpreter  -*- C++
//-*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Single instructions on a few values.
//
//===----------------------------------------------------------------------===//

#include "PtxTest.h"

#include <cmath>
#include <cstdio>
#include <limits>

// An instruction from %r1 %r2 %r3 to %r0, or so for other registers: what
// stands for the register is $.
struct Case {
  const char *text;
  uint64_t a, b, c, expected;
};

static std::string replaceAll(std::string text, const std::string &from,
                              const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Runs all cases in one kernel, each by its own thread.
static void runCases(const std::vector<Case> &cases, const std::string &name,
                     const std::string &type) {
  std::string body = "ld.global.u64 %rd30, [%in];\n";
  std::vector<uint64_t> in;
  Buffer values(cases.size() * 24);
  for (size_t i = 0; i < cases.size(); ++i)
    for (uint64_t value : {cases[i].a, cases[i].b, cases[i].c})
      in.push_back(value);
  CHECK(driver().cuMemcpyHtoD(values.address, in.data(), values.bytes) == 0);
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string next = "$L_" + std::to_string(i);
    body += "setp.ne.u32 %p1, %i, " + std::to_string(i) + ";\n@%p1 bra " +
            next + ";\n";
    for (int k = 0; k < 3; ++k)
      body += "ld.global." + type + " " + name + std::to_string(k + 1) +
              ", [%rd30+" + std::to_string(24 * i + 8 * k) + "];\n";
    body += replaceAll(cases[i].text, "$", name) + "\nst.global." + type +
            " [%out], " + name + "0;\n" + next + ":\n";
  }
  Sizes sizes;
  sizes.threads = static_cast<unsigned>(cases.size());
  std::vector<uint64_t> words =
      runBody(body, std::vector<uint64_t>(cases.size(), values.address), sizes);
  for (size_t i = 0; i < cases.size(); ++i) {
    char expected[80], actual[80];
    std::snprintf(expected, sizeof(expected), "%s %016llx", cases[i].text,
                  (unsigned long long)cases[i].expected);
    std::snprintf(actual, sizeof(actual), "%s %016llx", cases[i].text,
                  (unsigned long long)words[i]);
    CHECK_TEXT(actual, expected);
  }
}

static void testIntegers() {
  constexpr uint32_t kMin = 0x80000000u, kMinusOne = 0xffffffffu;
  runCases({{"add.s32 $0, $1, $2;", 5, kMinusOne, 0, 4},
            {"sub.u32 $0, $1, $2;", 5, 6, 0, kMinusOne},
            {"add.sat.s32 $0, $1, $2;", 0x7fffffff, 1, 0, 0x7fffffff},
            {"sub.sat.s32 $0, $1, $2;", kMin, 1, 0, kMin},
            {"mul.lo.s32 $0, $1, $2;", 0x10001, 0x10001, 0, 0x20001},
            {"mul.hi.s32 $0, $1, $2;", kMinusOne, 2, 0, kMinusOne},
            {"mul.hi.u32 $0, $1, $2;", kMinusOne, 2, 0, 1},
            {"mad.lo.s32 $0, $1, $2, $3;", 3, 4, 5, 17},
            {"mad.hi.u32 $0, $1, $2, $3;", kMinusOne, 4, 5, 8},
            {"mul24.lo.s32 $0, $1, $2;", 0x1ffffff, 3, 0, uint32_t(-3)},
            {"div.s32 $0, $1, $2;", uint32_t(-7), 2, 0, uint32_t(-3)},
            {"div.s32 $0, $1, $2;", kMin, kMinusOne, 0, kMin},
            {"div.u32 $0, $1, $2;", uint32_t(-7), 2, 0, 0x7ffffffc},
            {"div.u32 $0, $1, $2;", 7, 0, 0, kMinusOne},
            {"rem.s32 $0, $1, $2;", uint32_t(-7), 2, 0, kMinusOne},
            {"rem.u32 $0, $1, $2;", 7, 3, 0, 1},
            {"min.s32 $0, $1, $2;", kMinusOne, 1, 0, kMinusOne},
            {"min.u32 $0, $1, $2;", kMinusOne, 1, 0, 1},
            {"max.s32 $0, $1, $2;", kMinusOne, 1, 0, 1},
            {"abs.s32 $0, $1;", uint32_t(-9), 0, 0, 9},
            {"neg.s32 $0, $1;", 9, 0, 0, uint32_t(-9)},
            {"sad.s32 $0, $1, $2, $3;", 3, uint32_t(-4), 10, 17},
            {"sad.u32 $0, $1, $2, $3;", 3, 7, 10, 14},
            {"and.b32 $0, $1, 12;", 10, 0, 0, 8},
            {"or.b32 $0, $1, $2;", 10, 12, 0, 14},
            {"xor.b32 $0, $1, $2;", 10, 12, 0, 6},
            {"not.b32 $0, $1;", 10, 0, 0, ~10u},
            {"add.s16x2 $0, $1, $2;", 0x1ffff, 0x20003, 0, 0x30002},
            {"max.s16x2 $0, $1, $2;", 0x1ffff, 0xfffe0003, 0, 0x10003},
            {"madc.hi.u32 $0, $1, $2, $3;", 0x10000, 0x20000, 1, 3},
            {"cnot.b32 $0, $1;", 0, 0, 0, 1},
            {"add.cc.u32 $4, $1, $1; addc.u32 $0, $2, $3;", kMin, 2, 3, 6},
            {"sub.cc.u32 $4, $1, $2; subc.u32 $0, $3, 0;", 1, 2, 3, 2},
            {"dp4a.s32.s32 $0, $1, $2, $3;", 0x01ff0203, 0x04030201, 10, 18}},
           "%r", "u32");
  runCases({{"add.s64 $0, $1, $2;", 5, ~0ull, 0, 4},
            {"mul.hi.u64 $0, $1, $2;", ~0ull, 3, 0, 2},
            {"mul.hi.s64 $0, $1, $2;", ~0ull, 3, 0, ~0ull},
            {"mad.lo.s64 $0, $1, $2, $3;", 1ull << 40, 4, 5, (1ull << 42) + 5},
            {"div.s64 $0, $1, $2;", uint64_t(-9), 2, 0, uint64_t(-4)},
            {"rem.u64 $0, $1, $2;", 9, 0, 0, 9},
            {"abs.s64 $0, $1;", uint64_t(-9), 0, 0, 9},
            {"cvt.u32.u64 %r1, $1; mul.wide.s32 $0, %r1, -3;", 5, 0, 0,
             uint64_t(-15)},
            {"cvt.u32.u64 %r1, $1; mad.wide.u32 $0, %r1, 3, $2;", 5, 1, 0, 16},
            {"max.u64 $0, $1, $2;", 5, ~0ull, 0, ~0ull}},
           "%rd", "u64");
  runCases(
      {{"add.s16 $0, $1, $2;", 0xffff, 2, 0, 1},
       {"mul.lo.s16 $0, $1, $2;", 0x101, 0x101, 0, 0x201},
       {"min.s16 $0, $1, $2;", 0xffff, 2, 0, 0xffff},
       {"div.s16 $0, $1, $2;", 0xfff7, 2, 0, 0xfffc},
       {"shr.s16 $0, $1, 3;", 0x8000, 0, 0, 0xf000},
       {"mul.wide.s16 %r1, $1, $2; cvt.u16.u32 $0, %r1;", 0xffff, 2, 0, 0xfffe},
       {"not.b16 $0, $1;", 1, 0, 0, 0xfffe}},
      "%h", "u16");
}

void testBits() {
  runCases(
      {{"shl.b32 $0, $1, $2;", 3, 4, 0, 48},
       {"shl.b32 $0, $1, $2;", 3, 32, 0, 0},
       {"shr.u32 $0, $1, $2;", 0x80000000, 31, 0, 1},
       {"shr.s32 $0, $1, $2;", 0x80000000, 99, 0, 0xffffffff},
       {"shf.l.wrap.b32 $0, $1, $2, $3;", 0x80000000, 1, 33, 3},
       {"shf.r.clamp.b32 $0, $1, $2, $3;", 1, 5, 40, 5},
       {"popc.b32 $0, $1;", 0xf0f, 0, 0, 8},
       {"clz.b32 $0, $1;", 1, 0, 0, 31},
       {"clz.b32 $0, $1;", 0, 0, 0, 32},
       {"bfind.s32 $0, $1;", 0xfffffff0, 0, 0, 3},
       {"bfind.u32 $0, $1;", 0, 0, 0, 0xffffffff},
       {"bfind.shiftamt.u32 $0, $1;", 1, 0, 0, 31},
       {"brev.b32 $0, $1;", 6, 0, 0, 0x60000000},
       {"bfe.u32 $0, $1, 4, 8;", 0xabcd, 0, 0, 0xbc},
       {"bfe.s32 $0, $1, 4, 8;", 0xabcd, 0, 0, 0xffffffbc},
       {"bfe.s32 $0, $1, 28, 8;", 0x80000000, 0, 0, 0xfffffff8},
       {"bfi.b32 $0, $1, $2, 8, 4;", 0x5, 0xffffffff, 0, 0xfffff5ff},
       {"prmt.b32 $0, $1, $2, 0x7610;", 0x33221100, 0x77665544, 0, 0x77661100},
       {"prmt.b32 $0, $1, $2, 0x8;", 0x80, 0, 0, 0x808080ff},
       {"lop3.b32 $0, $1, $2, $3, 0x80;", 14, 7, 6, 6},
       {"bmsk.clamp.b32 $0, 4, 8;", 0, 0, 0, 0xff0},
       {"szext.clamp.s32 $0, $1, 4;", 0x18, 0, 0, 0xfffffff8},
       {"mov.b32 {%h1, %h2}, $1; mov.b32 $0, {%h2, %h1};", 0x12345678, 0, 0,
        0x56781234},
       {"mov.b64 %rd1, {$1, $2}; mov.b64 {_, $0}, %rd1;", 1, 2, 0, 2},
       {"setp.lt.s32 %p1|%p2, $1, $2; selp.b32 $0, 7, 9, %p2;", 1, 2, 0, 9},
       {"setp.lo.and.u32 %p1, $1, $2, !%p3; selp.b32 $0, 7, 9, %p1;", 1, 2, 0,
        7},
       {"set.eq.u32.u32 $0, $1, $2;", 5, 5, 0, 0xffffffff},
       {"slct.b32.s32 $0, $1, $2, $3;", 5, 6, 0xffffffff, 6},
       {"mov.b32 $0, WARP_SZ;", 0, 0, 0, 32}},
      "%r", "u32");
  runCases({{"shl.b64 $0, $1, 33;", 3, 0, 0, 3ull << 33},
            {"popc.b64 %r1, $1; cvt.u64.u32 $0, %r1;", ~0ull, 0, 0, 64},
            {"clz.b64 %r1, $1; cvt.u64.u32 $0, %r1;", 1, 0, 0, 63},
            {"brev.b64 $0, $1;", 1, 0, 0, 1ull << 63},
            {"bfe.u64 $0, $1, 32, 32;", 5ull << 32, 0, 0, 5},
            {"mov.b64 $0, {%h1, %h1, %h1, %h1};", 0, 0, 0, 0},
            {"mov.u64 $0, 0xFFFFFFFFFFFFFFFF;", 0, 0, 0, ~0ull}},
           "%rd", "b64");
}

static void testFloats() {
  const float nan = std::nanf(""), inf = HUGE_VALF;
  auto f = [](float value) { return uint64_t(bitsOf(value)); };
  const uint64_t one = f(1), two = f(2), tiny = 1; // a denormal
  runCases(
      {{"add.f32 $0, $1, $2;", one, two, 0, f(3)},
       {"sub.rn.f32 $0, $1, $2;", one, two, 0, f(-1)},
       {"mul.f32 $0, $1, 0f40400000;", two, 0, 0, f(6)},
       {"fma.rn.f32 $0, $1, $1, $2;", f(1 + 0x1p-12f), f(-1 - 0x1p-11f), 0,
        f(0x1p-24f)},
       {"fma.rm.f32 $0, $1, $2, $3;", f(3), f(0x1p-25f), one, one},
       {"fma.rp.f32 $0, $1, $2, $3;", f(3), f(0x1p-25f), one, f(1 + 0x1p-23f)},
       {"add.rz.f32 $0, $1, $2;", one, f(0x1.8p-24f), 0, one},
       {"add.ftz.f32 $0, $1, $2;", tiny, 0, 0, 0},
       {"add.sat.f32 $0, $1, $2;", one, two, 0, one},
       {"div.rn.f32 $0, $1, $2;", one, f(3), 0, f(1.0f / 3)},
       {"div.full.f32 $0, $1, $2;", one, f(0), 0, f(inf)},
       {"rcp.rn.f32 $0, $1;", two, 0, 0, f(0.5f)},
       {"rcp.rz.f32 $0, $1;", f(3), 0, 0, f(0.33333331f)},
       {"sqrt.rn.f32 $0, $1;", two, 0, 0, f(std::sqrt(2.0f))},
       {"rsqrt.approx.f32 $0, $1;", f(4), 0, 0, f(0.5f)},
       {"ex2.approx.ftz.f32 $0, $1;", f(3), 0, 0, f(8)},
       {"lg2.approx.f32 $0, $1;", f(8), 0, 0, f(3)},
       {"sin.approx.f32 $0, $1;", f(0), 0, 0, f(0)},
       {"cos.approx.f32 $0, $1;", f(0), 0, 0, one},
       {"tanh.approx.f32 $0, $1;", f(0), 0, 0, f(0)},
       {"min.f32 $0, $1, $2;", f(nan), two, 0, two},
       {"max.NaN.f32 $0, $1, $2;", f(nan), two, 0, f(nan)},
       {"max.f32 $0, $1, $2;", f(-0.0f), f(0), 0, f(0)},
       {"min.f32 $0, $1, $2;", f(0), f(-0.0f), 0, f(-0.0f)},
       {"abs.f32 $0, $1;", f(-2), 0, 0, two},
       {"neg.f32 $0, $1;", two, 0, 0, f(-2)},
       {"copysign.f32 $0, $1, $2;", f(-0.0f), two, 0, f(-2)},
       {"testp.infinite.f32 %p1, $1; selp.f32 $0, $2, $3, %p1;", f(inf), one,
        two, one},
       {"setp.ltu.f32 %p1, $1, $2; selp.f32 $0, $2, $3, %p1;", f(nan), one, two,
        one},
       {"setp.lt.f32 %p1, $1, $2; selp.f32 $0, $2, $3, %p1;", f(nan), one, two,
        two},
       {"setp.nan.f32 %p1, $1, $1; selp.f32 $0, $2, $3, %p1;", f(nan), one, two,
        one},
       {"setp.neu.f32 %p1, $1, $1; selp.f32 $0, $2, $3, %p1;", one, one, two,
        two},
       {"set.gt.f32.f32 $0, $1, $2;", two, one, 0, one}},
      "%f", "b32");
  auto d = [](double value) { return bitsOf(value); };
  runCases(
      {{"add.f64 $0, $1, $2;", d(1), d(2), 0, d(3)},
       {"fma.rn.f64 $0, $1, $2, $3;", d(3), d(4), d(5), d(17)},
       {"div.rn.f64 $0, $1, $2;", d(1), d(3), 0, d(1.0 / 3)},
       {"div.rp.f64 $0, $1, $2;", d(1), d(3), 0, d(std::nextafter(1.0 / 3, 1))},
       {"sqrt.rn.f64 $0, $1;", d(2), 0, 0, d(std::sqrt(2.0))},
       {"mul.f64 $0, $1, 0d4000000000000000;", d(4), 0, 0, d(8)},
       {"max.f64 $0, $1, $2;", d(-1), d(2), 0, d(2)},
       {"neg.f64 $0, $1;", d(2), 0, 0, d(-2)}},
      "%fd", "b64");
}

static void testSmallFloats() {
  // 1, 2, 3, 0.5, infinity
  constexpr uint64_t one = 0x3c00, two = 0x4000, three = 0x4200, inf = 0x7c00;
  runCases(
      {{"add.f16 $0, $1, $2;", one, two, 0, three},
       {"mul.rn.f16 $0, $1, $2;", 0x7bff, two, 0, inf},
       {"fma.rn.f16 $0, $1, $2, $3;", one, two, one, three},
       {"fma.rn.relu.f16 $0, $1, $2, $3;", one, two, 0xc400, 0},
       {"max.f16 $0, $1, $2;", one, 0x7e00, 0, one},
       {"neg.f16 $0, $1;", one, 0, 0, 0xbc00},
       {"abs.f16 $0, $1;", 0xbc00, 0, 0, one},
       {"tanh.approx.f16 $0, $1;", 0, 0, 0, 0},
       {"ex2.approx.f16 $0, $1;", one, 0, 0, two},
       {"setp.gt.f16 %p1, $1, $2; selp.b16 $0, $1, $2, %p1;", one, two, 0, two},
       {"sub.f16 $0, $1, $2;", 0x0001, 0x0002, 0, 0x8001},
       {"fma.rn.bf16 $0, $1, $2, $3;", 0x3f80, 0x4000, 0x3f80, 0x4040},
       {"max.NaN.bf16 $0, $1, $2;", 0x3f80, 0x7fc0, 0, 0x7fff},
       {"ex2.approx.ftz.bf16 $0, $1;", 0x3f80, 0, 0, 0x4000}},
      "%h", "b16");
  runCases({{"add.f16x2 $0, $1, $2;", 0x3c004000, 0x3c003c00, 0, 0x40004200},
            {"fma.rn.bf16x2 $0, $1, $2, $3;", 0x3f803f80, 0x40003f80,
             0x3f803f80, 0x40404000},
            {"neg.bf16x2 $0, $1;", 0x3f803f80, 0, 0, 0xbf80bf80},
            {"min.f16x2 $0, $1, $2;", 0x3c004000, 0x40003c00, 0, 0x3c003c00},
            {"setp.eq.f16x2 %p1|%p2, $1, $2; selp.b32 $0, $1, $2, %p2;",
             0x3c004000, 0x3c003c00, 0, 0x3c004000}},
           "%r", "b32");
}

void testArithmetic() {
  testIntegers();
  testFloats();
  testSmallFloats();
}

void testConversions() {
  auto f = [](float value) { return uint64_t(bitsOf(value)); };
  auto d = [](double value) { return bitsOf(value); };
  runCases(
      {{"cvt.s32.s8 $0, $1;", 0x80, 0, 0, 0xffffff80},
       {"cvt.u32.u8 $0, $1;", 0x180, 0, 0, 0x80},
       {"cvt.sat.s8.s32 $0, $1;", 300, 0, 0, 127},
       {"cvt.sat.u8.s32 $0, $1;", uint32_t(-4), 0, 0, 0},
       {"cvt.u16.u32 %h1, $1; cvt.s32.s16 $0, %h1;", 0xffff, 0, 0, 0xffffffff},
       {"cvt.rn.f32.s32 $0, $1;", uint32_t(-3), 0, 0, f(-3)},
       {"cvt.rn.f32.u32 $0, $1;", 0xffffffff, 0, 0, f(4294967296.0f)},
       {"cvt.rz.f32.u32 $0, $1;", 0xffffffff, 0, 0, f(4294967040.0f)},
       {"cvt.rzi.s32.f32 $0, $1;", f(-2.7f), 0, 0, uint32_t(-2)},
       {"cvt.rmi.s32.f32 $0, $1;", f(-2.1f), 0, 0, uint32_t(-3)},
       {"cvt.rni.s32.f32 $0, $1;", f(2.5f), 0, 0, 2},
       {"cvt.rpi.s32.f32 $0, $1;", f(2.1f), 0, 0, 3},
       {"cvt.rzi.s32.f32 $0, $1;", f(1e20f), 0, 0, 0x7fffffff},
       {"cvt.rzi.u32.f32 $0, $1;", f(-5), 0, 0, 0},
       {"cvt.rzi.s32.f32 $0, $1;", f(std::nanf("")), 0, 0, 0},
       {"cvt.rmi.f32.f32 $0, $1;", f(2.9f), 0, 0, f(2)},
       {"cvt.sat.f32.f32 $0, $1;", f(2.9f), 0, 0, f(1)},
       {"cvt.rn.f16.f32 %h1, $1; cvt.f32.f16 $0, %h1;", f(1.0004885f), 0, 0,
        f(1.0009766f)},
       {"cvt.rz.f16.f32 %h1, $1; cvt.f32.f16 $0, %h1;", f(1.0009f), 0, 0, f(1)},
       {"cvt.rn.f16.f32 %h1, $1; cvt.f32.f16 $0, %h1;", f(0x1p-24f), 0, 0,
        f(0x1p-24f)},
       {"cvt.rn.f16.f32 %h1, $1; cvt.f32.f16 $0, %h1;", f(65520), 0, 0,
        f(HUGE_VALF)},
       {"cvt.rn.bf16.f32 %h1, $1; mov.b32 $0, {%h1, %h1};", 0x3f808000, 0, 0,
        0x3f803f80},
       {"cvt.rn.bf16x2.f32 $0, $1, $2;", f(1), f(2), 0, 0x3f804000},
       {"cvt.rn.f16x2.f32 $0, $1, $2;", f(1), f(2), 0, 0x3c004000},
       {"cvt.rn.relu.f16x2.f32 $0, $1, $2;", f(-1), f(2), 0, 0x00004000},
       {"cvt.rna.tf32.f32 $0, $1;", 0x3f801000, 0, 0, 0x3f802000},
       {"cvt.s64.s32 %rd1, $1; cvt.rn.f32.s64 $0, %rd1;", uint32_t(-3), 0, 0,
        f(-3)}},
      "%r", "b32");
  runCases(
      {{"cvt.f64.f32 $0, %f1;", 0, 0, 0, 0},
       {"cvt.rn.f64.s64 $0, $1;", uint64_t(-3), 0, 0, d(-3)},
       {"cvt.rzi.s64.f64 $0, $1;", d(-3.9), 0, 0, uint64_t(-3)},
       {"cvt.rzi.u64.f64 $0, $1;", d(1.8e19), 0, 0, 18000000000000000000u},
       {"cvt.rn.f32.f64 %f1, $1; cvt.f64.f32 $0, %f1;", d(1 + 0x1p-30), 0, 0,
        d(1)},
       {"cvt.rp.f32.f64 %f1, $1; cvt.f64.f32 $0, %f1;", d(1 + 0x1p-30), 0, 0,
        d(1 + 0x1p-23)},
       {"cvt.u32.u64 %r1, $1; cvt.s64.s32 $0, %r1;", 0xffffffff, 0, 0, ~0ull},
       {"cvt.rni.f64.f64 $0, $1;", d(2.5), 0, 0, d(2)}},
      "%rd", "b64");
}
