//===- Program.cc - A program as it is compiled -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each round allocates about twenty objects and drops them when it leaves.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include <algorithm>

namespace {

// The slots of a compiled function.
struct Frame {
  TVMFFIAny slots[16] = {};
  bool isEntered;
  Frame() : isEntered(relax_frame_enter(&kSite) == 0) {}
  Frame(const Frame &) = delete;
  ~Frame() {
    if (isEntered)
      relax_frame_leave(slots, 16);
  }
  TVMFFIAny *operator[](int index) { return &slots[index]; }
};

} // namespace

// Returns the number of arguments and the first of them, the captured one.
static int countArguments(void *, const TVMFFIAny *args, int32_t nargs,
                          TVMFFIAny *result) {
  TVMFFIAny count = {};
  relax_prim_set_int(&count, nargs);
  const TVMFFIAny *fields[] = {&count, args};
  *result = TVMFFIAny{};
  return relax_tuple_make(&kSite, result, 2, fields);
}

static int useStorage(Frame &frame, int64_t round, int64_t *sum) {
  const int64_t dims[] = {4, 8 + round % 5}, flat[] = {dims[0] * dims[1]};
  if (relax_storage_alloc(&kSite, frame[0], 4096, kDLCPU, 0) ||
      relax_tensor_from_storage(&kSite, frame[1], frame[0], 64, 2, dims, kI64))
    return -1;
  relax_value_kill(frame[0]);
  auto *data =
      static_cast<int64_t *>(TVMFFITensorGetDLTensorPtr(frame[1]->v_obj)->data);
  std::fill_n(data, flat[0], round);
  if (relax_tensor_view(&kSite, frame[2], frame[1], 1, flat))
    return -1;
  void *viewed = nullptr;
  if (relax_tensor_data(&kSite, frame[2], frame[3], &viewed))
    return -1;
  *sum += static_cast<int64_t *>(viewed)[flat[0] - 1];
  return 0;
}

// A strided argument is copied; its copy goes to another device in a tuple.
static int useCopies(Frame &frame, int64_t *sum) {
  int64_t grid[4] = {1, 2, 3, 4}, dims[] = {2, 2}, strides[] = {1, 2};
  DLTensor tensor = {};
  tensor.data = grid;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 2;
  tensor.dtype = {kDLInt, 64, 1};
  tensor.shape = dims;
  tensor.strides = strides;
  TVMFFIAny argument = {};
  argument.type_index = kTVMFFIDLTensorPtr;
  argument.v_ptr = &tensor;
  void *data = nullptr;
  if (relax_tensor_data(&kSite, &argument, frame[4], &data))
    return -1;
  *sum += static_cast<int64_t *>(data)[1]; // 3
  const TVMFFIAny *fields[] = {frame[4], frame[2]};
  if (relax_tuple_make(&kSite, frame[5], 2, fields) ||
      relax_tensor_to_device(&kSite, frame[6], frame[5], kDLCPU, 1) ||
      relax_tuple_get(&kSite, frame[7], frame[6], 0))
    return -1;
  *sum += TVMFFITensorGetDLTensorPtr(frame[7]->v_obj)->device.device_id;
  return 0;
}

static int useClosure(Frame &frame, int64_t *sum) {
  const TVMFFIAny *captures[] = {frame[6], frame[2]};
  const int64_t dims[] = {3, 4};
  if (relax_closure_make(&kSite, frame[8], nullptr, countArguments, 2, captures,
                         "", 2, dims))
    return -1;
  const TVMFFIAny *args[20];
  std::fill_n(args, 20, frame[2]);
  if (relax_function_call(&kSite, frame[9], frame[8], 20, args) ||
      relax_tuple_get(&kSite, frame[10], frame[9], 0))
    return -1;
  *sum += relax_prim_int(frame[10]); // 22
  return 0;
}

static int useValues(Frame &frame, int64_t round, int64_t *sum) {
  static const float data[6] = {1, 2, 3, 4, 5, 6};
  const int64_t dims[] = {2, 3}, large[] = {3 << 20};
  void *none = nullptr;
  const char *text = "a string that is not small";
  if (relax_shape_of(frame[11], frame[1]) ||
      relax_shape_make(frame[12], 2, dims) ||
      relax_string_make(frame[13], text, 26) ||
      relax_constant_get(&kSite, frame[14], &none, data, 2, dims, kF32, 1))
    return -1;
  *sum += relax_shape_dims(frame[11])[1] + relax_shape_ndim(frame[12]);
  // Every so often a tensor that threads do not keep.
  if (round % 8 == 0 && relax_tensor_alloc(&kSite, frame[15], 1, large,
                                           makeDType(kDLInt, 8), kDLCPU, 0))
    return -1;
  return 0;
}

static int runRound(int64_t round, int64_t *sum) {
  Frame frame;
  if (!frame.isEntered || useStorage(frame, round, sum) ||
      useCopies(frame, sum) || useClosure(frame, sum))
    return -1;
  return useValues(frame, round, sum);
}

int runProgram(int64_t rounds, int64_t *sum) {
  *sum = 0;
  for (int64_t round = 0; round < rounds; ++round)
    if (runRound(round, sum))
      return -1;
  return 0;
}

int64_t sumOfProgram(int64_t rounds) {
  int64_t sum = 0;
  for (int64_t round = 0; round < rounds; ++round)
    sum += round + 3 + 1 + 22 + 8 + round % 5 + 2;
  return sum;
}
