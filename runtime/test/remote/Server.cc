//===- Server.cc - Calls of exported libraries from elsewhere ---*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs functions of exported libraries for a process on another machine: in an
// emulator, for tests of code for processors that this one is not. It reads
// calls from the standard input, in the form of Wire.h, until that ends:
//
//   text, text, value            the path of a library, the name of a function,
//                                a tuple of arguments
//
// and answers each of them on the standard output, after the size of the answer
// (u64):
//
//   R value, value               the result, and the arguments as they are now
//   E text, text                 the kind of an error, its message
//
// What programs print goes to the standard error.
//
//===----------------------------------------------------------------------===//

#include "Wire.h"

#include <map>
#include <tvm/ffi/extra/module.h>
#include <unistd.h>

namespace ffi = tvm::ffi;
using namespace remote;

namespace {
class Server {
public:
  Server(FILE *in, FILE *out) : input(in), out(out) {}

  void run();

private:
  void answer(const std::string &path, const std::string &name,
              const ffi::Array<relax::Any> &args);
  ffi::Module open(const std::string &path);

  Input input;
  FILE *out;
  std::map<std::string, ffi::Module> modules;
};
} // namespace

ffi::Module Server::open(const std::string &path) {
  auto found = modules.find(path);
  if (found != modules.end())
    return found->second;
  ffi::Module module = ffi::Module::LoadFromFile(path);
  modules.emplace(path, module);
  return module;
}

void Server::answer(const std::string &path, const std::string &name,
                    const ffi::Array<relax::Any> &args) {
  Output output;
  try {
    ffi::Function function = open(path)->GetFunction(name).value();
    std::vector<ffi::AnyView> views(args.begin(), args.end());
    relax::Any result;
    function.CallPacked(views.data(), static_cast<int32_t>(views.size()),
                        &result);
    output.write('R');
    output.writeValue(result);
    output.writeValue(args);
  } catch (const ffi::Error &error) {
    output = Output();
    output.write('E');
    output.writeText(error.kind());
    output.writeText(error.message());
  }
  output.flush(out);
}

void Server::run() {
  while (!input.isAtEnd()) {
    std::string path = input.readText(), name = input.readText();
    answer(path, name, input.readValue().cast<ffi::Array<relax::Any>>());
  }
}

int main() {
  FILE *out = fdopen(dup(STDOUT_FILENO), "wb");
  if (!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    std::perror("relax_call_server");
    return 1;
  }
  try {
    Server(stdin, out).run();
  } catch (const ffi::Error &error) {
    std::fprintf(stderr, "relax_call_server: %s: %s\n", error.kind().c_str(),
                 error.message().c_str());
    return 1;
  }
  return 0;
}
