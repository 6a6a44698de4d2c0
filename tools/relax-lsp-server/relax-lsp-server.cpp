//===- relax-lsp-server.cpp - mlir-lsp-server with Relax -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's server runs in a child process, and this one passes messages:
//
//   client -> Filter::readRequest -> child -> Filter::addToAnswer -> client
//
// A thread passes those of the client, so that neither side waits for the
// other. The end of the client's messages is the end of the child's; the
// process ends as the child does, with the same status. Where there is no
// child, upstream's server runs alone.
//
// Rationale: the classes of upstream's server are private to it, and it reads
// stdin. Options such as `--help` end the process, so it is one of its own.
//
//===----------------------------------------------------------------------===//

#include "Filter.h"

#include "relax-mlir/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/LSP/Transport.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mlir;
using llvm::lsp::JSONStreamStyle;
using relax::lsp::Filter;

/// How messages of the client are separated, as upstream's options say it.
static JSONStreamStyle findStyle(ArrayRef<char *> arguments) {
  bool isDelimited = llvm::any_of(arguments, [](StringRef argument) {
    return argument.ends_with("-lit-test") || argument == "delimited" ||
           argument.ends_with("-input-style=delimited");
  });
  return isDelimited ? JSONStreamStyle::Delimited : JSONStreamStyle::Standard;
}

static bool write(StringRef text, std::FILE *file) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size();
}

/// Writes a message, and says whether there is still somebody who reads.
static bool writeMessage(StringRef message, std::FILE *file,
                         JSONStreamStyle style = JSONStreamStyle::Standard) {
  if (style == JSONStreamStyle::Delimited)
    return write(message, file) && write("\n// -----\n", file) &&
           !std::fflush(file);
  std::string header =
      "Content-Length: " + std::to_string(message.size()) + "\r\n\r\n";
  return write(header, file) && write(message, file) && !std::fflush(file);
}

static void passRequests(std::FILE *server, JSONStreamStyle style,
                         Filter &filter) {
  llvm::lsp::JSONTransportInputOverFile client(stdin, style);
  std::string message;
  bool isRead = true;
  while (isRead && !client.isEndOfInput() && !client.hasError()) {
    if (failed(client.readMessage(message)) || message.empty())
      continue;
    message = filter.readRequest(std::move(message));
    isRead = writeMessage(message, server, style);
  }
  std::fclose(server);
}

/// Reads a line into `line`, with its end.
static bool readLine(std::FILE *file, std::string &line) {
  line.clear();
  int character;
  while ((character = std::fgetc(file)) != EOF && character != '\n')
    line += character;
  if (character == '\n')
    line += '\n';
  return !line.empty();
}

/// Reads the rest of a message, whose first header is `line`.
static bool readBody(std::FILE *file, StringRef line, std::string &message) {
  size_t size;
  if (!line.consume_front("Content-Length: ") ||
      line.trim().getAsInteger(10, size))
    return false;
  std::string header;
  while (readLine(file, header) && !StringRef(header).trim().empty())
    ;
  message.resize(size);
  return std::fread(message.data(), 1, size, file) == size;
}

/// Passes what the server writes until it ends. What is no message, such as the
/// text of `--help`, passes as it is. Says whether the client read all of it.
static bool passAnswers(std::FILE *server, Filter &filter) {
  std::string line, message;
  bool isRead = true;
  while (isRead && readLine(server, line)) {
    if (readBody(server, line, message))
      isRead = writeMessage(filter.addToAnswer(std::move(message)), stdout);
    else
      isRead = write(line, stdout);
  }
  return isRead && !std::fflush(stdout);
}

/// Ends as the child has ended.
[[noreturn]] static void endAs(int status) {
  if (WIFSIGNALED(status)) {
    std::signal(WTERMSIG(status), SIG_DFL);
    std::raise(WTERMSIG(status));
  }
  // The other thread may still wait for the client, so nothing is destroyed.
  std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

/// Passes messages between the client and a child.
[[noreturn]] static void passMessages(pid_t child, int requests, int answers,
                                      JSONStreamStyle style, Filter &filter) {
  // A write to one who has ended fails, and does not end this process.
  std::signal(SIGPIPE, SIG_IGN);
  std::thread(passRequests, ::fdopen(requests, "w"), style, std::ref(filter))
      .detach();
  if (!passAnswers(::fdopen(answers, "r"), filter))
    std::_Exit(EXIT_FAILURE); // which the child sees as the end of its input
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  endAs(status);
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  relax::registerAll(registry);

  enum { Read, Write };
  int requests[2], answers[2];
  pid_t child = -1;
  if (!::pipe(requests) && !::pipe(answers))
    child = ::fork();
  if (child > 0) {
    ::close(requests[Read]);
    ::close(answers[Write]);
    static Filter filter(registry);
    JSONStreamStyle style = findStyle({argv + 1, argv + argc});
    passMessages(child, requests[Write], answers[Read], style, filter);
  }
  if (child == 0) {
    ::dup2(requests[Read], STDIN_FILENO);
    ::dup2(answers[Write], STDOUT_FILENO);
    for (int end : {Read, Write}) {
      ::close(requests[end]);
      ::close(answers[end]);
    }
  }
  return failed(MlirLspServerMain(argc, argv, registry));
}
