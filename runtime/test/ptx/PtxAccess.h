//===- PtxAccess.h - Where addresses of kernels lead ---------- -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks an access of a lane, and gives the bytes.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TEST_PTX_ACCESS_H
#define RELAX_RUNTIME_TEST_PTX_ACCESS_H

#include "PtxMachine.h"

namespace relax_ptx {

inline SharedMemory::Thread threadOf(const Warp &warp, int lane) {
  return {warp.first + static_cast<uint32_t>(lane), warp.epoch, lane};
}

// Finds the allocation; faults where there is none.
void findGlobal(Warp &warp, View &view, int lane, uint64_t address,
                uint32_t bytes);
[[noreturn]] void faultMisaligned(int lane, uint64_t address, uint32_t bytes);

inline uint8_t *globalAt(Warp &warp, uint32_t view, int lane, uint64_t address,
                         uint32_t bytes) {
  View &found = warp.machine->views[view];
  uint64_t offset = address - found.begin;
  if (offset >= found.bytes || found.bytes - offset < bytes) {
    findGlobal(warp, found, lane, address, bytes);
    offset = address - found.begin;
  }
  if (address & (bytes - 1))
    faultMisaligned(lane, address, bytes);
  return found.host + offset;
}

// An address of shared memory in its own state space.
uint32_t sharedPlace(int lane, uint64_t address);
// The state space of an address, which loses its tag.
Space spaceOf(int lane, uint64_t &address);

// With RELAX_PTX_CHECK=global: blocks of a launch are in no order, so none may
// read what another writes, nor write other values.
void noteGlobalRead(Warp &warp, const Instruction &in, int lane,
                    uint64_t address, uint32_t bytes);
void noteGlobalWrite(Warp &warp, const Instruction &in, int lane,
                     uint64_t address, const void *data, uint32_t bytes);

} // namespace relax_ptx

#endif // RELAX_RUNTIME_TEST_PTX_ACCESS_H
