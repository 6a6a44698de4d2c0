//===- relax_runtime.h - Interface for compiled programs --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The border between generated code and the runtime. Generated host code holds
// every Relax value in a slot, a `TVMFFIAny` that owns one reference; slots
// live in a frame on the stack of the compiled function and are released
// together. Every function here is plain C, never throws, and reports failure
// the way tvm-ffi does: it leaves an error in the thread-local error slot of
// tvm-ffi and returns -1 (0 on success).
//
// Rationale: a C++ exception must not cross a JIT-compiled frame, and generated
// code stays small when one call does one thing.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_H
#define RELAX_RUNTIME_H

#include <stdint.h>
#include <tvm/ffi/c_api.h>

#if defined(_WIN32)
#define RELAX_RUNTIME_API __declspec(dllexport)
#else
#define RELAX_RUNTIME_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

// A place in the program, for error messages. All strings are static and owned
// by the generated code.
typedef struct {
  const char *function; // name of the Relax function, "main"
  const char *what;     // the thing looked at, "argument 'x'" or "match_cast"
  const char *expected; // its StructInfo as text, "!relax.tensor<[n, 4], f32>"
  const char *location; // source location as text, "" where unknown
} relax_site;

// A data type in the layout of DLDataType: code | bits << 8 | lanes << 16.
// 0 stands for the unknown data type (Void).
typedef uint32_t relax_dtype;

// A tensor among the operands of a call; of data type 0, a shape.
typedef struct {
  relax_dtype dtype;
  int32_t ndim;
} relax_operand;

// A call that a function makes, for profiles.
typedef struct {
  const relax_site *site;
  const char *kind, *name; // "kernel", "add"
  int32_t number;          // of the call in its function
  int32_t num_operands;
  const relax_operand *operands;
} relax_call;

// A kernel as the VM calls it: data[i] and dims[i] are the compact elements and
// the dimensions of its tensor i, in the order of its parameters; `scalars` are
// its scalar parameters in order, a float as the bits of a double. Returns 0,
// or -1 with an error in the error slot of tvm-ffi.
typedef int32_t (*relax_kernel_entry)(void *const *data,
                                      const int64_t *const *dims,
                                      const int64_t *scalars);

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

// Enters a compiled function: counts the depth of recursion of this thread and
// raises RecursionError beyond the limit, and where the stack of the thread is
// about to end. Must be paired with relax_frame_leave when (and only when) it
// succeeded.
RELAX_RUNTIME_API int relax_frame_enter(const relax_site *site);

// Lets a signal end a run that goes on and on: to be called between kernels and
// where a function starts again. Most calls only count. Returns 0, or -1 with
// the error of a handler in Python, such as KeyboardInterrupt.
RELAX_RUNTIME_API int relax_signals_check(void);

// Leaves a compiled function: releases the `count` slots at `slots`.
RELAX_RUNTIME_API void relax_frame_leave(TVMFFIAny *slots, int64_t count);

// A function that was compiled with `profile` says when a call begins and when
// it ends, with its status. `dims` are the dimensions of its operands, one
// after the other. Without a profile in this thread they do nothing.
RELAX_RUNTIME_API void relax_profile_begin(const relax_call *call,
                                           const int64_t *dims);
RELAX_RUNTIME_API void relax_profile_end(const relax_call *call,
                                         int32_t status);

// Begins a call whose operands are these values.
RELAX_RUNTIME_API void
relax_profile_begin_values(const relax_call *call, int32_t count,
                           const TVMFFIAny *const *values);

// Sets the largest depth of recursion for all threads (at least 1); returns the
// old one. The default is 1000.
RELAX_RUNTIME_API int64_t relax_recursion_limit_set(int64_t limit);

//===----------------------------------------------------------------------===//
// Values
//
// The checks raise TypeError for a wrong kind of value or data type, and
// ValueError for a wrong rank, dimension, size, range or device.
//===----------------------------------------------------------------------===//

// dst = src: takes a new reference to src and drops what dst held. dst and src
// may be the same slot. A borrowed `DLTensor*` stays borrowed.
RELAX_RUNTIME_API void relax_value_assign(TVMFFIAny *dst, const TVMFFIAny *src);

// Drops the reference that a slot holds; the slot is None afterwards.
RELAX_RUNTIME_API void relax_value_kill(TVMFFIAny *slot);

// The same for the `count` slots from `slots` on.
RELAX_RUNTIME_API void relax_values_kill(TVMFFIAny *slots, int64_t count);

