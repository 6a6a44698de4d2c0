//===- PtxFaultTest.cc - Memory and faults of the interpreter - -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads, stores and atomic accesses of all state spaces, and kernels that do
// what they must not.
//
//===----------------------------------------------------------------------===//

#include "PtxTest.h"

#include <cstdlib>

static constexpr const char kTile[] = ".shared .align 16 .b8 tile[512];\n";

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static void testSpaces() {
  // Vectors, bytes and signs.
  CHECK(runBody("ld.global.v2.b32 {%r0, %r1}, [%in];\n"
                "st.global.v2.b32 [%out], {%r1, %r0};",
                {0x0000000100000002})[0] == 0x0000000200000001);
  CHECK(runBody("ld.global.nc.L1::no_allocate.s8 %r0, [%in+1];\n"
                "st.global.b32 [%out], %r0;",
                {0x8000})[0] == 0xffffff80);
  CHECK(runBody("ld.global.v4.u8 {%h0, %h1, %h2, %h3}, [%in];\n"
                "st.global.v4.u8 [%out], {%h3, %h2, %h1, %h0};",
                {0x04030201})[0] == 0x01020304);
  // Variables with values, one of which is an address.
  const char kData[] = ".global .align 4 .u32 two[2] = {7, 9};\n"
                       ".const .align 8 .u64 where = generic(two)+4;\n"
                       ".global .align 4 .f32 one = 0f3F800000;\n";
  CHECK(runBody("ld.const.u64 %rd0, [where];\nld.u32 %r0, [%rd0];\n"
                "ld.global.b32 %r1, [one];\n"
                "st.global.v2.b32 [%out], {%r0, %r1};",
                {}, {}, kData)[0] == 0x3f80000000000009);
  // Local memory, through an address of all spaces.
  CHECK(runBody(
            "{\n.local .align 8 .b8 depot[16];\nmov.b64 %rd1, depot;\n"
            "cvta.local.u64 %rd2, %rd1;\nst.u32 [%rd2+4], %t;\n"
            "ld.local.u32 %r0, [%rd1+4];\nst.global.b32 [%out], %r0;\n}")[9] ==
        9);
  // Parameters in an address of all spaces.
  CHECK(runBody("mov.b64 %rd1, f_in;\ncvta.param.u64 %rd2, %rd1;\n"
                "ld.u64 %rd3, [%rd2];\nld.u64 %rd4, [%rd3];\n"
                "st.global.u64 [%out], %rd4;",
                {77})[3] == 77);
  CHECK(runBody("mov.u64 %rd1, tile;\ncvta.shared.u64 %rd2, %rd1;\n"
                "isspacep.shared %p0, %rd2;\nisspacep.global %p1, %rd2;\n"
                "selp.u32 %r0, 1, 0, %p0;\nselp.u32 %r1, 2, 0, %p1;\n"
                "add.u32 %r0, %r0, %r1;\nst.global.b32 [%out], %r0;",
                {}, {}, kTile)[0] == 1);
}

static void testDynamicShared() {
  std::string text = kernelText(
      "mov.u32 %r1, dynamic;\nmov.u32 %r2, tile;\nsub.u32 %r0, %r1, %r2;\n"
      "shl.b32 %r3, %t, 2;\nadd.u32 %r3, %r1, %r3;\nst.shared.u32 [%r3], %r0;\n"
      "ld.shared.u32 %r4, [%r3];\nst.global.b32 [%out], %r4;",
      std::string(kTile) + ".extern .shared .align 16 .b8 dynamic[];\n");
  CHECK(runKernel(text, {}, {1, 32, 128}).words[31] == 512);
  CHECK(runKernel(text, {}, {1, 32, 124}).result == 700);
}

