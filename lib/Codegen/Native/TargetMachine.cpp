//===- TargetMachine.cpp - The machine that code is made for ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fills in the triple, the processor and its features, and runs the back end of
// LLVM.
//
// Rationale: an object becomes part of a shared library, so code is independent
// of its position; this one choice also suits the linker inside the process.
//
//===----------------------------------------------------------------------===//

#include "TargetMachine.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <map>
#include <mutex>
#include <tuple>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace mlir;
using namespace mlir::relax;

void mlir::relax::initializeNativeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

/// Registers all targets that this LLVM was built with.
static void initializeAllTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
  });
}

/// Asks Linux for the tiles of AMX, as the runtime does before it loads such
/// code (Processor.cc): a process has to, and containers may refuse.
static bool canUseTiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

/// Returns the features of this processor that its system lets processes use.
static const llvm::StringMap<bool> &getHostFeatures() {
  static const llvm::StringMap<bool> features = [] {
    llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
    if (found.lookup("amx-tile") && !canUseTiles())
      for (auto &feature : found)
        if (feature.first().starts_with("amx-"))
          feature.second = false;
    return found;
  }();
  return features;
}

/// Returns the features of this processor, as LLVM writes them:
/// "+avx2,-avx512f,...".
static std::string hostFeatures() {
  // Sorted, so that the same machine always gives the same text.
  std::vector<std::string> features;
  for (const auto &feature : getHostFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(features);
  return llvm::join(features, ",");
}

/// Returns that a name was expected which LLVM knows, and the nearest of those.
template <typename Entry>
static std::string unknownName(StringRef what, const llvm::Triple &triple,
                               StringRef given, StringRef name,
                               ArrayRef<Entry> known) {
  std::string message = llvm::formatv("expected a {0} of {1}, but got '{2}'",
                                      what, triple.str(), given);
  auto distance = [&](const Entry &each) {
    return name.edit_distance(each.Key);
  };
  const Entry *nearest =
      llvm::min_element(known, [&](const Entry &a, const Entry &b) {
        return distance(a) < distance(b);
      });
  if (nearest != known.end() && distance(*nearest) <= 2)
    message += "; did you mean '" + std::string(nearest->Key) + "'?";
  return message;
}

/// Returns why LLVM would only warn of a processor; empty if it knows it.
static std::string checkProcessor(const llvm::MCSubtargetInfo &info,
                                  StringRef name) {
  if (name.empty() || info.isCPUStringValid(name))
    return "";
  return unknownName("processor", info.getTargetTriple(), name, name,
                     info.getAllProcessorDescriptions());
}

/// Returns why LLVM would only warn of features, "+avx2,-fma"; empty if it
/// knows them all.
static std::string checkFeatures(const llvm::MCSubtargetInfo &info,
                                 StringRef features) {
  auto known = info.getAllProcessorFeatures();
  for (StringRef feature : llvm::split(features, ',')) {
    StringRef name = feature.drop_front(feature.empty() ? 0 : 1);
    auto isNamed = [&](const auto &each) { return name == each.Key; };
    if (!name.empty() && llvm::none_of(known, isNamed))
      return unknownName("feature", info.getTargetTriple(), feature, name,
                         known);
  }
  return "";
}

/// Fills in what a target leaves to this machine.
static void settleTarget(NativeTarget &target) {
  bool isHost = target.cpu == "host";
  if (target.triple.empty())
    target.triple = llvm::sys::getProcessTriple();
  target.triple = llvm::Triple::normalize(target.triple);
  if (isHost) {
    target.cpu = llvm::sys::getHostCPUName().str();
    std::string given = std::move(target.features);
    target.features = hostFeatures();
    if (!given.empty())
      target.features += "," + given;
  }
}

static std::unique_ptr<llvm::TargetMachine>
makeTargetMachine(const NativeTarget &target, llvm::CodeGenOptLevel level,
                  std::string &error) {
  llvm::Triple triple(target.triple);
  if (triple.getArch() != llvm::Triple(llvm::sys::getProcessTriple()).getArch())
    initializeAllTargets();
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  // As the runtime and what is in the LLVM dialect takes for granted.
  if (!triple.isArch64Bit() || !triple.isLittleEndian()) {
    error = "expected a processor of 64 bits, little-endian, but got " +
            target.triple;
    return nullptr;
  }
  // As the runtime loads them.
  if (!triple.isOSBinFormatELF() && !triple.isOSBinFormatMachO()) {
    error = "expected a system whose object files are ELF or Mach-O, but got " +
            target.triple;
    return nullptr;
  }
  // LLVM only warns of a processor that it does not know.
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      backend->createMCSubtargetInfo(triple, "", ""));
  if (!info) {
    error = "LLVM makes no code for " + target.triple;
    return nullptr;
  }
  error = checkProcessor(*info, target.cpu);
  if (error.empty())
    error = checkFeatures(*info, target.features);
  if (!error.empty())
    return nullptr;
  llvm::TargetOptions options;
  // Not every linker makes .init_array of .ctors: lld and mold do not.
  options.UseInitArray = true;
  std::unique_ptr<llvm::TargetMachine> machine(backend->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
      /*CM=*/std::nullopt, level));
  if (!machine)
    error = "LLVM makes no code for " + target.triple;
  return machine;
}

