//===- MatmulLoops.h - The parts of the GEMM emitter ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The class that the files share: MatmulEmitter.cpp has the micro-kernel and
// the choice of loops, MatmulFewRows.cpp and MatmulBlocks.cpp the loops over
// blocks, MatmulWeights.cpp and MatmulByteRows.cpp those over quantized
// weights, MatmulPacking.cpp the packing, MatmulMatrixUnit.cpp both for a
// matrix unit.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_MATMULLOOPS_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_MATMULLOOPS_H

#include "MatmulEmitter.h"
#include "PanelPart.h"

namespace mlir::relax {

struct ByteRows;
struct ByteSizes;

/// Some rows times some panels of codes, which are read side by side. Sums are
/// row by row.
struct CodeTile {
  int64_t rows;
  /// Where the codes of each panel begin, and its scales.
  SmallVector<Value> codes, terms;
  Value last; // of all codes

  int64_t panels() const { return codes.size(); }
  int64_t size() const { return rows * panels(); }
};

/// An element in all lanes.
Value broadcastElement(IndexBuilder &b, VectorType type, Value base,
                       Value offset);

/// The numbers of rows or columns that tiles have along a dimension, in whole
/// units and ascending. Of a known dimension only the last tile may be smaller.
SmallVector<int64_t> getTileSizes(Value dimension, int64_t whole, int64_t unit);

/// Emits code for each of some sizes; the first one that is large enough runs.
void branchBySize(IndexBuilder &b, Value size, ArrayRef<int64_t> sizes,
                  llvm::function_ref<void(IndexBuilder &, int64_t)> emit);

/// Emits the loops of one problem.
class MatmulEmitter {
public:
  MatmulEmitter(const MatmulProblem &problem, const MatmulBlocking &blocking)
      : problem(problem), blocking(blocking), lanes(blocking.lanes),
        vectorType(VectorType::get(blocking.lanes, problem.sumType)),
        words(problem.words) {}

  void emit(IndexBuilder &b);

private:
  /// A panel or a matrix that a tile reads, given the depth.
  using Step = IndexBuilder::Step;
  using LoadScalar =
      llvm::function_ref<Value(IndexBuilder &, int64_t, const Step &)>;
  using LoadVector =
      llvm::function_ref<Value(IndexBuilder &, int64_t, const Step &)>;
  /// What a tile does once for a line of the cache that vectors fill.
  using Prefetch = llvm::function_ref<void(IndexBuilder &, const Step &)>;

  /// The position of a tile of sums.
  struct Tile {
    Value batch, row, column;
    Value rows, columns; // how many are in the result
  };

  /// Rows of a matrix that become panels of `width` rows each. The depth is in
  /// words where there are any.
  struct PanelRange {
    MatrixView matrix;
    Value row, rows; // the first one, and how many there are
    Value begin, depth;
    int64_t width;
    Value offset, stride; // where they go; a row takes `stride` elements
    /// Whether they are of the left matrix, whose words may be moved.
    bool isLhs = false;
  };

  /// Columns of the right matrix. They are in panels, those of a column in
  /// `stride` elements, unless tasks pack what they need and there is no base.
  struct RightMatrix {
    Value first, columns;
    MatrixView panels;
    Value stride;
  };

  Value loadScalar(IndexBuilder &b, const MatrixView &matrix, Value offset);
  Value loadElements(IndexBuilder &b, const MatrixView &matrix, Value offset,
                     int64_t size, Value mask);
  Value loadVector(IndexBuilder &b, const MatrixView &matrix, Value offset,
                   Value mask);
  Value loadWhole(IndexBuilder &b, const MatrixView &matrix, Value offset,
                  int64_t count);
  Value loadSums(IndexBuilder &b, Value scratch, Value offset);
  void storeSums(IndexBuilder &b, Value sums, Value scratch, Value offset);
  Value makeMask(IndexBuilder &b, Value count, int64_t size);
  Value makeScratch(IndexBuilder &b, Value size);
  Value multiplyAdd(IndexBuilder &b, Value lhs, Value rhs, Value sum);
  Value multiplyAddWords(IndexBuilder &b, Value lhs, Value rhs, Value sum);
  bool hasWords() const { return words.has_value(); }
  bool movesLhs() const { return words && words->movesLhs(); }
  int64_t wordSize() const { return words ? words->size() : 1; }
  Value countSteps(IndexBuilder &b);
  bool isOfWords(const MatrixView &panels) const;
  Value loadStep(IndexBuilder &b, const MatrixView &panels, Value offset);
  Value loadPanel(IndexBuilder &b, const MatrixView &panels, Value offset) {
    return loadWords(b, panels, offset, lanes);
  }
  Value loadWords(IndexBuilder &b, const MatrixView &panels, Value offset,
                  int64_t count);
  void prefetchPanel(IndexBuilder &b, const MatrixView &panels, Value offset);
  /// How many sums, or words, a line of the cache has.
  int64_t getLineSize() const {
    constexpr int64_t kLineBits = 512;
    return kLineBits / problem.sumType.getIntOrFloatBitWidth();
  }
  /// Adds the products of a step to some sums.
  using AddStep = llvm::function_ref<void(IndexBuilder &, const Step &,
                                          MutableArrayRef<Value>)>;
  static constexpr int64_t kTurns = 4; // of few sums
  SmallVector<Value> addInTurns(IndexBuilder &b, Value depth, int64_t count,
                                int64_t turns, int64_t steps, AddStep addStep);
  int64_t countTurns(int64_t sums) const;
  SmallVector<Value> computeOffsets(IndexBuilder &b, const MatrixView &panels,
                                    Value depth);
  Value add(IndexBuilder &b, Value lhs, Value rhs);

