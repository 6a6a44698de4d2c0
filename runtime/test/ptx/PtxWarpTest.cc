//===- PtxWarpTest.cc - Warps, matrices and barriers of the interpreter  -*- C++
//-*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lanes do together, and how they part and meet again.
//
//===----------------------------------------------------------------------===//

#include "PtxTest.h"

#include <cstdlib>
#include <numeric>

static constexpr const char kStore[] = "st.global.u64 [%out], %rd0;";

// The words that threads write from %r0.
static std::vector<uint64_t> runWords(const std::string &body,
                                      Sizes sizes = {}) {
  return runBody(body + "\ncvt.u64.u32 %rd0, %r0;\n" + kStore, {}, sizes);
}

template <class F> static std::vector<uint64_t> table(size_t count, F f) {
  std::vector<uint64_t> words(count);
  for (size_t i = 0; i < count; ++i)
    words[i] = f(static_cast<uint32_t>(i));
  return words;
}

static void testShuffles() {
  auto shuffle = [](const std::string &how) {
    return runWords("shfl.sync." + how +
                    ", -1;\nselp.u32 %r1, 1000, 0, %p0;\n"
                    "add.u32 %r0, %r0, %r1;");
  };
  CHECK(shuffle("bfly.b32 %r0|%p0, %t, 1, 31") ==
        table(32, [](uint32_t i) { return 1000 + (i ^ 1); }));
  CHECK(shuffle("up.b32 %r0|%p0, %t, 2, 0") ==
        table(32, [](uint32_t i) { return i < 2 ? i : 1000 + i - 2; }));
  CHECK(shuffle("down.b32 %r0|%p0, %t, 4, 31") ==
        table(32, [](uint32_t i) { return i >= 28 ? i : 1000 + i + 4; }));
  CHECK(shuffle("idx.b32 %r0|%p0, %t, 5, 31") ==
        table(32, [](uint32_t) { return 1005; }));
  // Segments of eight lanes.
  CHECK(shuffle("idx.b32 %r0|%p0, %t, 5, 0x181f") ==
        table(32, [](uint32_t i) { return 1000 + i / 8 * 8 + 5; }));
  CHECK(runWords("shfl.sync.bfly.b32 %r0, %t, 16, 31, -1;") ==
        table(32, [](uint32_t i) { return i ^ 16; }));
}

static void testVotes() {
  CHECK(runWords("setp.lt.u32 %p0, %t, 5;\n"
                 "vote.sync.ballot.b32 %r0, %p0, -1;") ==
        table(32, [](uint32_t) { return 31; }));
  CHECK(runWords("setp.lt.u32 %p0, %t, 5;\nvote.sync.any.pred %p1, %p0, -1;\n"
                 "vote.sync.all.pred %p2, %p0, -1;\n"
                 "vote.sync.uni.pred %p3, !%p2, -1;\n"
                 "selp.u32 %r0, 1, 0, %p1;\nselp.u32 %r1, 2, 0, %p2;\n"
                 "selp.u32 %r2, 4, 0, %p3;\nadd.u32 %r0, %r0, %r1;\n"
                 "add.u32 %r0, %r0, %r2;") ==
        table(32, [](uint32_t) { return 5; }));
  CHECK(runWords("setp.ge.u32 %p0, %t, 30;\n@%p0 bra $L;\n"
                 "activemask.b32 %r0;\n$L:") ==
        table(32, [](uint32_t i) { return i < 30 ? 0x3fffffff : 0; }));
  CHECK(runWords("and.b32 %r1, %t, 1;\n"
                 "match.any.sync.b32 %r0, %r1, -1;") ==
        table(32, [](uint32_t i) { return i & 1 ? 0xaaaaaaaa : 0x55555555; }));
  CHECK(runWords("redux.sync.add.s32 %r0, %t, -1;") ==
        table(32, [](uint32_t) { return 31 * 16; }));
  CHECK(runWords("redux.sync.max.u32 %r0, %t, -1;") ==
        table(32, [](uint32_t) { return 31; }));
  CHECK(runWords("elect.sync _|%p0, -1;\nselp.u32 %r0, 1, 0, %p0;") ==
        table(32, [](uint32_t i) { return i == 0; }));
}

