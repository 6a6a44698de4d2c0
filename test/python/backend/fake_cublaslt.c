//===- fake_cublaslt.c - cuBLASLt for tests -----------------------*- C -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for cuBLASLt on machines without a GPU: checks what it is given as
// the header of the library describes it, and computes on the host. Memory of
// the device is copied by the driver that RELAX_CUDA_DRIVER names.
//
// Settings of the environment:
//   FAKE_CUBLASLT_FAIL    a function and the status that it returns, such as
//                         cublasLtMatmul:13; "none" for no algorithm
//
//===----------------------------------------------------------------------===//

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSuccess = 0, kNotInitialized = 1, kInvalid = 7, kNotSupported = 15 };
enum { kF32 = 0, kF16 = 2, kBF16 = 14 };
enum { kCompute32F = 68, kFastTF32 = 77 };
enum { kRelu = 2, kBias = 4, kGelu = 32 };
enum { kHandle = 0x4c74, kDesc, kLayout, kPreference };

typedef struct {
  int magic;
  void *context;
} Handle;

typedef struct {
  int magic, compute, scale, transA, transB;
  uint32_t epilogue;
  uint64_t bias;
} Desc;

typedef struct {
  int magic, type, batch;
  uint64_t rows, cols;
  int64_t ld, stride;
} Layout;

typedef struct {
  int magic;
  uint64_t workspace;
  uint32_t reductions, alignments[4];
} Preference;

typedef struct {
  uint64_t m, n, k, batch, alignment, workspace, epilogue, check;
} Algo;

typedef struct {
  Algo algo;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
} Heuristic;

// What tests ask for: how often functions were called, and what the last
// product was.
void *fake_stream;
int64_t fake_heuristics, fake_products, fake_objects, fake_compute,
    fake_reductions, fake_alignment, fake_batch, fake_workspace;

static int fail(int status, const char *text) {
  fprintf(stderr, "fake cuBLASLt: %s\n", text);
  return status;
}
#define REQUIRE(condition)                                                     \
  do {                                                                         \
    if (!(condition))                                                          \
      return fail(kInvalid, "expected " #condition);                           \
  } while (0)

// The status that a function is told to return.
static int told(const char *name) {
  const char *text = getenv("FAKE_CUBLASLT_FAIL");
  size_t length = strlen(name);
  if (!text || strncmp(text, name, length) || text[length] != ':')
    return kSuccess;
  return atoi(text + length + 1);
}
#define BEGIN                                                                  \
  do {                                                                         \
    int status = told(__func__);                                               \
    if (status)                                                                \
      return status;                                                           \
  } while (0)

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

static void *symbol(const char *name) {
  static void *library;
  if (!library) {
    const char *path = getenv("RELAX_CUDA_DRIVER");
    library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW);
  }
  return library ? dlsym(library, name) : NULL;
}

static void *currentContext(void) {
  int (*get)(void **) = (int (*)(void **))symbol("cuCtxGetCurrent");
  void *context = NULL;
  return get && get(&context) == 0 ? context : NULL;
}

static bool download(void *to, uint64_t from, size_t bytes) {
  int (*copy)(void *, uint64_t, size_t) =
      (int (*)(void *, uint64_t, size_t))symbol("cuMemcpyDtoH_v2");
  return bytes == 0 || (copy && copy(to, from, bytes) == 0);
}

static bool upload(uint64_t to, const void *from, size_t bytes) {
  int (*copy)(uint64_t, const void *, size_t) =
      (int (*)(uint64_t, const void *, size_t))symbol("cuMemcpyHtoD_v2");
  return bytes == 0 || (copy && copy(to, from, bytes) == 0);
}

//===----------------------------------------------------------------------===//
// Handles, descriptions, layouts, preferences
//===----------------------------------------------------------------------===//

static void *make(size_t size, int magic) {
  int *made = calloc(1, size);
  *made = magic;
  ++fake_objects;
  return made;
}
static int destroy(int *object, int magic) {
  REQUIRE(object && *object == magic);
  *object = 0;
  free(object);
  --fake_objects;
  return kSuccess;
}

size_t cublasLtGetVersion(void) { return 130203; }

int cublasLtCreate(Handle **handle) {
  BEGIN;
  if (!currentContext())
    return fail(kNotInitialized, "no context is current");
  *handle = make(sizeof(Handle), kHandle);
  (*handle)->context = currentContext();
  return kSuccess;
}