  /// How a tile adds products, of elements or of words.
  using Multiply = Value (MatmulEmitter::*)(IndexBuilder &, Value, Value,
                                            Value);
  SmallVector<Value> computeTile(IndexBuilder &b, int64_t rows, int64_t vectors,
                                 Value depth, LoadScalar lhs, LoadVector rhs,
                                 Multiply multiply, Prefetch prefetch = {});
  void finishTile(IndexBuilder &b, const Tile &tile, int64_t width,
                  Value scratch, Value offset);

  void emitStream(IndexBuilder &b, int64_t rows, int64_t depth);
  void emitStreamStep(IndexBuilder &b, const Tile &tile, int64_t rows,
                      int64_t depth, Value k, Value scratch);
  void emitDirect(IndexBuilder &b, int64_t rows, int64_t vectors,
                  int64_t panels = 1);
  int64_t countStreams() const;
  MatrixView packFewRows(IndexBuilder &b, int64_t rows);
  void emitDots(IndexBuilder &b, int64_t rows, int64_t columns);
  void emitDotTile(IndexBuilder &b, const Tile &tile, int64_t rows,
                   int64_t columns, Value scratch);

  /// Rows of the left matrix as products with codes need them, and the sums of
  /// each group, in scratch memory: element (i, k) is at begin + k * rows + i.
  struct PreparedRows {
    Value scratch, begin;
    Value sums; // their offset; null without
  };
  void emitWeights(IndexBuilder &b);
  void emitRowsOfWeights(IndexBuilder &b, int64_t rows, int64_t streams,
                         Value blocks);
  void prepareRows(IndexBuilder &b, const PreparedRows &prepared, Value first,
                   int64_t rows);
  struct WeightTile;
  SmallVector<Value> computeWeightTile(IndexBuilder &b, const WeightTile &tile);
  SmallVector<Value> addCodeWord(IndexBuilder &b, const WeightTile &tile,
                                 Value word, ValueRange carried);
  int64_t sizeOfWord() const;
  Value countWords(IndexBuilder &b);
  Value countGroups(IndexBuilder &b);
  bool hasZeros() const;
  Value loadCodeWord(IndexBuilder &b, Value offset);
  Value loadCode(IndexBuilder &b, Value word, Value offset, int64_t i,
                 bool isScaled);
  Value loadTerm(IndexBuilder &b, Value term, Value offset, bool isUnsigned);
  Value loadZeros(IndexBuilder &b, Value offset);
  SmallVector<Value> addScaled(IndexBuilder &b, Value group, ValueRange terms,
                               ValueRange products, ValueRange sums,
                               llvm::function_ref<Value(int64_t)> loadRowSum);
  void unpackPanel(IndexBuilder &b, const MatmulProblem::Columns &panel,
                   Value scratch, Value offset);

  void emitByteRows(IndexBuilder &b);
  void emitByteTiles(IndexBuilder &b, const ByteRows &left, int64_t rows,
                     int64_t panels);
  struct ByteTile;
  SmallVector<Value> computeByteTile(IndexBuilder &b, const ByteRows &left,
                                     const ByteTile &tile);
  SmallVector<Value> addByteBlock(IndexBuilder &b, const ByteRows &left,
                                  const ByteTile &tile, Value number,
                                  ValueRange carried);
  SmallVector<Value> addByteWord(IndexBuilder &b, const ByteRows &left,
                                 const ByteTile &tile, Value word,
                                 ValueRange carried);
  void fetchByteBlock(IndexBuilder &b, const ByteSizes &sizes,
                      const ByteTile &tile, Value first);
  std::pair<Value, Value> loadNibbles(IndexBuilder &b, Value offset);
  ByteRows roundRows(IndexBuilder &b, const ByteSizes &sizes, int64_t tileRows);
  Value loadBlock(IndexBuilder &b, const MatrixView &row,
                  const ByteSizes &sizes, Value k);
  std::pair<Value, Value> roundBlock(IndexBuilder &b, Value block, Value words,
                                     Value place);