// Stores src as the owned result of a function, in uninitialized memory `dst`.
// A borrowed `DLTensor*` argument cannot be owned: it raises an error.
RELAX_RUNTIME_API int relax_value_return(const relax_site *site, TVMFFIAny *dst,
                                         const TVMFFIAny *src);

// Raises TypeError unless actual == expected.
RELAX_RUNTIME_API int relax_args_check(const relax_site *site, int32_t actual,
                                       int32_t expected);

// Checks that a value is a tensor of rank `ndim` (-1: any), data type `dtype`
// (0: any) on the device `device_type` (0: any) with index `device_id`.
RELAX_RUNTIME_API int relax_tensor_check(const relax_site *site,
                                         const TVMFFIAny *value, int32_t ndim,
                                         relax_dtype dtype, int32_t device_type,
                                         int32_t device_id);

// Checks that a value is a shape of `ndim` dimensions (-1: any).
RELAX_RUNTIME_API int relax_shape_check(const relax_site *site,
                                        const TVMFFIAny *value, int32_t ndim);

// Checks that a value is a primitive value that fits `dtype`: an integer in its
// range, a float (or an integer in its place), or a Boolean. A Boolean is no
// integer. With dtype 0 any of the three will do.
RELAX_RUNTIME_API int relax_prim_check(const relax_site *site,
                                       const TVMFFIAny *value,
                                       relax_dtype dtype);

// Checks that a value is a tuple (ffi::Array) of `size` fields (-1: any).
RELAX_RUNTIME_API int relax_tuple_check(const relax_site *site,
                                        const TVMFFIAny *value, int64_t size);

// Checks that a value can be called.
RELAX_RUNTIME_API int relax_function_check(const relax_site *site,
                                           const TVMFFIAny *value);

// Checks that a value is a packed function, which a closure is not, unless its
// StructInfo says so.
RELAX_RUNTIME_API int relax_packed_check(const relax_site *site,
                                         const TVMFFIAny *value);

// Checks that a value is a closure whose StructInfo is a subtype of `sinfo`
// with `dims` filled in; see "Closures" for both. With NULL or "" any closure
// will do. The error says which part of the closure differs: a parameter, the
// result, the purity.
RELAX_RUNTIME_API int relax_closure_check(const relax_site *site,
                                          const TVMFFIAny *value,
                                          const char *sinfo, int32_t ndims,
                                          const int64_t *dims);

// Checks that the dimensions of a tensor or a shape are those of `shape`.
RELAX_RUNTIME_API int relax_shape_equal_check(const relax_site *site,
                                              const TVMFFIAny *value,
                                              const TVMFFIAny *shape);

// Raises ValueError: dimension `index` of the value at `site` is `actual`, but
// the StructInfo says `expr` (which is `expected` here). Returns -1. `expr` is
// the dimension as text, "n * 4" or "4"; empty where what the site expects says
// all. `index` is -1 where the value is a primitive value, which has no
// dimensions.
RELAX_RUNTIME_API int relax_dim_raise(const relax_site *site, int64_t index,
                                      const char *expr, int64_t expected,
                                      int64_t actual);

// Raises ValueError: `lhs op rhs`, a step of the expression at `site`, is
// beyond 64 bits. `op` is "+", "-", "*" or "floordiv". Returns -1.
RELAX_RUNTIME_API int relax_overflow_raise(const relax_site *site,
                                           const char *op, int64_t lhs,
                                           int64_t rhs);

// Raises `kind` (a Python exception name) with `message`, which follows the
// place. Returns -1.
RELAX_RUNTIME_API int relax_error_raise(const relax_site *site,
                                        const char *kind, const char *message);

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

// Allocates an uninitialized, row-major tensor, 64-byte aligned. Raises
// ValueError for a negative dimension, MemoryError when memory runs out (sizes
// that overflow included).
RELAX_RUNTIME_API int relax_tensor_alloc(const relax_site *site, TVMFFIAny *dst,
                                         int32_t ndim, const int64_t *dims,
                                         relax_dtype dtype, int32_t device_type,
                                         int32_t device_id);

// The dimensions of a tensor (checked before); ndim int64 values.
RELAX_RUNTIME_API const int64_t *relax_tensor_dims(const TVMFFIAny *value);

// The number of dimensions of a tensor (checked before).
RELAX_RUNTIME_API int32_t relax_tensor_ndim(const TVMFFIAny *value);

