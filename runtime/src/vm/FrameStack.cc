//===- FrameStack.cc - Memory for frames ------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chain of segments, each at least twice as large as the one before. When the
// last frame is gone, small segments stay for the next call and large ones,
// which deep recursion needed, go back.
//
//===----------------------------------------------------------------------===//

#include "Interpreter.h"

#include "../Pool.h"

#include <algorithm>

using namespace relax_runtime;
using namespace relax_runtime::vm;

struct alignas(16) FrameStack::Segment {
  Segment *previous, *next;
  // The top of this segment while a later one is in use.
  char *savedTop;
  size_t size;

  char *begin() { return reinterpret_cast<char *>(this + 1); }
  char *end() { return begin() + size; }
};

static constexpr size_t kFirstSegment = size_t(64) << 10;
static constexpr size_t kLargestKept = size_t(4) << 20;

FrameStack &FrameStack::get() {
  thread_local FrameStack stack;
  return stack;
}

FrameStack::~FrameStack() {
  while (segment && segment->previous)
    segment = segment->previous;
  while (Segment *first = segment) {
    segment = first->next;
    freeHost(first);
  }
}

// Goes on in the next segment, which is made where there is none or where it is
// too small.
RELAX_COLD bool FrameStack::grow(size_t bytes) noexcept {
  Segment *next = segment ? segment->next : nullptr;
  if (next && next->size < bytes) {
    // Nothing is in use after the current segment.
    while (Segment *later = next) {
      next = later->next;
      freeHost(later);
    }
    segment->next = nullptr;
  }
  if (!next) {
    size_t size = std::max(bytes, segment ? 2 * segment->size : kFirstSegment);
    next = static_cast<Segment *>(allocateHost(sizeof(Segment) + size));
    if (!next)
      return false;
    *next = Segment{segment, nullptr, nullptr, size};
    if (segment)
      segment->next = next;
  }
  if (segment)
    segment->savedTop = top;
  segment = next;
  top = next->begin();
  end = next->end();
  return true;
}

// Goes back to the segment before, which holds the last frame.
RELAX_COLD void FrameStack::shrink() noexcept {
  if (segment->size > kLargestKept) {
    Segment *last = segment;
    segment = last->previous;
    while (Segment *later = last) {
      last = later->next;
      freeHost(later);
    }
    segment->next = nullptr;
  } else {
    segment = segment->previous;
  }
  top = segment->savedTop;
  end = segment->end();
}

Frame *FrameStack::push(VirtualMachineObj *vm, const FunctionCode &code,
                        Frame *caller) noexcept {
  if (!RELAX_LIKELY(static_cast<size_t>(end - top) >= code.frameBytes) &&
      !grow(code.frameBytes))
    return nullptr;
  Frame *frame = reinterpret_cast<Frame *>(top);
  top += code.frameBytes;
  TVMFFIAny *registers = reinterpret_cast<TVMFFIAny *>(frame + 1);
  int64_t *heap = reinterpret_cast<int64_t *>(registers + code.numRegisters);
  // Ends on a multiple of 16, see Program.cc.
  char *scratch = reinterpret_cast<char *>(
      heap + (code.numHeapSlots + code.numHeapSlots % 2));
  *frame = Frame{vm, &code, nullptr, caller, registers, heap, scratch};
  std::memset(
      static_cast<void *>(registers), 0,
      static_cast<size_t>(scratch - reinterpret_cast<char *>(registers)));
  return frame;
}

void FrameStack::pop(Frame *frame) noexcept {
  TVMFFIAny *registers = frame->registers;
  for (uint32_t i = 0, e = frame->code->numRegisters; i < e; ++i)
    if (registers[i].type_index >= kTVMFFIStaticObjectBegin)
      owned(&registers[i]).~Any();
  top = reinterpret_cast<char *>(frame);
  if (!RELAX_LIKELY(top != segment->begin()) && segment->previous)
    shrink();
}