// Lanes of two halves shuffle among themselves, at different times.
static void testHalves() {
  CHECK(runWords("setp.lt.u32 %p0, %t, 16;\n@%p0 bra $A;\n"
                 "shfl.sync.idx.b32 %r0, %t, 20, 31, 0xffff0000;\nbra $B;\n"
                 "$A:\nshfl.sync.idx.b32 %r0, %t, 3, 31, 0xffff;\n$B:") ==
        table(32, [](uint32_t i) { return i < 16 ? 3 : 20; }));
  // All of a warp come to one instruction by different ways.
  CHECK(runWords("mov.u32 %r1, 7;\nsetp.lt.u32 %p0, %t, 16;\n@%p0 bra $B;\n"
                 "mov.u32 %r1, 9;\n$B:\n"
                 "shfl.sync.bfly.b32 %r0, %r1, 16, 31, -1;") ==
        table(32, [](uint32_t i) { return i < 16 ? 9 : 7; }));
}

void testWarps() {
  testShuffles();
  testVotes();
  testHalves();
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

// 1 + 2 + ... by loops of different lengths.
static void testLoops() {
  CHECK(runWords("mov.u32 %r0, 0;\nmov.u32 %r1, 0;\n$loop:\n"
                 "add.u32 %r0, %r0, %r1;\nadd.u32 %r1, %r1, 1;\n"
                 "setp.le.u32 %p0, %r1, %t;\n@%p0 bra $loop;",
                 {1, 70}) ==
        table(70, [](uint32_t i) { return i * (i + 1) / 2; }));
  CHECK(runWords("rem.u32 %r1, %t, 3;\nbrx.idx %r1, $table;\n"
                 "$table: .branchtargets $a, $b, $c;\n"
                 "$a:\nmov.u32 %r0, 10;\nbra.uni $end;\n"
                 "$b:\nmov.u32 %r0, 20;\nbra.uni $end;\n"
                 "$c:\nmov.u32 %r0, 30;\n$end:") ==
        table(32, [](uint32_t i) { return 10 * (i % 3 + 1); }));
  CHECK(runWords("mov.u32 %r0, 0;\nsetp.lt.u32 %p0, %t, 4;\n"
                 "@%p0 add.u32 %r0, %r0, 1;\n@!%p0 add.u32 %r0, %r0, 2;") ==
        table(32, [](uint32_t i) { return i < 4 ? 1 : 2; }));
  // Names in braces hide others.
  CHECK(runWords("mov.u32 %r0, 1;\n{\n.reg .b32 %r0;\nmov.u32 %r0, 5;\n"
                 "bra $x;\nmov.u32 %r1, 0;\n$x:\n}\n$x:") ==
        table(32, [](uint32_t) { return 1; }));
}

static void testCalls() {
  const char kFunctions[] =
      ".func (.param .b32 r) twice(.param .b32 a);\n"
      ".func (.param .b32 r) more(.param .b32 a, .param .align 8 .b8 b[8])\n"
      "{\n.reg .b32 %r<5>;\n"
      "ld.param.b32 %r1, [a];\nld.param.b32 %r2, [b+4];\n"
      "{\n.param .b32 p;\n.param .b32 q;\nst.param.b32 [p], %r1;\n"
      "call.uni (q), twice, (p);\nld.param.b32 %r3, [q];\n}\n"
      "add.s32 %r3, %r3, %r2;\nst.param.b32 [r], %r3;\nret;\n}\n"
      ".func (.param .b32 r) twice(.param .b32 a)\n"
      "{\n.reg .b32 %r<5>;\n.reg .pred %p;\nld.param.b32 %r1, [a];\n"
      "setp.gt.u32 %p, %r1, 9;\n@%p bra $big;\nadd.s32 %r1, %r1, %r1;\n"
      "$big:\nst.param.b32 [r], %r1;\nret;\n}\n";
  std::vector<uint64_t> words = runBody(
      "{\n.param .b32 p0;\n.param .align 8 .b8 p1[8];\n.param .b32 p2;\n"
      "st.param.b32 [p0], %t;\nst.param.v2.b32 [p1], {%t, 100};\n"
      "call.uni (p2), more, (p0, p1);\nld.param.b32 %r0, [p2];\n}\n"
      "cvt.u64.u32 %rd0, %r0;\nst.global.u64 [%out], %rd0;",
      {}, {}, kFunctions);
  CHECK(words ==
        table(32, [](uint32_t i) { return (i > 9 ? i : 2 * i) + 100; }));
  CHECK(LoadedModule(kernelText("call.uni g;", ".func g()\n{\ncall g;\n}\n"))
            .log.find("function g calls itself") != std::string::npos);
  CHECK(LoadedModule(kernelText("call.uni g;", ".extern .func g();\n"))
            .log.find("function g is not in the module") != std::string::npos);
}

void testControl() {
  testLoops();
  testCalls();
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

// Each thread writes its number, and reads that of another after a barrier.
static std::string exchange(const std::string &barrier, int other) {
  return "shl.b32 %r1, %t, 2;\nmov.u32 %r2, tile;\nadd.u32 %r3, %r2, %r1;\n"
         "st.shared.u32 [%r3], %t;\n" +
         barrier + "\nxor.b32 %r4, %t, " + std::to_string(other) +
         ";\nshl.b32 %r4, %r4, 2;\nadd.u32 %r4, %r2, %r4;\n"
         "ld.shared.u32 %r0, [%r4];\n"
         "cvt.u64.u32 %rd0, %r0;\nst.global.u64 [%out], %rd0;";
}

static constexpr const char kTile[] = ".shared .align 4 .b8 tile[512];\n";

void testBarriers() {
  auto run = [](const std::string &barrier, int other, Sizes sizes) {
    return runKernel(kernelText(exchange(barrier, other), kTile), {}, sizes);
  };
  std::vector<uint64_t> swapped = table(128, [](uint32_t i) { return i ^ 64; });
  CHECK(run("bar.sync 0;", 64, {1, 128}).words == swapped);
  CHECK(run("barrier.sync.aligned 3, 128;", 64, {1, 128}).words == swapped);
  setenv("RELAX_PTX_ORDER", "reverse", 1);
  CHECK(run("bar.sync 0;", 64, {1, 128}).words == swapped);
  CHECK(run("", 64, {1, 128}).result == 719);
  unsetenv("RELAX_PTX_ORDER");
  CHECK(run("", 64, {1, 128}).result == 719);
  Outcome race = run("", 1, {1, 32});
  CHECK(race.result == 719);
  CHECK(race.text.find("a race at byte") != std::string::npos);
  // In a warp, its own barrier is enough.
  CHECK(run("bar.warp.sync -1;", 3, {1, 64}).words ==
        table(64, [](uint32_t i) { return i ^ 3; }));
  CHECK(run("bar.warp.sync -1;", 32, {1, 64}).result == 719);
  // Threads that are gone are not waited for.
  CHECK(run("setp.ge.u32 %p0, %t, 64;\n@%p0 exit;\nbar.sync 0;", 32, {1, 128})
            .words[5] == 37);
  // Barriers that count.
  CHECK(runWords("setp.lt.u32 %p0, %t, 5;\nbar.red.popc.u32 %r0, 0, %p0;\n"
                 "bar.red.or.pred %p1, 0, 64, !%p0;\n"
                 "bar.red.and.pred %p2, 0, %p0;\n"
                 "@%p1 add.u32 %r0, %r0, 100;\n"
                 "@%p2 add.u32 %r0, %r0, 1000;",
                 {1, 64}) == table(64, [](uint32_t) { return 105; }));
  // Two halves of the block, each with its barrier.
  CHECK(run("shr.u32 %r5, %t, 6;\nadd.u32 %r5, %r5, 1;\nbar.sync %r5, 64;", 32,
            {1, 128})
            .words == table(128, [](uint32_t i) { return i ^ 32; }));
}

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

// Fills 32 rows of 8 halves: element i is i; loads four matrices.
static std::vector<uint64_t> loadMatrices(const std::string &words) {
  return runBody(
      "shl.b32 %r1, %t, 4;\nmov.u32 %r2, tile;\nadd.u32 %r3, %r2, %r1;\n"
      "shl.b32 %r4, %t, 3;\nmov.u32 %r5, 0;\n$loop:\n"
      "cvt.u16.u32 %h0, %r4;\nst.shared.u16 [%r3], %h0;\n"
      "add.u32 %r3, %r3, 2;\nadd.u32 %r4, %r4, 1;\nadd.u32 %r5, %r5, 1;\n"
      "setp.lt.u32 %p0, %r5, 8;\n@%p0 bra $loop;\nbar.sync 0;\n"
      "add.u32 %r3, %r2, %r1;\nldmatrix.sync.aligned.m8n8.x4" +
          words +
          ".shared.b16 {%r10, %r11, %r12, %r13}, [%r3];\n"
          "mov.b64 %rd0, {%r10, %r13};\nst.global.u64 [%out], %rd0;",
      {}, {}, kTile);
}

static void testMatrices() {
  CHECK(loadMatrices("") == table(32, [](uint32_t i) -> uint64_t {
          uint64_t first = i / 4 * 8 + i % 4 * 2;
          uint64_t low = first | (first + 1) << 16;
          return low | (low + 192 * 0x10001ull) << 32;
        }));
  CHECK(loadMatrices(".trans") == table(32, [](uint32_t i) -> uint64_t {
          uint64_t first = i % 4 * 2 * 8 + i / 4;
          uint64_t low = first | (first + 8) << 16;
          return low | (low + 192 * 0x10001ull) << 32;
        }));
}

// a has ones but for row 3, which has twos; b ones; c the lane.
static void testProduct(const std::string &name, const std::string &one,
                        const std::string &two, int words, float depth) {
  std::string a = "{", b = "{";
  for (int i = 0; i < words; ++i) {
    a += (i ? ", " : "") + std::string(i % 2 ? "%r2" : "%r1");
    if (i < words / 2)
      b += (i ? ", " : "") + std::string("%r2");
  }
  std::vector<uint64_t> result = runBody(
      "mov.b32 %r2, " + one +
      ";\nshr.u32 %r3, %t, 2;\nsetp.eq.u32 %p0, %r3, 3;\nselp.b32 %r1, " + two +
      ", %r2, %p0;\ncvt.rn.f32.u32 %f0, %t;\n" + name +
      " {%f1, %f2, %f3, %f4}, " + a + "}, " + b +
      "}, {%f0, %f0, %f0, %f0};\n"
      "mov.b64 %rd0, {%f1, %f3};\nst.global.u64 [%out], %rd0;");
  CHECK(result == table(32, [&](uint32_t i) {
          float sum = depth + float(i);
          float first = i / 4 == 3 ? 2 * depth + float(i) : sum;
          return bitsOf(first) | uint64_t(bitsOf(sum)) << 32;
        }));
}

// Sums of halves.
static void testHalfProduct() {
  std::vector<uint64_t> result =
      runBody("mov.b32 %r1, 0x3c003c00;\ncvt.rn.f16.u32 %h0, %t;\n"
              "mov.b32 %r2, {%h0, %h0};\n"
              "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r3, %r4}, "
              "{%r1, %r1, %r1, %r1}, {%r1, %r1}, {%r2, %r2};\n"
              "mov.b32 {%h1, %h2}, %r4;\ncvt.rzi.u32.f16 %r0, %h2;\n"
              "cvt.u64.u32 %rd0, %r0;\nst.global.u64 [%out], %rd0;");
  CHECK(result == table(32, [](uint32_t i) { return 16 + i; }));
}

// A product of which every element is another: row 100 r + k times k N + n.
static void testPlaces() {
  std::string body = "shr.u32 %r1, %t, 2;\nand.b32 %r2, %t, 3;\n";
  auto half = [&](const std::string &to, int row, int column) {
    body += "mad.lo.u32 %r3, %r1, 2, " + std::to_string(2 * row) +
            ";\nmad.lo.u32 %r4, %r2, 2, " + std::to_string(column) +
            ";\nadd.u32 %r3, %r3, %r4;\ncvt.rn.f16.u32 %h0, %r3;\n"
            "add.u32 %r3, %r3, 1;\ncvt.rn.f16.u32 %h1, %r3;\nmov.b32 " +
            to + ", {%h0, %h1};\n";
  };
  // a[i][k] = 2 i + k, b[k][j] = 2 j + k
  half("%r10", 0, 0);
  half("%r11", 8, 0);
  half("%r12", 0, 8);
  half("%r13", 8, 8);
  half("%r14", 0, 0);
  half("%r15", 0, 8);
  body += "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
          "{%f1, %f2, %f3, %f4}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, "
          "{0f00000000, 0f00000000, 0f00000000, 0f00000000};\n"
          "mov.b64 %rd0, {%f2, %f3};\nst.global.u64 [%out], %rd0;";
  auto expected = [](uint32_t i, uint32_t j) {
    float sum = 0;
    for (uint32_t k = 0; k < 16; ++k)
      sum += float(2 * i + k) * float(2 * j + k);
    return bitsOf(sum);
  };
  CHECK(runBody(body) == table(32, [&](uint32_t lane) {
          uint32_t row = lane / 4, column = lane % 4 * 2;
          return expected(row, column + 1) | uint64_t(expected(row + 8, column))
                                                 << 32;
        }));
}

void testTensorCores() {
  testMatrices();
  testPlaces();
  testProduct("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "0x3c003c00",
              "0x40004000", 4, 16);
  testProduct("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
              "0x3f803f80", "0x40004000", 4, 16);
  testProduct("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
              "0x3f800000", "0x40000000", 4, 8);
  testHalfProduct();
}