// Stores in *data the address of the elements of a tensor (checked before) in
// row-major order, aligned to the size of an element. A tensor that is not so
// is copied once into a compact one, owned by `tmp` (which may be the slot of
// the value): right for a kernel that only reads, as no one can see the copy.
// Raises RuntimeError for a tensor that is not in host memory, and where a copy
// is needed of one whose elements are not whole bytes.
RELAX_RUNTIME_API int relax_tensor_data(const relax_site *site,
                                        const TVMFFIAny *value, TVMFFIAny *tmp,
                                        void **data);

// The same for a kernel that may update the tensor in place, so that a copy
// would be seen: one that is not compact is a ValueError.
RELAX_RUNTIME_API int relax_tensor_data_inplace(const relax_site *site,
                                                const TVMFFIAny *value,
                                                void **data);

// The same for a kernel that runs on a device other than the host: the address
// there. Raises RuntimeError for a tensor of the host, and ValueError for one
// that is not compact.
RELAX_RUNTIME_API int relax_tensor_device_data(const relax_site *site,
                                               const TVMFFIAny *value,
                                               void **data);

// Raises ValueError where argument `index` of a kernel, a tensor that it
// updates, shares memory with its argument `other_index`. Both tensors (checked
// before) are compact at these addresses.
RELAX_RUNTIME_API int
relax_tensor_check_disjoint(const relax_site *site, const TVMFFIAny *updated,
                            const void *updated_data, int32_t index,
                            const TVMFFIAny *other, const void *other_data,
                            int32_t other_index);

// dst = a new, compact copy of a tensor on a device; of a tuple, a tuple of
// copies, and so on down. Any other value is a TypeError. Raises RuntimeError
// where either side is not in host memory.
RELAX_RUNTIME_API int relax_tensor_to_device(const relax_site *site,
                                             TVMFFIAny *dst,
                                             const TVMFFIAny *src,
                                             int32_t device_type,
                                             int32_t device_id);

// The same for a constant, which is copied once for each device: the copy lives
// as long as the constant, and is shared.
RELAX_RUNTIME_API int relax_constant_to_device(const relax_site *site,
                                               TVMFFIAny *dst,
                                               const TVMFFIAny *constant,
                                               int32_t device_type,
                                               int32_t device_id);

// A constant tensor. With fresh == 0 one tensor that views `data` is made, kept
// in *cache (atomically) and shared: right where it is only read. With fresh ==
// 1 each call makes a copy of its own. A shared tensor views the memory of the
// program, so a function that returns it keeps the program alive.
RELAX_RUNTIME_API int relax_constant_get(const relax_site *site, TVMFFIAny *dst,
                                         void **cache, const void *data,
                                         int32_t ndim, const int64_t *dims,
                                         relax_dtype dtype, int32_t fresh);

// dst = a view of a tensor in another shape with as many elements. It shares
// memory with a tensor that is owned and compact, and keeps that alive; of any
// other tensor it is a view of a compact copy. Raises ValueError where the
// number of elements differs.
RELAX_RUNTIME_API int relax_tensor_view(const relax_site *site, TVMFFIAny *dst,
                                        const TVMFFIAny *tensor, int32_t ndim,
                                        const int64_t *dims);

// Reads a bool, or a tensor (checked before) that is one; stores 0 or 1.
RELAX_RUNTIME_API int relax_tensor_bool(const relax_site *site,
                                        const TVMFFIAny *value,
                                        int32_t *result);

//===----------------------------------------------------------------------===//
// Storage
//
// Memory comes from a pool for each device, which keeps what is released for
// the next allocation.
//===----------------------------------------------------------------------===//

// dst = new storage: uninitialized bytes on a device, 64-byte aligned. Raises
// ValueError for a negative size, MemoryError when memory runs out.
RELAX_RUNTIME_API int relax_storage_alloc(const relax_site *site,
                                          TVMFFIAny *dst, int64_t bytes,
                                          int32_t device_type,
                                          int32_t device_id);

// dst = a compact tensor laid out in storage at an offset in bytes, which keeps
// the storage alive. Tensors in one storage may overlap. Raises TypeError for
// what is no storage, ValueError where the tensor would reach beyond the end or
// its elements would not be aligned to their size.
RELAX_RUNTIME_API int
relax_tensor_from_storage(const relax_site *site, TVMFFIAny *dst,
                          const TVMFFIAny *storage, int64_t offset,
                          int32_t ndim, const int64_t *dims, relax_dtype dtype);

