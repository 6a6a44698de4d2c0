//===- LinkerTest.cc - Linking object files ---------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// linker_test ARCHIVE OBJECT: links the archive of LinkedProgram.c and
// LinkedOther.c, and runs it. Damaged archives, and the object of
// LinkedProgram.c alone, are errors.
//
//===----------------------------------------------------------------------===//

#include "../src/artefact/ObjectLinker.h"
#include "Test.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

using namespace relax_runtime;

static std::string readFile(const char *path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

template <typename Function>
static Function *find(const LinkedCodeObj &code, const char *symbol) {
  void *address = code.lookUp(symbol);
  CHECK(address != nullptr);
  return reinterpret_cast<Function *>(address);
}

static void testRuns(const std::string &archive) {
  LinkedCodeObj code(archive, "model");
  auto *count = find<int()>(code, "relax_linked_count");
  CHECK(count() == 41 && count() == 42);
  auto *name = find<const char *(int)>(code, "relax_linked_name");
  CHECK_TEXT(name(2), "two");
  auto *norm =
      find<double(const double *, size_t)>(code, "relax_linked_norm_of_copy");
  double values[] = {3, 4, 12};
  CHECK(std::abs(norm(values, 3) - 13) < 1e-12);
  CHECK(count() == 44);
  CHECK(find<int()>(code, "relax_linked_call_weak")() == 0);
  CHECK(code.lookUp("relax_linked_nowhere") == nullptr);
  CHECK(code.lookUp("names") == nullptr);
}

// Each has data of its own.
static void testTwice(const std::string &archive) {
  LinkedCodeObj first(archive, "first"), second(archive, "second");
  find<int()>(first, "relax_linked_count")();
  CHECK(find<int()>(second, "relax_linked_count")() == 41);
}

// The message of the error, which must be a ValueError; empty if there is none.
static std::string tryLink(const std::string &bytes) {
  try {
    LinkedCodeObj code(bytes, "model");
  } catch (const ffi::Error &error) {
    CHECK(error.kind() == "ValueError");
    return error.message();
  }
  return "";
}

static void checkSays(const std::string &bytes, const std::string &part) {
  std::string message = tryLink(bytes);
  bool says = message.find(part) != std::string::npos;
  if (!says)
    std::fprintf(stderr, "<%s> lacks <%s>\n", message.c_str(), part.c_str());
  CHECK(says);
  CHECK(message.rfind("model: section 'object': ", 0) == 0);
}

static void testErrors(const std::string &archive, const std::string &object) {
  checkSays("", "bytes at 0, but the object file ends at 0");
  checkSays(std::string(100, 'x'), "expected an object file of ELF");
  checkSays(object, "symbol 'relax_linked_norm': neither the code nor this "
                    "process defines it");
  std::string other = object;
  other[18] = 40; // e_machine: ARM
  checkSays(other, "but got one for 40");
  checkSays(object.substr(0, object.size() - 1), "the object file ends at");
  checkSays(archive.substr(0, archive.size() - 1),
            "but the archive ends before");
  checkSays(archive.substr(0, 20), "the archive ends in the head of a member");
  // The first member follows the index; a second copy of all defines all twice.
  checkSays(archive + archive.substr(8), "is defined twice");
}

// Whatever the bytes are: an error in words, or code, which is not run here.
static void testDamaged(std::string archive) {
  size_t refused = 0;
  for (char &byte : archive) {
    char kept = byte;
    for (int change : {0x01, 0x80, 0xff}) {
      byte = static_cast<char>(kept ^ change);
      refused += !tryLink(archive).empty();
    }
    byte = kept;
  }
  CHECK(refused > archive.size() / 10);
  for (size_t size = 0; size < archive.size(); size += 7)
    tryLink(archive.substr(0, size));
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  std::string archive = readFile(argv[1]), object = readFile(argv[2]);
  testRuns(archive);
  testTwice(archive);
  testErrors(archive, object);
  testDamaged(archive);
  return reportChecks();
}