int cublasLtMatmulDescCreate(Desc **desc, int compute, int scale) {
  BEGIN;
  REQUIRE(compute == kCompute32F || compute == kFastTF32);
  REQUIRE(scale == kF32);
  *desc = make(sizeof(Desc), kDesc);
  (*desc)->compute = compute;
  (*desc)->scale = scale;
  (*desc)->epilogue = 1;
  return kSuccess;
}
int cublasLtMatmulDescDestroy(Desc *desc) {
  return destroy((int *)desc, kDesc);
}

int cublasLtMatmulDescSetAttribute(Desc *desc, int attribute, const void *value,
                                   size_t size) {
  BEGIN;
  REQUIRE(desc && desc->magic == kDesc && value);
  switch (attribute) {
  case 3:
  case 4: {
    int operation;
    REQUIRE(size == sizeof(operation));
    memcpy(&operation, value, size);
    REQUIRE(operation == 0 || operation == 1);
    *(attribute == 3 ? &desc->transA : &desc->transB) = operation;
    return kSuccess;
  }
  case 7:
    REQUIRE(size == sizeof(desc->epilogue));
    memcpy(&desc->epilogue, value, size);
    REQUIRE(desc->epilogue == 1 ||
            ((desc->epilogue & ~(uint32_t)kBias) == 0 && desc->epilogue) ||
            (desc->epilogue & ~(uint32_t)kBias) == kRelu ||
            (desc->epilogue & ~(uint32_t)kBias) == kGelu);
    return kSuccess;
  case 8:
    REQUIRE(size == sizeof(desc->bias));
    memcpy(&desc->bias, value, size);
    return kSuccess;
  }
  return fail(kInvalid, "an attribute of descriptions");
}

int cublasLtMatrixLayoutCreate(Layout **layout, int type, uint64_t rows,
                               uint64_t cols, int64_t ld) {
  BEGIN;
  REQUIRE(type == kF32 || type == kF16 || type == kBF16);
  REQUIRE(rows > 0 && cols > 0 && ld >= (int64_t)rows);
  *layout = make(sizeof(Layout), kLayout);
  (*layout)->type = type;
  (*layout)->batch = 1;
  (*layout)->rows = rows;
  (*layout)->cols = cols;
  (*layout)->ld = ld;
  return kSuccess;
}
int cublasLtMatrixLayoutDestroy(Layout *layout) {
  return destroy((int *)layout, kLayout);
}

int cublasLtMatrixLayoutSetAttribute(Layout *layout, int attribute,
                                     const void *value, size_t size) {
  BEGIN;
  REQUIRE(layout && layout->magic == kLayout && value);
  if (attribute == 5) {
    REQUIRE(size == sizeof(layout->batch));
    memcpy(&layout->batch, value, size);
    REQUIRE(layout->batch > 0);
    return kSuccess;
  }
  REQUIRE(attribute == 6 && size == sizeof(layout->stride));
  memcpy(&layout->stride, value, size);
  return kSuccess;
}

int cublasLtMatmulPreferenceCreate(Preference **preference) {
  BEGIN;
  *preference = make(sizeof(Preference), kPreference);
  (*preference)->reductions = 7;
  for (int i = 0; i < 4; ++i)
    (*preference)->alignments[i] = 256;
  return kSuccess;
}
int cublasLtMatmulPreferenceDestroy(Preference *preference) {
  return destroy((int *)preference, kPreference);
}

