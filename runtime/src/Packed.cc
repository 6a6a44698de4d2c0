//===- Packed.cc - Packed functions of the runtime --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cases: results whose shapes depend on data; scalars; tensors as they lie in
// memory; effects; packed functions that write into a tensor. They throw as
// functions of tvm-ffi do.
//
//===----------------------------------------------------------------------===//

#include "Packed.h"

#include "ADT.h"
#include "Elements.h"
#include "Order.h"
#include "Tensor.h"
#include "disco/Functions.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <numeric>

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

namespace {
// A tensor in host memory as a list of elements in row-major order.
class HostTensor {
public:
  HostTensor(const relax_site &site, ffi::AnyView value);

  // Compact.
  const DLTensor &tensor() const { return *data; }
  DLDataType dtype() const { return data->dtype; }
  int32_t ndim() const { return data->ndim; }
  int64_t dim(int64_t axis) const { return data->shape[axis]; }
  int64_t count() const {
    return ffi::ShapeView(data->shape, static_cast<size_t>(data->ndim))
        .Product();
  }
  int64_t elementSize() const { return data->dtype.bits / 8; }
  const char *at(int64_t index) const {
    return address(*data) + index * elementSize();
  }
  Element operator[](int64_t index) const {
    return readElement(at(index), data->dtype);
  }
  // The elements, which have to be integers.
  std::vector<int64_t> integers() const;

private:
  ffi::Any holder; // of the tensor, or of a compact copy
  const DLTensor *data;
};
} // namespace

HostTensor::HostTensor(const relax_site &site, ffi::AnyView value)
    : holder(value) {
  auto *slot = reinterpret_cast<TVMFFIAny *>(&holder);
  data = getTensor(slot);
  if (!data)
    RELAX_THROW(TypeError) << site.function << ": expected a tensor, but got "
                           << describe(slot);
  if (!hasElements(data->dtype))
    RELAX_THROW(TypeError)
        << site.function << ": expected integers, Booleans or floats, but got "
        << describeTensor(*data);
  bool isOnHost = data->device.device_type == kDLCPU;
  if (isOnHost && isCompact(*data))
    return;
  ffi::Any copy;
  auto *to = reinterpret_cast<TVMFFIAny *>(&copy);
  TVM_FFI_CHECK_SAFE_CALL(
      copyTensor(&site, to, *data, isOnHost ? data->device : kHost));
  holder = std::move(copy);
  data = getTensor(slot);
}

std::vector<int64_t> HostTensor::integers() const {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count(); ++i)
    result.push_back(std::visit(
        [](auto value) { return static_cast<int64_t>(value); }, (*this)[i]));
  return result;
}

static ffi::Tensor makeTensor(const relax_site &site,
                              const std::vector<int64_t> &dims,
                              DLDataType dtype) {
  ffi::Any result;
  auto *slot = reinterpret_cast<TVMFFIAny *>(&result);
  TVM_FFI_CHECK_SAFE_CALL(allocTensor(&site, slot,
                                      static_cast<int32_t>(dims.size()),
                                      dims.data(), dtype, hostPool().device));
  return result.cast<ffi::Tensor>();
}

constexpr DLDataType kInt64 = {kDLInt, 64, 1};

static ffi::Tensor makeVector(const relax_site &site,
                              const std::vector<int64_t> &numbers) {
  ffi::Tensor result =
      makeTensor(site, {static_cast<int64_t>(numbers.size())}, kInt64);
  std::copy(numbers.begin(), numbers.end(),
            static_cast<int64_t *>(result.data_ptr()));
  return result;
}

//===----------------------------------------------------------------------===//
// Shapes that depend on data
//===----------------------------------------------------------------------===//

