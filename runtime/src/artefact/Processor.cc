//===- Processor.cc - Features of this processor ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processor.h"

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

using namespace relax_runtime;

#if defined(__aarch64__) && defined(__linux__)
// What Linux says of a processor: bits of a word of the auxiliary vector.
namespace {
struct Feature {
  const char *name;
  unsigned long word, bits;
};
} // namespace

static constexpr Feature kFeatures[] = {
    {"fp-armv8", AT_HWCAP, HWCAP_FP},
    {"neon", AT_HWCAP, HWCAP_ASIMD},
    {"aes", AT_HWCAP, HWCAP_AES | HWCAP_PMULL},
    {"sha2", AT_HWCAP, HWCAP_SHA1 | HWCAP_SHA2},
    {"crc", AT_HWCAP, HWCAP_CRC32},
    {"lse", AT_HWCAP, HWCAP_ATOMICS},
    {"rdm", AT_HWCAP, HWCAP_ASIMDRDM},
    {"fullfp16", AT_HWCAP, HWCAP_FPHP | HWCAP_ASIMDHP},
    {"fp16fml", AT_HWCAP, HWCAP_ASIMDFHM},
    {"dotprod", AT_HWCAP, HWCAP_ASIMDDP},
    {"complxnum", AT_HWCAP, HWCAP_FCMA},
    {"jsconv", AT_HWCAP, HWCAP_JSCVT},
    {"rcpc", AT_HWCAP, HWCAP_LRCPC},
    {"rcpc-immo", AT_HWCAP, HWCAP_ILRCPC},
    {"sha3", AT_HWCAP, HWCAP_SHA3 | HWCAP_SHA512},
    {"sm4", AT_HWCAP, HWCAP_SM3 | HWCAP_SM4},
    {"sve", AT_HWCAP, HWCAP_SVE},
#if defined(HWCAP2_I8MM) && defined(HWCAP2_BF16) // Linux 5.7
    {"fptoint", AT_HWCAP2, HWCAP2_FRINT},
    {"i8mm", AT_HWCAP2, HWCAP2_I8MM},
    {"bf16", AT_HWCAP2, HWCAP2_BF16},
    {"sve2", AT_HWCAP2, HWCAP2_SVE2},
#endif
};
#endif

#if defined(__x86_64__)
// Bits of CPUID that compilers before GCC 13 have no name for. The state that
// they need is that of avx and avx512f, which have names.
namespace {
struct Feature {
  const char *name;
  unsigned leaf, subleaf;
  unsigned word; // eax, ebx, ecx, edx
  unsigned bit;
};
} // namespace

static constexpr Feature kFeatures[] = {
    {"movbe", 1, 0, 2, 22},      {"f16c", 1, 0, 2, 29},
    {"adx", 7, 0, 1, 19},        {"vaes", 7, 0, 2, 9},
    {"avx512fp16", 7, 0, 3, 23}, {"avxvnni", 7, 1, 0, 4},
    {"amx-bf16", 7, 0, 3, 22},   {"amx-tile", 7, 0, 3, 24},
    {"amx-int8", 7, 0, 3, 25},   {"lzcnt", 0x80000001, 0, 2, 5},
};

static bool hasBit(const Feature &feature) {
  unsigned words[4] = {};
  return __get_cpuid_count(feature.leaf, feature.subleaf, &words[0], &words[1],
                           &words[2], &words[3]) &&
         (words[feature.word] >> feature.bit & 1);
}

// Processes have to ask Linux for the tiles of AMX, which are 8 KiB of state,
// before they use them. The threads of a process have what one asked for.
static bool canUseTiles() {
#if defined(__linux__)
  constexpr int kRequestPermission = 0x1023, kTileData = 18; // of arch_prctl
  static const bool can =
      syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return can;
#else
  return false;
#endif
}
#endif

// LibraryTable.cpp writes names of features into libraries.
bool relax_runtime::hasFeature([[maybe_unused]] const std::string &name) {
#if defined(__aarch64__) && defined(__linux__)
  for (const Feature &feature : kFeatures)
    if (name == feature.name)
      return (getauxval(feature.word) & feature.bits) == feature.bits;
#elif defined(__x86_64__)
  for (const Feature &feature : kFeatures)
    if (name == feature.name)
      return hasBit(feature) && (name.rfind("amx-", 0) != 0 || canUseTiles());
  __builtin_cpu_init();
#define RELAX_FEATURE(feature)                                                 \
  if (name == feature)                                                         \
    return __builtin_cpu_supports(feature);
  RELAX_FEATURE("sse2")
  RELAX_FEATURE("sse3")
  RELAX_FEATURE("ssse3")
  RELAX_FEATURE("sse4.1")
  RELAX_FEATURE("sse4.2")
  RELAX_FEATURE("sse4a")
  RELAX_FEATURE("popcnt")
  RELAX_FEATURE("aes")
  RELAX_FEATURE("pclmul")
  RELAX_FEATURE("bmi")
  RELAX_FEATURE("bmi2")
  RELAX_FEATURE("avx")
  RELAX_FEATURE("avx2")
  RELAX_FEATURE("fma")
  RELAX_FEATURE("fma4")
  RELAX_FEATURE("xop")
  RELAX_FEATURE("gfni")
  RELAX_FEATURE("vpclmulqdq")
  RELAX_FEATURE("avx512f")
  RELAX_FEATURE("avx512bw")
  RELAX_FEATURE("avx512cd")
  RELAX_FEATURE("avx512dq")
  RELAX_FEATURE("avx512vl")
  RELAX_FEATURE("avx512ifma")
  RELAX_FEATURE("avx512vbmi")
  RELAX_FEATURE("avx512vbmi2")
  RELAX_FEATURE("avx512vnni")
  RELAX_FEATURE("avx512bitalg")
  RELAX_FEATURE("avx512vpopcntdq")
  RELAX_FEATURE("avx512bf16")
#undef RELAX_FEATURE
#endif
  return true;
}