int cublasLtMatmulPreferenceSetAttribute(Preference *preference, int attribute,
                                         const void *value, size_t size) {
  BEGIN;
  REQUIRE(preference && preference->magic == kPreference && value);
  if (attribute == 1) {
    REQUIRE(size == 8);
    memcpy(&preference->workspace, value, size);
    return kSuccess;
  }
  REQUIRE(size == 4 && (attribute == 3 || (attribute >= 5 && attribute <= 8)));
  memcpy(attribute == 3 ? &preference->reductions
                        : &preference->alignments[attribute - 5],
         value, size);
  return kSuccess;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

typedef struct {
  const Layout *a, *b, *c, *d;
} Layouts;

// Whether descriptions fit; writes the sizes of the product by columns.
static int measure(const Handle *handle, const Desc *desc, Layouts all,
                   Algo *algo) {
  const Layout *each[] = {all.a, all.b, all.c, all.d};
  REQUIRE(handle && handle->magic == kHandle);
  REQUIRE(handle->context == currentContext());
  REQUIRE(desc && desc->magic == kDesc);
  for (int i = 0; i < 4; ++i) {
    REQUIRE(each[i] && each[i]->magic == kLayout);
    REQUIRE(each[i]->type == all.d->type && each[i]->batch == all.d->batch);
  }
  algo->m = all.d->rows;
  algo->n = all.d->cols;
  algo->k = desc->transA ? all.a->rows : all.a->cols;
  algo->batch = (uint64_t)all.d->batch;
  algo->epilogue = desc->epilogue;
  REQUIRE((desc->transA ? all.a->cols : all.a->rows) == algo->m);
  REQUIRE((desc->transB ? all.b->cols : all.b->rows) == algo->k);
  REQUIRE((desc->transB ? all.b->rows : all.b->cols) == algo->n);
  REQUIRE(all.c->rows == all.d->rows && all.c->cols == all.d->cols);
  REQUIRE(desc->compute == kCompute32F || all.d->type == kF32);
  // Results must not overlap.
  REQUIRE(all.d->batch == 1 ||
          all.d->stride >= all.d->ld * (int64_t)all.d->cols);
  REQUIRE(!(desc->epilogue & kBias) || desc->bias);
  return kSuccess;
}

static uint64_t checksum(const Algo *algo) {
  return algo->m * 31 + algo->n * 37 + algo->k * 41 + algo->batch * 43 +
         algo->epilogue * 47 + algo->alignment * 53 + algo->workspace * 59 + 1;
}

int cublasLtMatmulAlgoGetHeuristic(Handle *handle, Desc *desc, Layout *a,
                                   Layout *b, Layout *c, Layout *d,
                                   Preference *preference, int requested,
                                   Heuristic *results, int *count) {
  BEGIN;
  ++fake_heuristics;
  REQUIRE(preference && preference->magic == kPreference && requested > 0);
  Algo algo = {0};
  int status = measure(handle, desc, (Layouts){a, b, c, d}, &algo);
  if (status)
    return status;
  for (int i = 0; i < 4; ++i)
    REQUIRE(preference->alignments[i] == preference->alignments[0]);
  algo.alignment = preference->alignments[0];
  algo.workspace = algo.k >= 32 ? 4096 * algo.batch : 0;
  REQUIRE(algo.workspace <= preference->workspace);
  algo.check = checksum(&algo);
  fake_reductions = preference->reductions;
  memset(results, 0, sizeof(*results));
  results->algo = algo;
  results->workspace = algo.workspace;
  const char *text = getenv("FAKE_CUBLASLT_FAIL");
  *count = text && !strcmp(text, "none") ? 0 : 1;
  return kSuccess;
}

static float fromHalf(uint16_t bits) {
  _Float16 value;
  memcpy(&value, &bits, 2);
  return (float)value;
}
static uint16_t toHalf(float number) {
  _Float16 value = (_Float16)number;
  uint16_t bits;
  memcpy(&bits, &value, 2);
  return bits;
}
static float fromBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
// Rounds to the nearest number whose last bits are 0, ties to even.
static uint32_t rounded(float value, int dropped) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  bits += (1u << (dropped - 1)) - 1 + ((bits >> dropped) & 1);
  return bits >> dropped << dropped;
}

static size_t itemSize(int type) { return type == kF32 ? 4 : 2; }

static float load(const char *data, int type, int64_t index) {
  if (type == kF32)
    return ((const float *)data)[index];
  uint16_t bits = ((const uint16_t *)data)[index];
  return type == kF16 ? fromHalf(bits) : fromBits((uint32_t)bits << 16);
}
static void store(char *data, int type, int64_t index, float value) {
  if (type == kF32)
    ((float *)data)[index] = value;
  else
    ((uint16_t *)data)[index] =
        type == kF16 ? toHalf(value) : (uint16_t)(rounded(value, 16) >> 16);
}

// A copy of all matrices of a layout on the host; NULL where memory is missing.
static char *fetch(const Layout *layout, uint64_t address) {
  int64_t last = layout->stride * (layout->batch - 1) +
                 layout->ld * (int64_t)(layout->cols - 1) +
                 (int64_t)layout->rows;
  size_t bytes = (size_t)last * itemSize(layout->type);
  char *data = malloc(bytes);
  if (download(data, address, bytes))
    return data;
  free(data);
  return NULL;
}