// The address of the bytes of storage; NULL for any other value.
RELAX_RUNTIME_API void *relax_storage_data(const TVMFFIAny *storage);

// The statistics of a pool. Bytes are those of whole blocks, which are larger
// than what is in them; objects are counted on cpu:0, or with their elements.
typedef struct {
  int64_t in_use;             // bytes of what is alive
  int64_t cached;             // bytes kept for the next allocation
  int64_t peak;               // the most bytes in use at one time
  int64_t allocations;        // blocks handed out
  int64_t system_allocations; // blocks that the system was asked for
  int64_t system_releases;    // blocks returned to the system
} relax_memory_statistics;

// Reads what the pool of a device has done. Exact where no other thread
// allocates meanwhile, but the peak may miss 256 KiB for each other thread.
RELAX_RUNTIME_API int
relax_memory_statistics_get(int32_t device_type, int32_t device_id,
                            relax_memory_statistics *statistics);

// The peak of a device starts again from what is in use now.
RELAX_RUNTIME_API int relax_memory_peak_reset(int32_t device_type,
                                              int32_t device_id);

// Returns what the pool of a device keeps to the system: that of this thread
// and that shared by all at once, that of other threads (8 MiB each at most)
// when they next release something.
RELAX_RUNTIME_API int relax_memory_release(int32_t device_type,
                                           int32_t device_id);

// Where a device would hold more than `bytes` of the system, blocks that are
// kept for later go back first. -1, as at the start: twice the most that was
// ever in use, and 64 MiB.
RELAX_RUNTIME_API int relax_memory_limit_set(int32_t device_type,
                                             int32_t device_id, int64_t bytes);

// Waits for all work on a device.
RELAX_RUNTIME_API int relax_device_synchronize(int32_t device_type,
                                               int32_t device_id);

// For tests: the first `count` allocations from now succeed, the next one
// raises MemoryError, and then all succeed again; -1: none fails. Returns what
// was left of the last setting, -1 where its failure was had.
RELAX_RUNTIME_API int64_t relax_alloc_fail_after(int64_t count);

//===----------------------------------------------------------------------===//
// Kernels
//
// The services for kernels that run. A kernel that may fail returns 0, or -1
// with an error in the error slot of tvm-ffi.
//===----------------------------------------------------------------------===//

// Scratch memory: uninitialized bytes on the host, aligned to `alignment`, a
// power of two, and at least to 64 bytes. Raises MemoryError and returns NULL
// when memory runs out; INT64_MAX stands for sizes that overflow.
RELAX_RUNTIME_API void *relax_scratch_alloc(const relax_site *site,
                                            int64_t bytes, int64_t alignment);

// Frees scratch memory, on the thread that allocated it. NULL is fine.
RELAX_RUNTIME_API void relax_scratch_free(void *memory);

// Scratch memory of a device other than the host, aligned to 64 bytes; as
// above. What was launched before it is freed may still use it: launches of a
// device run one after the other.
RELAX_RUNTIME_API void *relax_device_scratch_alloc(const relax_site *site,
                                                   int64_t bytes,
                                                   int32_t device_type,
                                                   int32_t device_id);

// Frees scratch memory of a device, on the thread that allocated it.
RELAX_RUNTIME_API void relax_device_scratch_free(void *memory);

// Launches a kernel of an image (PTX text for CUDA) on a device, after all that
// was launched before. Does not wait for it. `sizes` are the blocks in x, y and
// z, the threads of a block in x, y and z, and bytes of dynamic shared memory;
// without blocks nothing is launched. A parameter lies in the low bytes of its
// number in `args`; its character in `kinds` is 'p' for an address of the
// device, 'v' for any other value. *image_cache, one for an image, and
// *kernel_cache, one for a kernel of it, are NULL at first. Raises RuntimeError
// with the driver's words.
RELAX_RUNTIME_API int32_t relax_device_launch(
    const relax_site *site, void **kernel_cache, void **image_cache,
    const char *image, const char *name, int32_t device_type, int32_t device_id,
    const int64_t *sizes, const int64_t *args, int32_t num_args,
    const char *kinds);

// Stands for the scratch memory that this thread has now.
RELAX_RUNTIME_API int64_t relax_scratch_mark(void);

// Frees all scratch memory that this thread allocated since the mark: a kernel
// that fails halfway.
RELAX_RUNTIME_API void relax_scratch_release(int64_t mark);

