//===- Winograd.cpp - Convolution of tiles with fewer products --*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Winograd.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

/// The points of tiles of four are those that keep the rounding errors small:
/// less than twice the mean of what the definition has. With 1 and 2, which are
/// usual, it is four times.
Winograd::Winograd(int64_t outputs, int64_t window) {
  if (window == 1)
    return;
  if (outputs == 2)
    points = {1};
  else
    points = {0.75, 1.5};
}

/// Points but for infinity, which is the last one: 0, p, -p, q, -q.
double Winograd::point(int64_t index) const {
  if (index == 0)
    return 0;
  double positive = points[(index - 1) / 2];
  return index % 2 == 1 ? positive : -positive;
}

/// The coefficients of the product of (x - p) of all points p but for one.
SmallVector<double> Winograd::multiplyPoints(int64_t without) const {
  SmallVector<double> product = {1};
  for (int64_t i = 0; i < size() - 1; ++i) {
    if (i == without)
      continue;
    product.insert(product.begin(), 0);
    for (size_t k = 0; k + 1 < product.size(); ++k)
      product[k] -= point(i) * product[k + 1];
  }
  return product;
}

Winograd::Matrix Winograd::getWeightTransform() const {
  if (points.empty())
    return {{1}};
  Matrix matrix;
  for (int64_t i = 0; i < size() - 1; ++i) {
    double scale = 1;
    for (int64_t j = 0; j < size() - 1; ++j)
      if (j != i)
        scale /= point(i) - point(j);
    matrix.push_back({scale, scale * point(i), scale * point(i) * point(i)});
  }
  matrix.push_back({0, 0, 1});
  return matrix;
}

/// The value at 0, the difference of those at two opposite points, and the one
/// at infinity are the weights, but for factors.
Winograd::Matrix Winograd::getWeightInverse() const {
  if (points.empty())
    return {{1}};
  Matrix transform = getWeightTransform();
  Matrix matrix(kWindow, SmallVector<double>(size(), 0));
  matrix[0][0] = 1 / transform[0][0];
  matrix[1][1] = 0.5 / transform[1][1];
  matrix[1][2] = -matrix[1][1];
  matrix[2].back() = 1;
  return matrix;
}

/// The sum of multiples of vectors.
static Value sumWeighted(IndexBuilder &b, ArrayRef<double> factors,
                         ValueRange values) {
  auto type = cast<VectorType>(values.front().getType());
  auto splat = [&](double factor) -> Value {
    Attribute element = b.getFloatAttr(type.getElementType(), factor);
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, element));
  };
  // A term with factor 1 comes first, as it needs no multiplication.
  Value sum;
  const double *start = llvm::find(factors, 1.0);
  if (start != factors.end())
    sum = values[start - factors.begin()];
  for (auto [factor, value] : llvm::zip_equal(factors, values)) {
    if (factor == 0 || (&factor == start))
      continue;
    if (!sum)
      sum = arith::MulFOp::create(b, value, splat(factor));
    else if (factor == 1)
      sum = arith::AddFOp::create(b, sum, value);
    else if (factor == -1)
      sum = arith::SubFOp::create(b, sum, value);
    else
      sum = vector::FMAOp::create(b, value, splat(factor), sum);
  }
  return sum;
}

/// Of two opposite points, the polynomials differ in the sign of odd powers.
SmallVector<Value> Winograd::transformInputs(IndexBuilder &b,
                                             ValueRange inputs) const {
  if (points.empty())
    return llvm::to_vector(inputs);
  SmallVector<Value> results(size());
  auto multiply = [&](int64_t without) {
    SmallVector<double> factors = multiplyPoints(without);
    factors.resize(size(), 0);
    return sumWeighted(b, factors, inputs);
  };
  results.front() = multiply(0);
  for (int64_t i = 1; i + 1 < size(); i += 2) {
    SmallVector<double> even = multiplyPoints(i);
    even.resize(size(), 0);
    SmallVector<double> odd = even;
    for (int64_t k = 0; k < size(); ++k)
      (k % 2 == 0 ? odd : even)[k] = 0;
    Value evenSum = sumWeighted(b, even, inputs);
    Value oddSum = sumWeighted(b, odd, inputs);
    results[i] = arith::AddFOp::create(b, evenSum, oddSum);
    results[i + 1] = arith::SubFOp::create(b, evenSum, oddSum);
  }
  results.back() = multiply(size() - 1);
  return results;
}

/// Result i is the sum of products times power i of their points; the one at
/// infinity is part of the last result.
SmallVector<Value> Winograd::transformOutputs(IndexBuilder &b,
                                              ValueRange products) const {
  if (points.empty())
    return llvm::to_vector(products);
  SmallVector<Value> sums, differences;
  for (int64_t i = 1; i + 1 < size(); i += 2) {
    sums.push_back(arith::AddFOp::create(b, products[i], products[i + 1]));
    differences.push_back(
        arith::SubFOp::create(b, products[i], products[i + 1]));
  }
  SmallVector<Value> results;
  SmallVector<double> powers(points.size(), 1);
  for (int64_t i = 0; i < outputs(); ++i) {
    SmallVector<double> factors = powers;
    SmallVector<Value> terms = i % 2 == 0 ? sums : differences;
    bool isFirst = i == 0, isLast = i + 1 == outputs();
    if (isFirst || isLast) {
      factors.push_back(1);
      terms.push_back(isFirst ? products.front() : products.back());
    }
    results.push_back(sumWeighted(b, factors, terms));
    for (auto [power, point] : llvm::zip_equal(powers, points))
      power *= point;
  }
  return results;
}

/// Transforms columns, then rows of what they became.
static void transformTile(
    IndexBuilder &b, const WinogradTile &tile, WinogradTile::Load load,
    WinogradTile::Store store,
    llvm::function_ref<SmallVector<Value>(const Winograd &, ValueRange)>
        transform) {
  SmallVector<SmallVector<Value>> columns;
  for (int64_t j = 0; j < tile.columns.size(); ++j) {
    SmallVector<Value> column;
    for (int64_t i = 0; i < tile.rows.size(); ++i)
      column.push_back(load(b, i, j));
    columns.push_back(transform(tile.rows, column));
  }
  for (size_t i = 0; i < columns.front().size(); ++i) {
    SmallVector<Value> row;
    for (ArrayRef<Value> column : columns)
      row.push_back(column[i]);
    for (auto [j, value] : llvm::enumerate(transform(tile.columns, row)))
      store(b, i, j, value);
  }
}

void WinogradTile::transformInputs(IndexBuilder &b, Load load,
                                   Store store) const {
  transformTile(b, *this, load, store,
                [&](const Winograd &dimension, ValueRange values) {
                  return dimension.transformInputs(b, values);
                });
}

void WinogradTile::transformOutputs(IndexBuilder &b, Load load,
                                    Store store) const {
  transformTile(b, *this, load, store,
                [&](const Winograd &dimension, ValueRange values) {
                  return dimension.transformOutputs(b, values);
                });
}
