//===- fake_tile_driver.c - A driver of tile kernels for tests ----*- C -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for the driver of a GPU that launches kernels of CUDA Tile IR. What
// it does not define is found in the interpreter of PTX, which it is linked
// with: devices, contexts and memory. A launch calls what a test has set.
//
//===----------------------------------------------------------------------===//

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kSuccess = 0,
  kInvalidValue = 1,
  kInvalidContext = 201,
  kNoBinary = 209
};
enum { kNotFound = 500, kLaunchFailed = 719 };
enum { kErrorLog = 5, kErrorLogSize = 6 };

typedef struct {
  const char *image; // from the first byte on that is not the mark of an ELF
} Module;

typedef struct {
  const Module *module;
  char name[64];
} Kernel;

typedef int (*Launch)(const char *name, const char *image, unsigned grid,
                      void **arguments);

// What tests set, and what they ask for.
int fake_version = 13000, fake_capability = 90, fake_modules, fake_launches;
void *fake_stream;
static Launch launch;
void fake_set_launch(Launch given) { launch = given; }

// Of the interpreter of PTX.
int cuCtxGetCurrent(void **context);

static int isContextCurrent(void) {
  void *context = NULL;
  return cuCtxGetCurrent(&context) == kSuccess && context;
}

int cuDriverGetVersion(int *version) {
  *version = fake_version;
  return kSuccess;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  if (attribute != 75 && attribute != 76)
    return kInvalidValue;
  *value = attribute == 75 ? fake_capability / 10 : fake_capability % 10;
  return kSuccess;
}

// Writes words to the log that the caller has given.
static void report(const char *words, unsigned count, const int *options,
                   void **values) {
  char *log = NULL;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kErrorLog)
      log = values[i];
    if (options[i] == kErrorLogSize)
      size = (size_t)(uintptr_t)values[i];
  }
  if (log)
    snprintf(log, size, "%s", words);
}

int cuModuleLoadDataEx(Module **module, const char *image, unsigned count,
                       const int *options, void **values) {
  if (!isContextCurrent())
    return kInvalidContext;
  if (memcmp(image,
             "\x7f"
             "ELF",
             4) != 0) {
    report("no image of a device", count, options, values);
    return kNoBinary;
  }
  *module = calloc(1, sizeof(Module));
  (*module)->image = strdup(image + 4);
  ++fake_modules;
  return kSuccess;
}

int cuModuleGetFunction(Kernel **kernel, Module *module, const char *name) {
  if (strncmp(name, "product", 7) != 0 && strncmp(name, "attention", 9) != 0)
    return kNotFound;
  *kernel = calloc(1, sizeof(Kernel));
  (*kernel)->module = module;
  snprintf((*kernel)->name, sizeof((*kernel)->name), "%s", name);
  return kSuccess;
}

int cuLaunchKernel(Kernel *kernel, unsigned gridX, unsigned gridY,
                   unsigned gridZ, unsigned blockX, unsigned blockY,
                   unsigned blockZ, unsigned shared, void *stream,
                   void **arguments, void **extra) {
  if (!isContextCurrent())
    return kInvalidContext;
  // Kernels of tiles say themselves how many threads a block has.
  if (blockX != 1 || blockY != 1 || blockZ != 1 || gridX == 0 || gridY != 1 ||
      gridZ != 1 || shared != 0 || !arguments || extra || !launch)
    return kInvalidValue;
  ++fake_launches;
  fake_stream = stream;
  return launch(kernel->name, kernel->module->image, gridX, arguments)
             ? kLaunchFailed
             : kSuccess;
}