// The iterations [begin, end) of a loop. Returns 0, or -1 with an error in the
// error slot of tvm-ffi. Never throws.
typedef int32_t (*relax_parallel_body)(void *context, int64_t begin,
                                       int64_t end);

// Runs the iterations [0, size) in chunks of at least `grain`, by several
// threads, the caller among them; returns when all are done. The chunks depend
// on the size, the grain and the number of threads alone, and run in any order.
// Inside of another such loop, and while another thread runs one, they run one
// after the other on this thread. Where a chunk fails, chunks that have not
// begun are left out, and its error (the first one, of several) is raised.
RELAX_RUNTIME_API int32_t relax_parallel_for(relax_parallel_body body,
                                             void *context, int64_t size,
                                             int64_t grain);

// What one operand of a concatenation adds to each row of the result, its
// elements from the axis on, `row_bytes` bytes; its rows follow one another.
typedef struct {
  const void *data;
  int64_t row_bytes;
} relax_concat_part;

// Writes tensors one after another along an axis, by several threads: into each
// of `rows` rows of the result, `row_bytes` bytes apart, a row of each part.
RELAX_RUNTIME_API void relax_concat(void *result, int64_t rows,
                                    int64_t row_bytes,
                                    const relax_concat_part *parts,
                                    int64_t count);

// The number of threads of such loops: as set, or RELAX_MLIR_NUM_THREADS in the
// environment, or the processor cores on which this process may run.
RELAX_RUNTIME_API int32_t relax_num_threads_get(void);

// Sets it, from 1 to 512; 0 stands for the default. Raises ValueError for any
// other number.
RELAX_RUNTIME_API int relax_num_threads_set(int32_t count);

//===----------------------------------------------------------------------===//
// Shapes, primitive values, tuples, strings
//===----------------------------------------------------------------------===//

RELAX_RUNTIME_API int relax_shape_make(TVMFFIAny *dst, int32_t ndim,
                                       const int64_t *dims);
RELAX_RUNTIME_API int relax_shape_of(TVMFFIAny *dst, const TVMFFIAny *tensor);
// The dimensions of a shape (checked before).
RELAX_RUNTIME_API const int64_t *relax_shape_dims(const TVMFFIAny *value);
RELAX_RUNTIME_API int32_t relax_shape_ndim(const TVMFFIAny *value);

RELAX_RUNTIME_API void relax_prim_set_int(TVMFFIAny *dst, int64_t value);
RELAX_RUNTIME_API void relax_prim_set_float(TVMFFIAny *dst, double value);
RELAX_RUNTIME_API void relax_prim_set_bool(TVMFFIAny *dst, int32_t value);
// The integer in a primitive value (checked before).
RELAX_RUNTIME_API int64_t relax_prim_int(const TVMFFIAny *value);

// Makes a tuple of owned values. A borrowed `DLTensor*` is a TypeError.
RELAX_RUNTIME_API int relax_tuple_make(const relax_site *site, TVMFFIAny *dst,
                                       int32_t size,
                                       const TVMFFIAny *const *fields);
// dst = the field `index`. Raises TypeError for what is no tuple and IndexError
// beyond its size.
RELAX_RUNTIME_API int relax_tuple_get(const relax_site *site, TVMFFIAny *dst,
                                      const TVMFFIAny *tuple, int64_t index);

// Makes a value of an algebraic data type: a tag and a tuple of owned values.
RELAX_RUNTIME_API int relax_adt_make(const relax_site *site, TVMFFIAny *dst,
                                     int64_t tag, int32_t size,
                                     const TVMFFIAny *const *fields);
// *tag = its tag. Raises TypeError for any other value.
RELAX_RUNTIME_API int relax_adt_tag(const relax_site *site,
                                    const TVMFFIAny *value, int64_t *tag);
// dst = its field `index`. Raises TypeError for any other value and IndexError
// beyond its fields.
RELAX_RUNTIME_API int relax_adt_get(const relax_site *site, TVMFFIAny *dst,
                                    const TVMFFIAny *value, int64_t index);

RELAX_RUNTIME_API int relax_string_make(TVMFFIAny *dst, const char *data,
                                        int64_t size);
RELAX_RUNTIME_API void relax_dtype_make(TVMFFIAny *dst, relax_dtype dtype);

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

// Looks up a packed function by its registered name. The handle is kept in
// *cache (atomically), so the search happens once. Raises ValueError that names
// the missing function and how to register it.
RELAX_RUNTIME_API int relax_function_get(const relax_site *site, TVMFFIAny *dst,
                                         void **cache, const char *name);