namespace {
// The different ones among equally long parts of a tensor, sorted.
class Parts {
public:
  // `isNaNEqual`: whether NaN is equal to itself, not a part of its own.
  Parts(const HostTensor &x, int64_t numParts, bool isNaNEqual)
      : x(x), partSize(numParts ? x.count() / numParts : 0),
        isNaNEqual(isNaNEqual) {
    if (partSize == 1) {
      keys = orderKeys(x.at(0), numParts, x.dtype());
      order = sortedPlaces(keys);
    } else {
      order.resize(numParts);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t i, int64_t j) { return compare(i, j) < 0; });
    }
    for (size_t i = 0; i < order.size(); ++i)
      if (i == 0 || differ(order[i - 1], order[i]))
        begins.push_back(i);
    begins.push_back(order.size());
  }

  size_t count() const { return begins.size() - 1; }

  // Where each first comes up.
  std::vector<int64_t> indices() const {
    std::vector<int64_t> result;
    for (size_t k = 0; k < count(); ++k)
      result.push_back(order[begins[k]]);
    return result;
  }
  // Where each part of the tensor is among them.
  std::vector<int64_t> inverse() const {
    std::vector<int64_t> result(order.size());
    for (size_t k = 0; k < count(); ++k)
      for (size_t i = begins[k]; i < begins[k + 1]; ++i)
        result[order[i]] = static_cast<int64_t>(k);
    return result;
  }
  // How often each comes up.
  std::vector<int64_t> counts() const {
    std::vector<int64_t> result;
    for (size_t k = 0; k < count(); ++k)
      result.push_back(static_cast<int64_t>(begins[k + 1] - begins[k]));
    return result;
  }
  // Writes them one after the other.
  void write(char *to) const {
    size_t bytes = static_cast<size_t>(partSize * x.elementSize());
    for (size_t k = 0; bytes && k < count(); ++k)
      std::memcpy(to + k * bytes, x.at(order[begins[k]] * partSize), bytes);
  }

private:
  int compare(int64_t lhs, int64_t rhs) const {
    if (!keys.empty())
      return keys[lhs] < keys[rhs] ? -1 : keys[rhs] < keys[lhs];
    int order = 0;
    for (int64_t i = 0; i < partSize && order == 0; ++i)
      order = compareElements(x[lhs * partSize + i], x[rhs * partSize + i]);
    return order;
  }
  bool differ(int64_t lhs, int64_t rhs) const {
    if (compare(lhs, rhs) != 0)
      return true;
    for (int64_t i = 0; !isNaNEqual && i < partSize; ++i)
      if (isNaN(x[lhs * partSize + i]))
        return true;
    return false;
  }

  const HostTensor &x;
  int64_t partSize;
  bool isNaNEqual;
  std::vector<uint64_t> keys; // of parts of one element
  std::vector<int64_t> order; // of the parts, sorted
  std::vector<size_t> begins; // where in `order` equal ones begin, and its end
};
} // namespace

// A compact tensor with the same elements, an axis moved to another place.
static ffi::Tensor moveAxis(const relax_site *site, const DLTensor &x,
                            int64_t from, int64_t to) {
  std::vector<int64_t> dims(x.shape, x.shape + x.ndim), strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i])
    strides[i] = stride;
  for (std::vector<int64_t> *list : {&dims, &strides}) {
    int64_t moved = (*list)[from];
    list->erase(list->begin() + from);
    list->insert(list->begin() + to, moved);
  }
  DLTensor view = x;
  view.shape = dims.data();
  view.strides = strides.data();
  ffi::Any result;
  auto *slot = reinterpret_cast<TVMFFIAny *>(&result);
  TVM_FFI_CHECK_SAFE_CALL(copyTensor(site, slot, view, view.device));
  return result.cast<ffi::Tensor>();
}

// unique(x[, index, inverse, counts[, axis]]): the different elements, or the
// different parts along an axis, and the vectors that are asked for, as of
// numpy.unique.
static ffi::Any unique(ffi::PackedArgs args) {
  const relax_site site = {"unique", "", "", ""};
  if (args.size() != 1 && args.size() != 4 && args.size() != 5)
    RELAX_THROW(TypeError) << "unique: expected 1, 4 or 5 arguments, but got "
                           << args.size();
  HostTensor x(site, args[0]);
  bool hasAxis = args.size() == 5;
  int64_t axis = hasAxis ? args[4].cast<int64_t>() : 0;
  if (hasAxis && (axis < -x.ndim() || axis >= x.ndim()))
    RELAX_THROW(ValueError) << "unique: expected an axis from " << -x.ndim()
                            << " to " << x.ndim() - 1 << ", but got " << axis;
  axis += axis < 0 ? x.ndim() : 0;
  std::vector<int64_t> dims = {0};
  if (hasAxis && axis != 0)
    x = HostTensor(site, moveAxis(&site, x.tensor(), axis, 0));
  int64_t numParts = hasAxis ? x.dim(0) : x.count();
  for (int32_t i = 1; hasAxis && i < x.ndim(); ++i)
    dims.push_back(x.dim(i));
  Parts parts(x, numParts, /*isNaNEqual=*/dims.size() == 1);
  dims[0] = static_cast<int64_t>(parts.count());
  ffi::Tensor values = makeTensor(site, dims, x.dtype());
  parts.write(static_cast<char *>(values.data_ptr()));
  if (axis != 0)
    values = moveAxis(&site, *values.GetDLTensorPtr(), 0, axis);
  ffi::Array<ffi::Any> results = {values};
  auto isWanted = [&](int i) {
    return args.size() > i && args[i].cast<bool>();
  };
  if (isWanted(1))
    results.push_back(makeVector(site, parts.indices()));
  if (isWanted(2))
    results.push_back(makeVector(site, parts.inverse()));
  if (isWanted(3))
    results.push_back(makeVector(site, parts.counts()));
  return results.size() == 1 ? ffi::Any(values) : ffi::Any(results);
}