static float activate(float value, uint32_t epilogue) {
  if (epilogue & kRelu)
    return value > 0 ? value : 0;
  if (!(epilogue & kGelu))
    return value;
  float cubic = value + 0.044715f * value * value * value;
  return 0.5f * value * (1 + tanhf(0.7978845608f * cubic));
}

typedef struct {
  const Desc *desc;
  Layouts layouts;
  const char *a, *b, *bias, *c; // c is NULL where nothing is added
  char *d;
} Data;

static void compute(const Data *data, const Algo *size) {
  const Layout *la = data->layouts.a, *lb = data->layouts.b,
               *ld = data->layouts.d;
  const Desc *desc = data->desc;
  int drop = desc->compute == kFastTF32 ? 13 : 0;
  for (int64_t i = 0; i < (int64_t)(size->batch * size->n * size->m); ++i) {
    int64_t row = i % (int64_t)size->m, rest = i / (int64_t)size->m;
    int64_t col = rest % (int64_t)size->n, batch = rest / (int64_t)size->n;
    float sum = 0;
    for (int64_t k = 0; k < (int64_t)size->k; ++k) {
      int64_t atA = desc->transA ? k + row * la->ld : row + k * la->ld;
      int64_t atB = desc->transB ? col + k * lb->ld : k + col * lb->ld;
      float x = load(data->a, la->type, atA + batch * la->stride);
      float y = load(data->b, lb->type, atB + batch * lb->stride);
      if (drop) {
        x = fromBits(rounded(x, drop));
        y = fromBits(rounded(y, drop));
      }
      sum += x * y;
    }
    int64_t atD = row + col * ld->ld + batch * ld->stride;
    if (data->c)
      sum += load(data->c, ld->type, atD);
    if (data->bias)
      sum += load(data->bias, ld->type, row);
    store(data->d, ld->type, atD, activate(sum, desc->epilogue));
  }
}

static bool isAligned(uint64_t address, uint64_t alignment) {
  return address % alignment == 0;
}

int cublasLtMatmul(Handle *handle, Desc *desc, const float *alpha, uint64_t a,
                   Layout *la, uint64_t b, Layout *lb, const float *beta,
                   uint64_t c, Layout *lc, uint64_t d, Layout *ld,
                   const Algo *algo, uint64_t workspace, size_t bytes,
                   void *stream) {
  BEGIN;
  ++fake_products;
  fake_stream = stream;
  Algo size = {0};
  Layouts layouts = {la, lb, lc, ld};
  int status = measure(handle, desc, layouts, &size);
  if (status)
    return status;
  REQUIRE(algo && algo->check == checksum(algo));
  REQUIRE(algo->m == size.m && algo->n == size.n && algo->k == size.k);
  REQUIRE(algo->batch == size.batch && algo->epilogue == size.epilogue);
  uint64_t addresses[] = {a, b, c, d, size.epilogue & kBias ? desc->bias : 0};
  for (int i = 0; i < 5; ++i)
    REQUIRE(isAligned(addresses[i], algo->alignment));
  REQUIRE(alpha && *alpha == 1 && beta);
  REQUIRE(*beta == 0 || *beta == 1);
  char byte;
  REQUIRE(bytes >= algo->workspace);
  REQUIRE(!bytes ||
          (isAligned(workspace, 256) && download(&byte, workspace, 1) &&
           download(&byte, workspace + bytes - 1, 1)));
  Layout biasLayout = {kLayout, ld->type, 1, size.m, 1, (int64_t)size.m, 0};
  Data data = {desc, layouts, fetch(la, a), fetch(lb, b),
               NULL, NULL,    fetch(ld, d)};
  if (size.epilogue & kBias)
    data.bias = fetch(&biasLayout, desc->bias);
  if (*beta)
    data.c = fetch(lc, c);
  REQUIRE(data.a && data.b && data.d);
  REQUIRE(data.bias || !(size.epilogue & kBias));
  REQUIRE(data.c || !*beta);
  compute(&data, &size);
  size_t length = size.m * size.n * size.batch * itemSize(ld->type);
  bool isStored = upload(d, data.d, length);
  char *owned[] = {(char *)data.a, (char *)data.b, (char *)data.bias,
                   (char *)data.c, data.d};
  for (int i = 0; i < 5; ++i)
    free(owned[i]);
  fake_compute = desc->compute;
  fake_alignment = (int64_t)algo->alignment;
  fake_batch = (int64_t)size.batch;
  fake_workspace = (int64_t)bytes;
  REQUIRE(isStored);
  return kSuccess;
}