// dst = callee(args...). The error of a callee that fails is passed on as it
// is.
RELAX_RUNTIME_API int relax_function_call(const relax_site *site,
                                          TVMFFIAny *dst,
                                          const TVMFFIAny *callee,
                                          int32_t nargs,
                                          const TVMFFIAny *const *args);

// The same for a function of the same module, given by its tvm-ffi entry. The
// callee gets the `handle` of the caller, so that its closures find the root.
RELAX_RUNTIME_API int relax_entry_call(void *handle, TVMFFIAny *dst,
                                       TVMFFISafeCallType entry, int32_t nargs,
                                       const TVMFFIAny *const *args);

//===----------------------------------------------------------------------===//
// Closures
//
// A closure is a tvm-ffi Function that also holds captured values, its
// StructInfo at run time, and the root: the object that keeps the compiled code
// alive. A Function of any other origin is a packed function.
//
// Rationale: the StructInfo of a function cannot be read off its code, so
// match_cast needs it beside the code.
//
// StructInfo at run time is JSON. An object has a "kind"; a key that is absent
// means unknown:
//
//   {"kind": "object"}
//   {"kind": "tensor", "ndim": 2, "dtype": "float32", "dims": [D, ...],
//    "device": [type, id]}                  ndim -1: any; as in DLPack
//   {"kind": "shape", "ndim": 2, "dims": [D, ...]}
//   {"kind": "prim", "dtype": "int64", "value": D}
//   {"kind": "tuple", "fields": [S, ...]}
//   {"kind": "func", "params": [S, ...], "ret": S, "pure": true}
//   {"kind": "packed"}
//
// A dimension D is one of
//
//   4                                       a constant
//   {"capture": i}                          the value dims[i]
//   "m"                                     a variable of the function
//   {"expr": "m * k + 1", "vars": ["m"], "captures": {"k": i}}
//                                           an expression over both
//
// A function binds the variables that stand alone as a dimension or value in
// its parameters, except those that a function around it binds. Functions among
// the parameters bind their own.
//
// A closure F is accepted as G (rule ST06 of the specification) where F has as
// many parameters, is pure if G is, each parameter of G is a subtype of that of
// F, and the result of F is one of that of G. Before, each variable of F gets
// the dimension at its position in G. So F may take [m] where G takes
// [4], but not [4] where G takes [m]. Dimensions must then be equal for all
// values of the variables of G: sums and products are compared as polynomials,
// other expressions as text. A relation that is not proven fails.
//===----------------------------------------------------------------------===//

// dst = a new closure. A call of it calls `entry` with the closure as handle,
// the captured values and then the arguments. `handle` is that which the
// calling function itself got: NULL, or a Function, which is the root, or a
// closure, whose root it is. The captured values are held by reference; a
// borrowed `DLTensor*` is a TypeError. `sinfo` must live as long as the root
// (NULL or "": nothing is known); `dims` are copied.
RELAX_RUNTIME_API int relax_closure_make(const relax_site *site, TVMFFIAny *dst,
                                         void *handle, TVMFFISafeCallType entry,
                                         int32_t ncaptures,
                                         const TVMFFIAny *const *captures,
                                         const char *sinfo, int32_t ndims,
                                         const int64_t *dims);

//===----------------------------------------------------------------------===//
// Libraries
//
// A compiled module as a shared library: its code, this table of it, and,
// appended to the image of the library, the rest of the module, which is read
// on the first call.
//===----------------------------------------------------------------------===//

#define RELAX_LIBRARY_VERSION 2

typedef struct {
  int32_t version;
  int32_t num_symbols;
  int32_t num_exports;
  int32_t num_features;
  const char *const *symbol_names; // kernels, functions, the pool of constants
  void *const *symbols;
  const char *const *exports;  // the functions to call
  void *state;                 // of the runtime
  const char *const *features; // what the processor must have, as LLVM names it
} relax_library;

// Tells the runtime of a library when it is loaded.
RELAX_RUNTIME_API void relax_library_open(relax_library *library);

// Calls the export `index`. Raises ValueError where the processor lacks a
// feature of the table, and one that names the section where the module
// appended to the library is damaged.
RELAX_RUNTIME_API int relax_library_call(relax_library *library, int32_t index,
                                         const TVMFFIAny *args, int32_t nargs,
                                         TVMFFIAny *result);

#ifdef __cplusplus
}
#endif

#endif // RELAX_RUNTIME_H