/// What LLVM calls a level from 0 to 3.
static llvm::CodeGenOptLevel getCodeGenLevel(unsigned optLevel) {
  return llvm::CodeGenOpt::getLevel(static_cast<int>(optLevel))
      .value_or(llvm::CodeGenOptLevel::Default);
}

llvm::TargetMachine *mlir::relax::getTargetMachine(NativeTarget &target,
                                                   unsigned optLevel,
                                                   std::string &error) {
  initializeNativeTarget();
  settleTarget(target);
  // A machine for each level: the passes of one level leave options in their
  // machine, such as the instruction selector, that others would read.
  using Key = std::tuple<std::string, std::string, std::string>;
  using Level = llvm::CodeGenOptLevel;
  static thread_local Key lastKey;
  static thread_local std::map<Level, std::unique_ptr<llvm::TargetMachine>>
      machines;
  Key key(target.triple, target.cpu, target.features);
  if (key != lastKey) {
    machines.clear();
    lastKey = std::move(key);
  }
  Level level = getCodeGenLevel(optLevel);
  std::unique_ptr<llvm::TargetMachine> &machine = machines[level];
  if (!machine)
    machine = makeTargetMachine(target, level, error);
  return machine.get();
}

/// As the features say, which are those of LLVM.
static unsigned findVectorBits(const llvm::Triple &triple,
                               const llvm::MCSubtargetInfo &info) {
  if (!triple.isX86())
    return 128;
  if (info.checkFeatures("+avx512f"))
    return 512;
  return info.checkFeatures("+avx") ? 256 : 128;
}

/// The features that the runtime can query, as LLVM names them (Processor.cc).
constexpr StringLiteral kQueryableFeaturesOfX86[] = {"sse2",
                                                     "sse3",
                                                     "ssse3",
                                                     "sse4.1",
                                                     "sse4.2",
                                                     "sse4a",
                                                     "popcnt",
                                                     "aes",
                                                     "pclmul",
                                                     "bmi",
                                                     "bmi2",
                                                     "avx",
                                                     "avx2",
                                                     "fma",
                                                     "fma4",
                                                     "xop",
                                                     "gfni",
                                                     "vpclmulqdq",
                                                     "avx512f",
                                                     "avx512bw",
                                                     "avx512cd",
                                                     "avx512dq",
                                                     "avx512vl",
                                                     "avx512ifma",
                                                     "avx512vbmi",
                                                     "avx512vbmi2",
                                                     "avx512vnni",
                                                     "avx512bitalg",
                                                     "avx512vpopcntdq",
                                                     "avx512bf16",
                                                     "avx512fp16",
                                                     "amx-tile",
                                                     "amx-bf16",
                                                     "amx-int8",
                                                     "avxvnni",
                                                     "f16c",
                                                     "lzcnt",
                                                     "movbe",
                                                     "adx",
                                                     "vaes"};
constexpr StringLiteral kQueryableFeaturesOfAArch64[] = {
    "fp-armv8", "neon",      "aes",     "sha2",    "crc",       "lse",
    "rdm",      "fullfp16",  "fp16fml", "dotprod", "complxnum", "jsconv",
    "rcpc",     "rcpc-immo", "sha3",    "sm4",     "sve",       "fptoint",
    "i8mm",     "bf16",      "sve2"};

static ArrayRef<StringLiteral> getQueryableNames(const llvm::Triple &triple) {
  if (triple.isX86())
    return kQueryableFeaturesOfX86;
  if (triple.isAArch64())
    return kQueryableFeaturesOfAArch64;
  return {};
}

std::vector<std::string>
mlir::relax::getQueryableFeatures(const llvm::TargetMachine &machine) {
  std::vector<std::string> features;
  const llvm::MCSubtargetInfo &info = *machine.getMCSubtargetInfo();
  for (StringRef feature : getQueryableNames(machine.getTargetTriple()))
    if (info.checkFeatures(("+" + feature).str()))
      features.push_back(feature.str());
  return features;
}

/// Returns the features that the target has and this processor lacks.
static std::vector<std::string> findMissing(const llvm::Triple &triple,
                                            const llvm::MCSubtargetInfo &info) {
  llvm::Triple host(llvm::sys::getProcessTriple());
  if (triple.getArch() != host.getArch())
    return {triple.getArchName().str()};
  std::vector<std::string> missing;
  for (const auto &feature : getHostFeatures())
    if (!feature.second && info.checkFeatures(("+" + feature.first()).str()))
      missing.push_back(feature.first().str());
  llvm::sort(missing);
  return missing;
}

std::optional<TargetDescription>
mlir::relax::describeTarget(const NativeTarget &target, std::string &error) {
  TargetDescription description;
  description.target = target;
  llvm::TargetMachine *machine =
      getTargetMachine(description.target, /*optLevel=*/2, error);
  if (!machine)
    return std::nullopt;
  const llvm::MCSubtargetInfo &info = *machine->getMCSubtargetInfo();
  description.vectorBits = findVectorBits(machine->getTargetTriple(), info);
  description.features = getQueryableFeatures(*machine);
  description.missing = findMissing(machine->getTargetTriple(), info);
  return description;
}

LogicalResult mlir::relax::writeObject(llvm::Module &module,
                                       llvm::TargetMachine &machine,
                                       SmallVectorImpl<char> &bytes) {
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  // True: the machine cannot write files of this kind.
  if (machine.addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return failure();
  passes.run(module);
  return success();
}
