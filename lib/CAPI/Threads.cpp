//===- Threads.cpp - The threads of contexts --------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pool of threads for all contexts of a process that may fork.
// Rationale: a child of fork() has the memory of a pool, but not its threads: a
// wait for a task never returns there, and even the destructor of the pool
// waits for its threads. So the contexts of Python share one pool that is never
// destroyed, and a child starts another one when it first needs it.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir-c/Dialect.h"

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/TransformOps/Registration.h"

#include "mlir/CAPI/IR.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <cstdlib>

#ifndef _WIN32
#include <pthread.h>
#endif

using namespace mlir;

/// The number of threads that RELAX_MLIR_COMPILE_THREADS asks for; 0 where it
/// asks for none in particular.
static unsigned readNumThreads() {
  const char *text = std::getenv("RELAX_MLIR_COMPILE_THREADS");
  unsigned count = 0;
  if (!text || (to_integer(StringRef(text), count, 10) && count > 0))
    return count;
  llvm::errs() << "relax: RELAX_MLIR_COMPILE_THREADS: expected a number from 1 "
                  "on, but got '"
               << text << "'; all cores are used\n";
  return 0;
}

namespace {
/// Runs each task at once, on the thread that compiles.
class NoThreads : public llvm::ThreadPoolInterface {
public:
  void wait() override {}
  void wait(llvm::ThreadPoolTaskGroup &) override {}
  unsigned getMaxConcurrency() const override { return 1; }

private:
  void asyncEnqueue(llvm::unique_function<void()> task,
                    llvm::ThreadPoolTaskGroup *) override {
    task();
  }
};

/// Hands everything to a pool that is made when it is first needed in a
/// process. Threads start with the first task.
class ForkSafePool : public llvm::ThreadPoolInterface {
public:
  static ForkSafePool &get();

  void wait() override { pool().wait(); }
  void wait(llvm::ThreadPoolTaskGroup &group) override { pool().wait(group); }
  unsigned getMaxConcurrency() const override {
    return pool().getMaxConcurrency();
  }

private:
  void asyncEnqueue(llvm::unique_function<void()> task,
                    llvm::ThreadPoolTaskGroup *group) override {
    if (group)
      pool().async(*group, std::move(task));
    else
      pool().async(std::move(task));
  }

  llvm::ThreadPoolInterface &pool() const;

  /// As the environment says; 0 for all cores.
  const unsigned numThreads = readNumThreads();
  // Without a lock, which another thread may hold while this one forks.
  mutable std::atomic<llvm::ThreadPoolInterface *> current{nullptr};
};
} // namespace

ForkSafePool &ForkSafePool::get() {
  // Never destroyed, like what it points to.
  static auto *shared = [] {
    auto *made = new ForkSafePool();
#ifndef _WIN32
    pthread_atfork(/*prepare=*/nullptr, /*parent=*/nullptr, /*child=*/[] {
      // Leaks the pool of the parent: the child has no thread of it to join.
      get().current.store(nullptr, std::memory_order_relaxed);
    });
#endif
    return made;
  }();
  return *shared;
}

llvm::ThreadPoolInterface &ForkSafePool::pool() const {
  llvm::ThreadPoolInterface *found = current.load(std::memory_order_acquire);
  if (found)
    return *found;
  std::unique_ptr<llvm::ThreadPoolInterface> made;
  if (numThreads == 1)
    made = std::make_unique<NoThreads>();
  else
    made = std::make_unique<llvm::DefaultThreadPool>(
        llvm::hardware_concurrency(numThreads));
  if (current.compare_exchange_strong(found, made.get(),
                                      std::memory_order_acq_rel))
    return *made.release();
  return *found;
}

/// Gives a context the shared pool, unless it has no threads.
static void shareThreads(MLIRContext *context) {
  if (!context->isMultithreadingEnabled())
    return;
  context->disableMultithreading();
  context->setThreadPool(ForkSafePool::get());
}

void mlirRelaxShareThreads(MlirDialectRegistry registry) {
  unwrap(registry)->addExtension(
      +[](MLIRContext *context, relax::RelaxDialect *) {
        shareThreads(context);
      });
}

void mlirRelaxLoadDialectAndShareThreads(MlirContext context) {
  MLIRContext *unwrapped = unwrap(context);
  if (unwrapped->getLoadedDialect<relax::RelaxDialect>())
    return;
  unwrapped->getOrLoadDialect<relax::RelaxDialect>();
  DialectRegistry registry;
  relax::registerTransformExtension(registry);
  unwrapped->appendDialectRegistry(registry);
  shareThreads(unwrapped);
}