// nonzero(x): where the elements that are not 0 are, a row for each dimension.
static ffi::Tensor nonzero(ffi::AnyView value) {
  const relax_site site = {"nonzero", "", "", ""};
  HostTensor x(site, value);
  NonzeroPlaces places(x.at(0), x.count(), x.dtype());
  int64_t rank = std::max(x.ndim(), 1), count = places.count();
  ffi::Tensor result = makeTensor(site, {rank, count}, kInt64);
  auto *to = static_cast<int64_t *>(result.data_ptr());
  int64_t *last = to + (rank - 1) * count;
  places.write(last);
  // The last row has the places in a flat tensor until the others are found.
  int64_t stride = 1;
  for (int64_t axis = rank - 1; axis-- > 0;) {
    stride *= x.dim(axis + 1);
    for (int64_t i = 0; i < count; ++i)
      to[axis * count + i] = last[i] / stride % x.dim(axis);
  }
  for (int64_t i = 0; rank > 1 && i < count; ++i)
    last[i] %= x.dim(rank - 1);
  return result;
}

// dynamic_strided_slice(x, begin, end, strides): a slice of Python for each of
// the first dimensions.
static ffi::Any stridedSlice(ffi::AnyView value, ffi::AnyView begin,
                             ffi::AnyView end, ffi::AnyView stride) {
  const relax_site site = {"dynamic_strided_slice", "", "", ""};
  HostTensor x(site, value);
  std::vector<int64_t> begins = HostTensor(site, begin).integers(),
                       ends = HostTensor(site, end).integers(),
                       steps = HostTensor(site, stride).integers();
  if (ends.size() != begins.size() || steps.size() != begins.size() ||
      begins.size() > static_cast<size_t>(x.ndim()))
    RELAX_THROW(ValueError)
        << site.function
        << ": expected as many begins, ends and strides, at most " << x.ndim()
        << ", but got " << begins.size() << ", " << ends.size() << " and "
        << steps.size();
  DLTensor view = x.tensor();
  std::vector<int64_t> dims(view.shape, view.shape + view.ndim);
  std::vector<int64_t> strides(dims.size());
  int64_t size = 1, offset = 0;
  for (size_t i = dims.size(); i-- > 0; size *= view.shape[i])
    strides[i] = size;
  for (size_t i = 0; i < begins.size(); ++i) {
    int64_t step = steps[i], last = dims[i] - 1;
    if (step == 0)
      RELAX_THROW(ValueError)
          << site.function << ": expected strides other than 0";
    // Places from the end; then those outside are the nearest ones inside, or
    // just before or after them.
    auto clamp = [&](int64_t place) {
      place += place < 0 ? dims[i] : 0;
      return step > 0 ? std::clamp<int64_t>(place, 0, dims[i])
                      : std::clamp<int64_t>(place, -1, last);
    };
    int64_t first = clamp(begins[i]), stop = clamp(ends[i]);
    int64_t distance = step > 0 ? stop - first : first - stop;
    uint64_t stepSize = step > 0 ? uint64_t(step) : -uint64_t(step);
    dims[i] =
        distance > 0 ? int64_t((uint64_t(distance) - 1) / stepSize) + 1 : 0;
    // A step that is taken at most once may be too large to multiply with.
    if (dims[i] > 0)
      offset += first * strides[i];
    strides[i] *= dims[i] > 1 ? step : 0;
  }
  view.shape = dims.data();
  view.strides = strides.data();
  view.byte_offset += static_cast<uint64_t>(offset * x.elementSize());
  ffi::Any result;
  auto *slot = reinterpret_cast<TVMFFIAny *>(&result);
  TVM_FFI_CHECK_SAFE_CALL(copyTensor(&site, slot, view, view.device));
  return result;
}