static void testAtomics() {
  const char kSum[] = ".global .align 8 .b8 sum[8];\n";
  std::vector<uint64_t> words =
      runBody("mov.u64 %rd1, sum;\natom.global.add.u32 %r0, [%rd1], 1;\n"
              "red.global.max.u32 [%rd1+4], %i;\nst.global.b32 [%out], %r0;",
              {}, {3, 64}, kSum);
  CHECK(words[0] == 0 && words[191] == 191);
  CHECK(runBody("atom.global.cas.b64 %rd0, [%out], 0, 5;\n"
                "atom.global.exch.b32 %r0, [%out+4], 6;")[1] == 0x600000005);
  CHECK(runBody("mov.b32 %f0, 0f3F800000;\nred.global.add.f32 [%out], %f0;\n"
                "red.global.add.f32 [%out], %f0;")[0] == bitsOf(2.0f));
  CHECK(runBody("mov.b32 %r0, 0x3c004000;\n"
                "red.global.add.noftz.f16x2 [%out], %r0;")[0] == 0x3c004000);
  CHECK(runBody("mov.b16 %h0, 0x3c00;\n"
                "atom.global.add.noftz.f16 %h1, [%out], %h0;")[0] == 0x3c00);
  // In shared memory they do not race with each other.
  CHECK(runBody("setp.eq.u32 %p0, %t, 0;\n@%p0 st.shared.u32 [tile], 0;\n"
                "bar.sync 0;\natom.shared.inc.u32 %r0, [tile], 9;\n"
                "bar.sync 0;\nld.shared.u32 %r1, [tile];\n"
                "st.global.b32 [%out], %r1;",
                {}, {1, 64}, kTile)[7] == 4);
}

// Copies that arrive at the wait; those of one group before the next.
static void testAsyncCopies() {
  const std::string copy =
      "shl.b32 %r1, %t, 4;\nmov.u32 %r2, tile;\nadd.u32 %r1, %r1, %r2;\n"
      "cp.async.ca.shared.global [%r1], [%in], 8, 4;\n"
      "cp.async.commit_group;\n"
      "cp.async.ca.shared.global [%r1+8], [%in], 8;\n"
      "cp.async.commit_group;\n";
  const std::string read = "\nld.shared.u64 %rd0, [%r1];\n"
                           "st.global.u64 [%out], %rd0;";
  const uint64_t value = 0x1234567800000009;
  auto run = [&](const std::string &body) {
    return runKernel(kernelText(body, kTile), {value});
  };
  CHECK(run(copy + "cp.async.wait_group 1;" + read).words[0] == 9);
  CHECK(
      run(copy + "cp.async.wait_all;\nadd.u32 %r1, %r1, 8;" + read).words[0] ==
      value);
  Outcome early =
      run(copy + "cp.async.wait_group 1;\nadd.u32 %r1, %r1, 8;" + read);
  CHECK(early.result == 719);
  CHECK(early.text.find("before a wait for the cp.async") != std::string::npos);
}

