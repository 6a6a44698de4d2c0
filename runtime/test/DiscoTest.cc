//===- DiscoTest.cc - Workers that compute together -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads as workers: many collectives in a row, of all and of groups, those
// that go on while another one is late, and what ends with an error.
//
//===----------------------------------------------------------------------===//

#include "Test.h"

#include <functional>
#include <thread>

namespace {

constexpr int64_t kWorkers = 4, kGroups = 2;

ffi::Function findDisco(const std::string &name) {
  return ffi::Function::GetGlobalRequired("relax_mlir." + name);
}

ffi::ObjectRef makeCommunicator(double timeout) {
  return findDisco("runtime.disco_communicator")(kWorkers, kGroups, -1, timeout,
                                                 true)
      .cast<ffi::ObjectRef>();
}

// What an instruction does on a worker, and its number.
using Action = std::function<void(int64_t worker, int64_t instruction)>;

// Lets workers execute instructions [first, last]; the errors of each.
std::vector<std::string> execute(const ffi::ObjectRef &communicator,
                                 int64_t first, int64_t last,
                                 const Action &action) {
  std::vector<std::string> errors(kWorkers);
  std::vector<std::thread> threads;
  for (int64_t worker = 0; worker < kWorkers; ++worker)
    threads.emplace_back([&, worker] {
      findDisco("runtime.disco_bind")(communicator, worker);
      for (int64_t i = first; i <= last; ++i) {
        std::string failure;
        findDisco("runtime.disco_begin")(i);
        try {
          action(worker, i);
        } catch (const ffi::Error &error) {
          failure = error.kind() + ": " + error.message();
          errors[worker] += failure;
        }
        findDisco("runtime.disco_end")(failure);
      }
      findDisco("runtime.disco_unbind")();
    });
  for (std::thread &thread : threads)
    thread.join();
  return errors;
}

struct Numbers {
  explicit Numbers(int64_t count, int64_t value = 0)
      : values(count, value), view(values.data(), {count}, kI64) {}
  std::vector<int64_t> values;
  View view;
};

void callAllReduce(Numbers &from, Numbers &to, int64_t reduction,
                   bool inGroup) {
  findDisco("disco.allreduce")(&from.view.tensor, ffi::Shape({reduction}),
                               inGroup, &to.view.tensor);
}

void testManyInARow() {
  ffi::ObjectRef communicator = makeCommunicator(0);
  std::vector<int64_t> wrong(kWorkers);
  std::vector<std::string> errors =
      execute(communicator, 1, 300, [&](int64_t worker, int64_t instruction) {
        int64_t count = instruction % 50 == 0 ? 100'000 : instruction % 7;
        Numbers from(count, worker + instruction), all(count), group(count);
        callAllReduce(from, all, 0, false);
        callAllReduce(from, group, 3, true);
        for (int64_t value : all.values)
          wrong[worker] += value != 6 + 4 * instruction;
        for (int64_t value : group.values)
          wrong[worker] += value != worker / 2 * 2 + 1 + instruction;
        Numbers first(count), every(4 * count);
        findDisco("disco.broadcast_from_worker0")(&from.view.tensor, false,
                                                  &first.view.tensor);
        findDisco("disco.allgather")(&from.view.tensor, false,
                                     &every.view.tensor);
        for (int64_t i = 0; i < count; ++i) {
          wrong[worker] += first.values[i] != instruction;
          wrong[worker] += every.values[3 * count + i] != 3 + instruction;
        }
      });
  for (int64_t worker = 0; worker < kWorkers; ++worker) {
    CHECK(wrong[worker] == 0);
    CHECK_TEXT(errors[worker], "");
  }
}

// Workers that have no part in what others wait for go on.
void testInstructionsAhead() {
  ffi::ObjectRef communicator = makeCommunicator(0);
  std::vector<int64_t> wrong(kWorkers);
  execute(communicator, 1, 200, [&](int64_t worker, int64_t instruction) {
    if (worker == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    Numbers from(3, instruction), to(3);
    if (worker >= 2 || instruction % 40 == 0)
      callAllReduce(from, to, 0, instruction % 40 != 0);
    int64_t expected = instruction % 40 == 0 ? 4 : worker >= 2 ? 2 : 0;
    wrong[worker] += to.values[2] != expected * instruction;
  });
  CHECK(wrong == std::vector<int64_t>(kWorkers));
}

void testFailures() {
  ffi::ObjectRef communicator = makeCommunicator(0);
  auto failing = [&](int64_t worker, int64_t instruction) {
    Numbers from(2, 1), to(2);
    if (worker == 1 && instruction % 2 == 0)
      TVM_FFI_THROW(KeyError) << "lost";
    callAllReduce(from, to, 0, false);
    if (to.values[0] != kWorkers)
      TVM_FFI_THROW(ValueError) << "wrong";
  };
  std::vector<std::string> errors = execute(communicator, 1, 3, failing);
  CHECK_TEXT(errors[0], "CollectiveError: runtime.disco.allreduce: worker 1 "
                        "failed: KeyError: lost");
  CHECK_TEXT(errors[1], "KeyError: lost");
  errors = execute(communicator, 4, 4, [&](int64_t worker, int64_t) {
    Numbers from(2, 1), to(2);
    if (worker != 3)
      callAllReduce(from, to, 0, true);
  });
  CHECK_TEXT(errors[2],
             "ValueError: runtime.disco.allreduce: expected all workers to "
             "call the same operators, but worker 3 has ended the call without "
             "coming here");
  CHECK_TEXT(errors[0] + errors[1] + errors[3], "");
}

void testDeathAndInterrupt() {
  ffi::ObjectRef communicator = makeCommunicator(0);
  auto waiting = [&](int64_t worker, int64_t) {
    Numbers from(2, 1), to(2);
    if (worker == 0)
      findDisco("runtime.disco_mark_dead")(communicator, 3, "gone");
    if (worker != 3)
      callAllReduce(from, to, 0, false);
  };
  std::vector<std::string> errors = execute(communicator, 1, 1, waiting);
  for (int64_t worker = 0; worker < 3; ++worker)
    CHECK_TEXT(errors[worker], "CollectiveError: runtime.disco.allreduce: "
                               "worker 3 has died: gone");
  communicator = makeCommunicator(0);
  errors = execute(communicator, 1, 1, [&](int64_t worker, int64_t) {
    Numbers from(2, 1), to(2);
    if (worker == 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      findDisco("runtime.disco_interrupt")(communicator, 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    } else {
      callAllReduce(from, to, 0, false);
    }
  });
  CHECK_TEXT(errors[1], "KeyboardInterrupt: runtime.disco.allreduce: "
                        "interrupted while it waited for others");
}

void testTimeout() {
  ffi::ObjectRef communicator = makeCommunicator(0.05);
  std::vector<std::string> errors =
      execute(communicator, 1, 1, [&](int64_t worker, int64_t) {
        Numbers from(2, 1), to(2);
        if (worker == 3)
          std::this_thread::sleep_for(std::chrono::milliseconds(400));
        else
          callAllReduce(from, to, 0, false);
      });
  CHECK(errors[0].rfind("TimeoutError: ", 0) == 0 ||
        errors[0].rfind("CollectiveError: ", 0) == 0);
  CHECK_TEXT(errors[3], "");
}

} // namespace

void testDisco() {
  testManyInARow();
  testInstructionsAhead();
  testFailures();
  testDeathAndInterrupt();
  testTimeout();
}