// tensor_to_shape(x): the elements of a vector as a shape.
static ffi::Shape toShape(ffi::AnyView value) {
  const relax_site site = {"tensor_to_shape", "", "", ""};
  std::vector<int64_t> dims = HostTensor(site, value).integers();
  if (std::any_of(dims.begin(), dims.end(),
                  [](int64_t dim) { return dim < 0; }))
    RELAX_THROW(ValueError)
        << "tensor_to_shape: expected dimensions of at least 0, but got "
        << dimsText(dims.data(), static_cast<int64_t>(dims.size()));
  return ffi::Shape(dims);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

// scalar_tensor(value, dtype): a number as a tensor of rank 0.
static ffi::Tensor makeScalar(ffi::AnyView value, DLDataType dtype) {
  const relax_site site = {"scalar_tensor", "", "", ""};
  TVMFFIAny raw = value.CopyToTVMFFIAny();
  Element number;
  if (raw.type_index == kTVMFFIFloat)
    number = raw.v_float64;
  else if (raw.type_index == kTVMFFIInt || raw.type_index == kTVMFFIBool)
    number = raw.v_int64;
  else
    RELAX_THROW(TypeError) << "scalar_tensor: expected a number, but got "
                           << describe(&raw);
  if (!hasElements(dtype))
    RELAX_THROW(TypeError) << "scalar_tensor: no tensor of " << dtypeText(dtype)
                           << " is made";
  ffi::Tensor result = makeTensor(site, {}, dtype);
  if (!writeElement(static_cast<char *>(result.data_ptr()), number, dtype))
    RELAX_THROW(ValueError)
        << "scalar_tensor: " << elementText(number, {kDLFloat, 64, 1})
        << " is no number of " << dtypeText(dtype);
  return result;
}

// truth(value): whether a number is not 0.
static bool isTrue(int64_t value) { return value != 0; }

//===----------------------------------------------------------------------===//
// Tensors as they lie in memory
//===----------------------------------------------------------------------===//

static const DLTensor &expectTensor(const relax_site &site,
                                    const TVMFFIAny *value) {
  const DLTensor *tensor = getTensor(value);
  if (!tensor)
    RELAX_THROW(TypeError) << site.function << ": expected a tensor, but got "
                           << describe(value);
  return *tensor;
}

// A compact copy, on the device of the tensor.
static ffi::Any copyCompact(const relax_site &site, const DLTensor &tensor) {
  ffi::Any copy;
  auto *slot = reinterpret_cast<TVMFFIAny *>(&copy);
  TVM_FFI_CHECK_SAFE_CALL(copyTensor(&site, slot, tensor, tensor.device));
  return copy;
}

// view(x, shape, dtype, offset): the memory of a tensor from a byte on, as
// elements of a data type in a shape. Of a tensor without an owner, or that is
// not compact, that of a compact copy.
static ffi::Any view(ffi::AnyView value, const ffi::Shape &shape,
                     DLDataType dtype, int64_t offset) {
  const relax_site site = {"view", "", "", ""};
  ffi::Any holder(value);
  auto *slot = reinterpret_cast<TVMFFIAny *>(&holder);
  const DLTensor *x = &expectTensor(site, slot);
  if (slot->type_index != kTVMFFITensor || !isCompact(*x)) {
    holder = copyCompact(site, *x);
    x = getTensor(slot);
  }
  auto ndim = static_cast<int32_t>(shape.size());
  uint64_t have = 0, need = 0;
  bool isCounted = countBytes(x->ndim, x->shape, x->dtype, &have) &&
                   countBytes(ndim, shape.data(), dtype, &need);
  std::string wanted = dtypeText(dtype) + " of shape " +
                       dimsText(shape.data(), ndim) + " at byte " +
                       std::to_string(offset);
  if (!isCounted || offset < 0 || uint64_t(offset) > have ||
      need > have - uint64_t(offset))
    RELAX_THROW(ValueError) << site.function << ": expected a part of "
                            << describeTensor(*x) << ", but got " << wanted;
  char *data = address(*x) + offset;
  if (reinterpret_cast<uintptr_t>(data) & (findAlignment(dtype) - 1))
    RELAX_THROW(ValueError)
        << site.function << ": expected an offset that is a multiple of "
        << findAlignment(dtype) << " bytes, but got " << wanted;
  TVMFFIObject *result = makeView(findOwner(slot->v_obj), data, x->device, ndim,
                                  shape.data(), dtype);
  if (!result)
    throw std::bad_alloc();
  ffi::Any owned;
  assignOwned(reinterpret_cast<TVMFFIAny *>(&owned), ownedValue(result));
  return owned;
}

// ensure_zero_offset(x): a tensor whose elements begin where its memory does:
// the tensor itself, or a copy.
static ffi::Any ensureZeroOffset(ffi::AnyView value) {
  const relax_site site = {"ensure_zero_offset", "", "", ""};
  ffi::Any holder(value);
  const DLTensor &x =
      expectTensor(site, reinterpret_cast<TVMFFIAny *>(&holder));
  return x.byte_offset == 0 ? holder : copyCompact(site, x);
}

static int64_t getStride(const DLTensor &x, int64_t axis) {
  if (x.strides)
    return x.strides[axis];
  return ffi::ShapeView(x.shape + axis + 1,
                        static_cast<size_t>(x.ndim - axis - 1))
      .Product();
}

// inspect(x, what, axis): a field of the descriptor of a tensor. Without a
// dimension, -1 is passed as `axis`.
static int64_t inspect(ffi::AnyView value, const ffi::String &what,
                       int64_t axis) {
  const relax_site site = {"inspect", "", "", ""};
  TVMFFIAny raw = value.CopyToTVMFFIAny();
  const DLTensor &x = expectTensor(site, &raw);
  std::string_view name(what.data(), what.size());
  if (name == "shape_i" || name == "stride_i") {
    if (axis < 0 || axis >= x.ndim)
      RELAX_THROW(ValueError)
          << site.function << ": expected one of the " << x.ndim
          << " dimensions of a tensor, but got " << axis;
    return name == "shape_i" ? x.shape[axis] : getStride(x, axis);
  }
  auto offset = static_cast<int64_t>(x.byte_offset);
  const std::pair<std::string_view, int64_t> fields[] = {
      {"ndim", x.ndim},
      {"byte_offset", offset},
      {"elem_offset", offset * 8 / std::max(x.dtype.bits * x.dtype.lanes, 1)},
      {"dtype_code", x.dtype.code},
      {"dtype_bits", x.dtype.bits},
      {"dtype_lanes", x.dtype.lanes}};
  for (const auto &[field, number] : fields)
    if (name == field)
      return number;
  RELAX_THROW(ValueError) << site.function << ": a tensor has no field '"
                          << name << "'";
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

// Writes the elements of a tensor as nested lists; of long dimensions only both
// ends.
static void writeElements(std::string &text, const HostTensor &x, int32_t axis,
                          int64_t place, bool isShort) {
  constexpr int64_t kEnds = 3;
  if (axis == x.ndim()) {
    text += elementText(x[place], x.dtype());
    return;
  }
  int64_t size = x.dim(axis);
  text += '[';
  for (int64_t i = 0; i < size; ++i) {
    if (i > 0)
      text += ", ";
    if (isShort && size > 2 * kEnds && i == kEnds) {
      text += "..., ";
      i = size - kEnds;
    }
    writeElements(text, x, axis + 1, place * size + i, isShort);
  }
  text += ']';
}

// A value as it is printed.
static std::string valueText(ffi::AnyView value) {
  constexpr int64_t kMost = 1000; // elements that are printed one by one
  TVMFFIAny raw = value.CopyToTVMFFIAny();
  if (const DLTensor *tensor = getTensor(&raw)) {
    if (tensor->device.device_type != kDLCPU || !hasElements(tensor->dtype))
      return describeTensor(*tensor);
    HostTensor x({"print", "", "", ""}, value);
    std::string text;
    writeElements(text, x, 0, 0, x.count() > kMost);
    return text;
  }
  if (auto fields = value.as<ffi::Array<ffi::Any>>()) {
    std::string text = "(";
    for (const ffi::Any &field : *fields)
      text += (text.size() > 1 ? ", " : "") + valueText(field);
    return text + ")";
  }
  if (auto shape = value.as<ffi::Shape>())
    return dimsText(shape->data(), static_cast<int64_t>(shape->size()));
  if (auto string = value.try_cast<std::string>())
    return *string;
  switch (raw.type_index) {
  case kTVMFFIBool:
    return raw.v_int64 ? "True" : "False";
  case kTVMFFIInt:
    return std::to_string(raw.v_int64);
  case kTVMFFIFloat:
    return elementText(raw.v_float64, {kDLFloat, 64, 1});
  default:
    return describe(&raw);
  }
}

// `format` with the next value in place of each "{}", and value 1 in place of
// "{1}"; the values alone where it is empty. Other fields stay as they are.
static std::string formatValues(std::string_view format, ffi::PackedArgs values,
                                const char *separator) {
  std::string text;
  if (format.empty()) {
    for (int i = 0; i < values.size(); ++i)
      text += (i ? separator : "") + valueText(values[i]);
    return text;
  }
  int next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    char c = format[i], after = i + 1 < format.size() ? format[i + 1] : 0;
    if ((c == '{' || c == '}') && after == c) { // escaped
      text += format[i++];
      continue;
    }
    size_t end = c == '{' ? format.find_first_not_of("0123456789", i + 1)
                          : std::string_view::npos;
    int index = next;
    if (end < format.size() && format[end] == '}') {
      if (after != '}')
        std::from_chars(&format[i + 1], &format[end], index);
      else
        ++next;
      if (index < values.size()) {
        text += valueText(values[index]);
        i = end;
        continue;
      }
    }
    text += c;
  }
  return text;
}

// print(format, values...)
static void print(ffi::PackedArgs args) {
  auto format = args[0].cast<std::string>();
  std::string text = formatValues(format, args.Slice(1), " ") + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// assert_op(condition, format, values...)
static void assertTrue(ffi::PackedArgs args) {
  TVMFFIAny raw = args[0].CopyToTVMFFIAny();
  bool holds;
  if (const DLTensor *tensor = getTensor(&raw)) {
    if (tensor->ndim != 0 || !isBool(tensor->dtype))
      RELAX_THROW(TypeError)
          << "relax.assert_op: expected a condition that is a scalar of data "
             "type bool, but got "
          << describeTensor(*tensor);
    holds = !isZero(HostTensor({"assert_op", "", "", ""}, args[0])[0]);
  } else {
    holds = args[0].cast<bool>();
  }
  if (holds)
    return;
  auto format = args[1].cast<std::string>();
  std::string text = formatValues(format, args.Slice(2), ", ");
  RELAX_THROW(AssertionError) << (text.empty() ? "Assertion Failed" : text);
}

//===----------------------------------------------------------------------===//
// References to values that change: objects with one field, which is replaced
//===----------------------------------------------------------------------===//

static ADTObj *findReference(const ffi::Any &value) {
  auto *object = const_cast<ADTObj *>(value.as<ADTObj>());
  if (!object)
    RELAX_THROW(TypeError) << "expected a reference, but got "
                           << value.GetTypeKey();
  return object;
}

static ffi::Array<ffi::Any> makeField(ffi::Any value) {
  return ffi::Array<ffi::Any>{std::move(value)};
}

static ffi::Any createReference(ffi::Any value) {
  ffi::Any reference = makeADT(0, makeField(std::move(value)));
  if (reference == nullptr)
    RELAX_THROW(MemoryError) << "out of memory for a reference";
  return reference;
}

static ffi::Any readReference(ffi::Any reference) {
  return findReference(reference)->fields.cast<ffi::Array<ffi::Any>>()[0];
}

static ffi::Array<ffi::Any> writeReference(ffi::Any reference, ffi::Any value) {
  findReference(reference)->fields = makeField(std::move(value));
  return {};
}

//===----------------------------------------------------------------------===//
// Packed functions that write into a tensor
//===----------------------------------------------------------------------===//

// call_dps_packed(name, shape, dtype, args...): calls a function with a tensor
// for its result after the other arguments.
static ffi::Tensor callDPS(ffi::PackedArgs args) {
  auto name = args[0].cast<std::string>();
  auto shape = args[1].cast<ffi::Shape>();
  std::optional<ffi::Function> function = findPackedFunction(name);
  if (!function)
    RELAX_THROW(ValueError) << "call_dps_packed: packed function '" << name
                            << "' is not registered; register it with "
                               "tvm_ffi.register_global_func";
  const relax_site site = {"call_dps_packed", "", "", ""};
  ffi::Tensor output =
      makeTensor(site, std::vector<int64_t>(shape.begin(), shape.end()),
                 args[2].cast<DLDataType>());
  std::vector<ffi::AnyView> given;
  for (int i = 3; i < args.size(); ++i)
    given.push_back(args[i]);
  given.push_back(output);
  ffi::Any ignored;
  function->CallPacked(given.data(), static_cast<int32_t>(given.size()),
                       &ignored);
  return output;
}

//===----------------------------------------------------------------------===//
// Lookup
//===----------------------------------------------------------------------===//

// What these functions compute on the host is then where their operands are.
static void moveToOperands(ffi::PackedArgs args, ffi::Any *result) {
  TVMFFIAny *slot = reinterpret_cast<TVMFFIAny *>(result);
  bool isData = slot->type_index == kTVMFFIArray || getTensor(slot) != nullptr;
  for (int i = 0; isData && i < args.size(); ++i) {
    TVMFFIAny raw = args[i].CopyToTVMFFIAny();
    const DLTensor *tensor = getTensor(&raw);
    if (!tensor || tensor->device.device_type == kDLCPU)
      continue;
    static const relax_site site = {"to_device", "", "", ""};
    TVM_FFI_CHECK_SAFE_CALL(relax_tensor_to_device(&site, slot, slot,
                                                   tensor->device.device_type,
                                                   tensor->device.device_id));
    return;
  }
}

template <auto entry> static ffi::Function packed() {
  return ffi::Function::FromPacked([](ffi::PackedArgs args, ffi::Any *result) {
    if constexpr (std::is_void_v<decltype(entry(args))>)
      entry(args);
    else
      *result = entry(args);
    moveToOperands(args, result);
  });
}
template <auto entry> static ffi::Function typed() {
  return ffi::Function::FromPacked([](ffi::PackedArgs args, ffi::Any *result) {
    static const ffi::Function &call =
        *new ffi::Function(ffi::Function::FromTyped(entry));
    call.CallPacked(args, result);
    moveToOperands(args, result);
  });
}

// Of functions that look at tensors wherever these are.
template <auto entry> static ffi::Function anywhere() {
  return ffi::Function::FromTyped(entry);
}

static constexpr std::string_view kPrefix = "relax_mlir.run.";
// Of collective operators that TVM's passes have legalized, and what they are
// called here: a process may have TVM as well.
static constexpr std::string_view kDiscoOfTVM = "runtime.disco.";
static constexpr const char *kDisco = "relax_mlir.disco.";
static constexpr struct {
  std::string_view name;
  ffi::Function (*make)();
} kFunctions[] = {
    {"allgather", anywhere<runAllGather>},
    {"allreduce", anywhere<runAllReduce>},
    {"assert_op", packed<assertTrue>},
    {"broadcast_from_worker0", anywhere<runBroadcast>},
    {"call_dps_packed", packed<callDPS>},
    {"dynamic_strided_slice", typed<stridedSlice>},
    {"ensure_zero_offset", anywhere<ensureZeroOffset>},
    {"inspect", anywhere<inspect>},
    {"nonzero", typed<nonzero>},
    {"print", packed<print>},
    {"redistribute_replica_to_shard", anywhere<runTakePart>},
    {"ref_create", anywhere<createReference>},
    {"ref_read", anywhere<readReference>},
    {"ref_write", anywhere<writeReference>},
    {"scalar_tensor", typed<makeScalar>},
    {"scatter_from_worker0", anywhere<runScatter>},
    {"tensor_to_shape", typed<toShape>},
    {"truth", typed<isTrue>},
    {"unique", packed<unique>},
    {"view", anywhere<view>},
};

std::optional<ffi::Function>
relax_runtime::findPackedFunction(std::string_view name) {
  if (std::optional<ffi::Function> found = ffi::Function::GetGlobal(name))
    return found;
  if (name.substr(0, kPrefix.size()) == kPrefix)
    for (const auto &function : kFunctions)
      if (name.substr(kPrefix.size()) == function.name)
        return function.make();
  if (name.substr(0, kDiscoOfTVM.size()) == kDiscoOfTVM)
    return ffi::Function::GetGlobal(
        kDisco + std::string(name.substr(kDiscoOfTVM.size())));
  return std::nullopt;
}