void testAccesses() {
  testSpaces();
  testDynamicShared();
  testAtomics();
  testAsyncCopies();
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

static void testAddresses() {
  // The text has the kernel, the block, the thread and the line.
  Outcome past = runKernel(
      kernelText("ld.global.u64 %rd0, [%in+8];\nst.global.u64 [%out], %rd0;"),
      {}, {2, 32});
  CHECK(past.result == 700);
  CHECK(past.text.find(
            "kernel 'f', block (1, 0, 0), thread (31, 0, 0), line ") == 0);
  CHECK(past.text.find(": ld.global.u64 %rd0, [%in+8];: 8 bytes at 0x40") !=
        std::string::npos);
  CHECK(past.text.find("byte 512 of an allocation of 512") !=
        std::string::npos);
  CHECK_FAULT(kernelText("st.global.u32 [%out-4], %t;"), 218, "line");
  CHECK_FAULT(kernelText("st.global.u32 [%out+-4], %t;"), 700,
              "4 bytes before an allocation of 256");
  CHECK_FAULT(kernelText("st.global.u32 [%out+2], %t;"), 716,
              "which is not a multiple");
  CHECK_FAULT(kernelText("mov.u64 %rd0, 64;\nst.global.u32 [%rd0], %t;"), 700,
              "far from any allocation");
  CHECK_FAULT(kernelText("mov.u64 %rd0, 64;\nst.u32 [%rd0], %t;"), 700,
              "0x40 is no address of a device");
  CHECK_FAULT(kernelText("st.shared.u32 [tile+512], %t;", kTile), 700,
              "4 bytes at byte 512 of shared memory, which has 512");
  CHECK_FAULT(kernelText("st.shared.u32 [tile+2], %t;", kTile), 716,
              "not a multiple");
  CHECK_FAULT(kernelText("{\n.local .align 4 .b8 l[8];\nld.local.u32 %r0, "
                         "[l+8];\n}"),
              700, "of local memory, which has 8");
}

static void testReleased() {
  LoadedModule module(kernelText("ld.global.u64 %rd0, [%in];"));
  uint64_t address;
  {
    Buffer gone(1024);
    address = gone.address;
  }
  int result = launch(module.find("f"), {}, {address, address});
  CHECK(result == 700);
  CHECK(errorText(result).find(
            "byte 0 of an allocation of 1024 bytes that was released") !=
        std::string::npos);
  CHECK(driver().cuMemFree(address) != 0);
}

static void testUnwritten() {
  CHECK_FAULT(kernelText("ld.shared.u32 %r0, [tile];", kTile), 719,
              "byte 0 of shared memory is read but was never written");
  CHECK_FAULT(kernelText("{\n.local .align 4 .b8 l[8];\nst.local.u16 [l], "
                         "%h0;\nld.local.u32 %r0, [l];\n}"),
              719, "byte 2 of local memory is read but was never written");
  // Memory of the device begins as NaN.
  Buffer fresh(64), large(size_t(32) << 20);
  CHECK(fresh.get<uint64_t>()[7] == ~uint64_t(0));
  CHECK(large.get<uint64_t>()[(1 << 22) - 1] == ~uint64_t(0));
}

static void testWaits() {
  CHECK_FAULT(kernelText("trap;"), 719, "a trap");
  CHECK_FAULT(kernelText("setp.lt.u32 %p0, %t, 32;\n@%p0 bra $L;\n"
                         "bar.sync 1;\nbra $M;\n$L:\nbar.sync 2;\n$M:"),
              719, "threads wait for ever: thread 0 at line", 1, 64);
  CHECK_FAULT(kernelText("setp.lt.u32 %p0, %t, 7;\n@%p0 bra $L;\n"
                         "bar.sync 0;\nbra $M;\n$L:\nbar.sync 0;\n$M:"),
              719, "lanes of a warp wait at different barriers", 1, 64);
  CHECK_FAULT(kernelText("setp.lt.u32 %p0, %t, 7;\n@%p0 bra $L;\n"
                         "shfl.sync.idx.b32 %r0, %t, 9, 31, -1;\n$L:"),
              0, "");
  CHECK_FAULT(kernelText("setp.lt.u32 %p0, %t, 7;\n@%p0 bra $L;\n"
                         "shfl.sync.idx.b32 %r0, %t, 0, 31, -1;\n$L:\n"
                         "bar.sync 0;"),
              719, "wait");
  CHECK_FAULT(kernelText("shfl.sync.idx.b32 %r0, %t, 1, 31, 0xff;"), 719,
              "the lane is not in its own mask");
  CHECK_FAULT(kernelText("shfl.sync.idx.b32 %r0, %t, 9, 31, 0xff;"), 719,
              "lane 9, which does not take part", 1, 8);
}

// Blocks that write to one place, where that is looked for.
static void testBlocks() {
  const char kSum[] = ".global .align 4 .b8 sum[4];\n";
  const std::string race = kernelText("st.global.u32 [sum], %i;", kSum);
  const std::string same = kernelText("st.global.u32 [sum], 7;", kSum);
  CHECK_FAULT(race, 0, "", 1, 1);
  setenv("RELAX_PTX_CHECK", "other,global", 1);
  CHECK_FAULT(race, 719, "it writes what block 0 wrote", 2, 1);
  CHECK_FAULT(same, 0, "", 2, 1);
  CHECK_FAULT(kernelText("setp.eq.u32 %p0, %i, 0;\n"
                         "@%p0 st.global.u32 [sum], 7;\n"
                         "ld.global.u32 %r0, [sum];",
                         kSum),
              719, "it reads what block 0 wrote", 2, 1);
  CHECK_FAULT(kernelText("red.global.add.u32 [sum], 7;", kSum), 0, "", 2, 1);
  unsetenv("RELAX_PTX_CHECK");
}

void testFaults() {
  testAddresses();
  testReleased();
  testUnwritten();
  testWaits();
  testBlocks();
}
