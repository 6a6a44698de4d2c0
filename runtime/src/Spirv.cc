//===- Spirv.cc - Programs in SPIR-V ----------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The translator is another program: it is of the version of LLVM that the
// driver of a device has, which is not ours. RELAX_SPIRV_TRANSLATOR names it;
// otherwise it is looked for in PATH.
//
//===----------------------------------------------------------------------===//

#include "Spirv.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#if !defined(_WIN32)
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Capabilities
//===----------------------------------------------------------------------===//

bool relax_runtime::declaresCapability(std::string_view module,
                                       SpirvCapability capability) {
  constexpr size_t kHeadWords = 5;
  constexpr uint32_t kOpCapability = 17;
  std::vector<uint32_t> words(module.size() / sizeof(uint32_t));
  if (!words.empty())
    std::memcpy(words.data(), module.data(), words.size() * sizeof(uint32_t));
  // Capabilities come first: the word of a length and a code, then a number.
  for (size_t i = kHeadWords; i + 1 < words.size(); i += 2) {
    if (words[i] != (uint32_t(2) << 16 | kOpCapability))
      return false;
    if (words[i + 1] == static_cast<uint32_t>(capability))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// The translator
//===----------------------------------------------------------------------===//

#if defined(_WIN32)

std::string relax_runtime::translateSpirv(std::string_view, int,
                                          std::vector<char> &) {
  return "the translation of SPIR-V is not supported on Windows";
}

#else

extern char **environ;

namespace {

// A folder for files, which goes with them.
class Folder {
public:
  Folder() {
    const char *parent = std::getenv("TMPDIR");
    path = std::string(parent && *parent ? parent : "/tmp") + "/relax-XXXXXX";
    if (!mkdtemp(path.data()))
      path.clear();
  }
  Folder(const Folder &) = delete;
  ~Folder() {
    if (path.empty())
      return;
    for (const char *name : {"kernels.spv", "kernels.bc"})
      unlink(file(name).c_str());
    rmdir(path.c_str());
  }
  std::string file(const char *name) const { return path + "/" + name; }

  std::string path;
};

} // namespace

// Runs `tool -r from -o to`. Returns its exit status, -1 where it is not there.
static int runTranslator(const std::string &tool, const std::string &from,
                         const std::string &to) {
  std::string words[] = {tool, "-r", from, "-o", to};
  char *arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                       words[3].data(), words[4].data(), nullptr};
  pid_t process;
  if (posix_spawnp(&process, tool.c_str(), nullptr, nullptr, arguments,
                   environ) != 0)
    return -1;
  int status = 0;
  while (waitpid(process, &status, 0) == -1)
    if (errno != EINTR)
      return 0; // the process lets nobody wait: the file says what was made
  constexpr int kNotFound = 127; // where spawning reports it so
  if (!WIFEXITED(status))
    return 128;
  return WEXITSTATUS(status) == kNotFound ? -1 : WEXITSTATUS(status);
}

// Those to try: that of a version of LLVM first.
static std::vector<std::string> translators(int version) {
  const char *name = std::getenv("RELAX_SPIRV_TRANSLATOR");
  if (name && *name)
    return {name};
  if (version > 0)
    return {"llvm-spirv-" + std::to_string(version), "llvm-spirv"};
  return {"llvm-spirv"};
}

std::string relax_runtime::translateSpirv(std::string_view module, int version,
                                          std::vector<char> &bitcode) {
  Folder folder;
  std::string from = folder.file("kernels.spv"), to = folder.file("kernels.bc");
  std::ofstream file(from, std::ios::binary);
  file.write(module.data(), static_cast<std::streamsize>(module.size()));
  file.close();
  if (folder.path.empty() || !file)
    return "no file can be written in the folder of temporary files";
  std::string names;
  for (const std::string &tool : translators(version)) {
    names += (names.empty() ? "" : " or ") + tool;
    int status = runTranslator(tool, from, to);
    if (status == -1)
      continue;
    std::ifstream made(to, std::ios::binary);
    bitcode.assign(std::istreambuf_iterator<char>(made), {});
    if (status == 0 && !bitcode.empty())
      return "";
    return "the translator " + tool + " of SPIR-V failed with status " +
           std::to_string(status);
  }
  return "the translator of SPIR-V was not found: " + names;
}

#endif