  void pack(IndexBuilder &b, const PanelRange &range, Value scratch);
  void packCopies(IndexBuilder &b, const PanelRange &range, Value scratch);
  void packTransposed(IndexBuilder &b, const PanelRange &range, Value scratch);
  using CopyRows = llvm::function_ref<void(IndexBuilder &, Value,
                                           llvm::function_ref<Value(Value)>)>;
  void packWords(IndexBuilder &b, const PanelRange &range, CopyRows copy);
  Value packWord(IndexBuilder &b, const PanelRange &range, Value column,
                 Value place, llvm::function_ref<Value(Value)> load);
  Value finishWords(IndexBuilder &b, const PanelRange &range, Value packed);
  void packScalars(IndexBuilder &b, const PanelRange &range, Value scratch);
  void packTogether(IndexBuilder &b, const RightMatrix &right);

  struct Blocks;
  struct Grid;
  Blocks divide(IndexBuilder &b, const RightMatrix &right);
  void divideDepth(IndexBuilder &b, Blocks &blocks);
  Grid fitCaches(IndexBuilder &b, const RightMatrix &right,
                 const Blocks &blocks);
  Value countTasks(IndexBuilder &b, const RightMatrix &right);
  void share(IndexBuilder &b, const RightMatrix &right, Value tasks,
             Grid &grid);
  void emitPacked(IndexBuilder &b);
  void emitTasks(IndexBuilder &b, const RightMatrix &right);

  /// The panels that a tile is computed from. Meanwhile, elements of `rhs` that
  /// a later tile needs are prefetched.
  struct Panels {
    MatrixView lhs, rhs; // base and offset
    /// Where the next panel begins; null where nothing is prefetched.
    Value next = {};
    std::optional<PanelPart> ahead = std::nullopt;
    /// Where rows of the left matrix begin that are not packed.
    SmallVector<Value> rows = {};
    /// What the right one is packed from while it is used.
    std::optional<MatrixView> source = std::nullopt;
    /// What sums have too much where the left matrix is moved.
    SmallVector<Value> offsets = {};
    /// Of a matrix unit: where the rows of the right one are in scratch memory
    /// that are no whole tile.
    Value lastRows = {};
  };
  struct Task;
  struct DepthBlock;
  Task makeTask(IndexBuilder &b, const RightMatrix &right, const Blocks &blocks,
                Value number);
  void allocate(IndexBuilder &b, Task &task);
  void emitTask(IndexBuilder &b, const RightMatrix &right, const Blocks &blocks,
                Value number);
  /// Whether panels of the right matrix are packed one at a time.
  bool packsEachPanel() const { return problem.packRhs || problem.isLhsPacked; }
  void packBlock(IndexBuilder &b, const Task &task, const DepthBlock &block,
                 Value first, Value count, Value to, bool isLhs);
  void emitDepthBlock(IndexBuilder &b, const Task &task, Value number);
  void findPanels(IndexBuilder &b, const Task &task, const DepthBlock &block,
                  Value j, Panels &panels);
  bool packsLhs(const Task &task) const;
  int64_t countPanelsTogether() const;
  void packPanel(IndexBuilder &b, const Task &task, const DepthBlock &block,
                 Value j, Value to);
  Value countColumns(IndexBuilder &b, const Task &task, Value j);
  void emitPanel(IndexBuilder &b, const Task &task, const DepthBlock &block,
                 Value j);
  Value packFirstTile(IndexBuilder &b, const Task &task,
                      const DepthBlock &block, Panels panels, Value j);
  void emitPanels(IndexBuilder &b, const Task &task, const DepthBlock &block,
                  Value begin, int64_t count);
  void emitTile(IndexBuilder &b, const Task &task, const DepthBlock &block,
                Panels panels, Value i, Value j);
  void prefetchResult(IndexBuilder &b, const Task &task, Value i, Value j);
  void emitPackedTile(IndexBuilder &b, const Panels &panels, Value scratch,
                      Value sums, Value depth, Value isFirst, const Tile &tile);
  void packTiles(IndexBuilder &b, const PanelRange &range, Value scratch);
  void packLastRows(IndexBuilder &b, const MatrixView &panel, Value depth,
                    Value scratch, Value to);
  void multiplyTiles(IndexBuilder &b, const Panels &panels, Value scratch,
                     Value sums, Value depth, Value isFirst, int64_t rows);
  bool finishesInRegisters() const;
  Value isWhole(IndexBuilder &b, const Tile &tile);
  std::optional<int64_t> countFewColumns() const;
  void emitFewColumns(IndexBuilder &b, const Panels &panels, Value scratch,
                      Value sums, Value depth, Value isFirst, Value begin,
                      Value columns);

  const MatmulProblem &problem;
  const MatmulBlocking &blocking;
  int64_t lanes;
  VectorType vectorType;
  std::optional<WordProducts> words; // those of the problem, once declared
  Value threads; // how many there are, where the product is divided
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_MATMULLOOPS_H
