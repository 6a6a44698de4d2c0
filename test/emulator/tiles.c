/* Part of the relax-mlir project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * AMX (tiles, products of bytes and of bfloat16), which Bochs lacks as the
 * package bochscpu-python is built: functions of the same names as its own,
 * which are found first, see host.c. The function of instructions that Bochs
 * cannot decode decodes these; CPUID and XGETBV say that the processor has
 * them.
 */

#include "bochs.h"

#include <stdbool.h>
#include <string.h>

/* Functions of Bochs, set by processor.py. Addresses of memory are linear. */
void (*relax_refuse)(Instruction *i);
void (*relax_get_control)(Instruction *i);
void (*relax_describe)(const void *model, unsigned leaf, uint32_t *registers);
void (*relax_raise)(unsigned vector, uint16_t error);
uint64_t (*relax_get_register)(unsigned cpu, unsigned reg);
void (*relax_set_register)(unsigned cpu, unsigned reg, uint64_t value);
uint32_t (*relax_get_xcr0)(unsigned cpu);
void (*relax_get_segment)(unsigned cpu, unsigned segment, uint32_t *isPresent,
                          uint16_t *selector, uint64_t *base, uint32_t *limit,
                          uint16_t *attributes);
typedef int Access(uint64_t address, unsigned size, unsigned ring, unsigned how,
                   uint32_t alignment, void *data);
Access *relax_read, *relax_write;

/* Set by processor.py: whether the processor has tiles, and whether the program
   has asked Linux for them. */
bool relax_has_tiles, relax_may_use_tiles;

enum { kIllegal = 6, kProtection = 13 }; /* exceptions */
enum { kUserRing = 3, kRead = 0, kWrite = 1 };
enum { kRax = 0, kRcx = 1, kRdx = 2, kFs = 4, kGs = 5 };

/* Only palette 1 exists. */
enum { kPalette = 1, kTiles = 8, kRows = 16, kColumns = 64, kLanes = 16 };

/* What LDTILECFG reads and STTILECFG writes. */
typedef struct {
  uint8_t palette, startRow, zeros[14];
  uint16_t columns[16]; /* in bytes */
  uint8_t rows[16];
} Configuration;

typedef uint8_t Tile[kRows][kColumns];

static Configuration configuration; /* of zeros where there is none */
static Tile tiles[kTiles];

static _Noreturn void fail(unsigned vector) {
  relax_raise(vector, 0);
  __builtin_unreachable();
}

static void require(bool isLegal) {
  if (!isLegal)
    fail(kIllegal);
}

static void access(Access *function, unsigned how, uint64_t address,
                   unsigned size, void *data) {
  if (function(address, size, kUserRing, how, 0, data) < 0)
    fail(kProtection);
}

/* The decoder. */

enum { kNone, k66, kF3, kF2 }; /* prefixes, in VEX */
#define RELAX_CODE(opcode, prefix) ((opcode) << 2 | (prefix))

typedef struct {
  const uint8_t *next;                         /* what is not decoded yet */
  int segment;                                 /* or -1 */
  unsigned code;                               /* see RELAX_CODE */
  unsigned extendReg, extendIndex, extendBase; /* 8 or 0 */
  unsigned vector;                             /* a register */
  unsigned mode, reg, base;                    /* ModRM */
  bool hasIndex;                               /* whether SIB follows it */
  uint64_t address, stride;
} Decoded;

static uint64_t getSegmentBase(int segment) {
  uint32_t isPresent, limit;
  uint16_t selector, attributes;
  uint64_t base = 0;
  if (segment >= 0)
    relax_get_segment(0, segment, &isPresent, &selector, &base, &limit,
                      &attributes);
  return base;
}

/* Decodes prefixes, the opcode and ModRM; returns whether the instruction has
   VEX of three bytes, map 0F38, 128 bits and W0, which those of AMX have. */
static bool decodeOpcode(const uint8_t *code, Decoded *to) {
  for (to->segment = -1;; ++code) {
    if (*code == 0x64 || *code == 0x65)
      to->segment = *code == 0x64 ? kFs : kGs;
    else if (*code != 0x26 && *code != 0x2e && *code != 0x36 && *code != 0x3e)
      break;
  }
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || code[2] & 0x84)
    return false;
  to->extendReg = code[1] & 0x80 ? 0 : 8;
  to->extendIndex = code[1] & 0x40 ? 0 : 8;
  to->extendBase = code[1] & 0x20 ? 0 : 8;
  to->vector = code[2] >> 3 ^ 15;
  to->code = RELAX_CODE(code[3], code[2] & 3);
  to->mode = code[4] >> 6;
  to->reg = (code[4] >> 3 & 7) + to->extendReg;
  to->base = code[4] & 7;
  to->next = code + 5;
  return true;
}

static int32_t decodeDisplacement(Decoded *to, unsigned size) {
  int32_t value = 0;
  memcpy(&value, to->next, size);
  to->next += size;
  return size == 1 ? (int8_t)value : value;
}

/* Decodes an operand in memory: an address, and the scaled index, which is the
   distance of rows of tiles. */
static void decodeMemory(Decoded *to) {
  unsigned base = to->base;
  to->hasIndex = base == 4;
  to->stride = 0;
  if (to->hasIndex) {
    uint8_t sib = *to->next++;
    unsigned index = (sib >> 3 & 7) + to->extendIndex;
    base = sib & 7;
    if (index != 4)
      to->stride = relax_get_register(0, index) << (sib >> 6);
  }
  bool isAbsolute = to->mode == 0 && base == 5;
  unsigned size = to->mode == 1 ? 1 : to->mode == 2 || isAbsolute ? 4 : 0;
  uint64_t address = decodeDisplacement(to, size);
  if (!isAbsolute)
    address += relax_get_register(0, base + to->extendBase);
  else if (!to->hasIndex)
    address += (uint64_t)to->next; /* of the next instruction */
  to->address = address + getSegmentBase(to->segment);
}

/* Configurations. */

static bool isZero(const void *data, size_t size) {
  const uint8_t *bytes = data;
  for (size_t at = 0; at != size; ++at)
    if (bytes[at])
      return false;
  return true;
}

static bool isConfiguration(const Configuration *given) {
  if (given->palette != kPalette ||
      !isZero(given->zeros, sizeof given->zeros) ||
      !isZero(given->columns + kTiles, sizeof given->columns / 2) ||
      !isZero(given->rows + kTiles, sizeof given->rows / 2))
    return false;
  for (unsigned tile = 0; tile != kTiles; ++tile) {
    unsigned rows = given->rows[tile], columns = given->columns[tile];
    if (rows > kRows || columns > kColumns || !rows != !columns)
      return false;
  }
  return true;
}

static void release(void) {
  memset(&configuration, 0, sizeof configuration);
  memset(tiles, 0, sizeof tiles);
}

static void configure(uint64_t address) {
  Configuration given;
  access(relax_read, kRead, address, sizeof given, &given);
  if (given.palette && !isConfiguration(&given))
    fail(kProtection);
  release();
  if (given.palette)
    configuration = given;
}

static bool isConfigured(unsigned tile) {
  return tile < kTiles && configuration.rows[tile];
}

/* Tiles and memory. */

static void clear(unsigned tile) {
  require(isConfigured(tile));
  memset(tiles[tile], 0, sizeof(Tile));
  configuration.startRow = 0;
}

static void checkTransfer(const Decoded *decoded) {
  require(decoded->hasIndex && isConfigured(decoded->reg));
  require(configuration.columns[decoded->reg] % 4 == 0);
  require(configuration.startRow < configuration.rows[decoded->reg]);
}

/* A fault in the middle leaves the row at which the instruction continues. */
static void load(const Decoded *from) {
  checkTransfer(from);
  unsigned rows = configuration.rows[from->reg];
  unsigned columns = configuration.columns[from->reg];
  uint8_t (*to)[kColumns] = tiles[from->reg];
  memset(to[configuration.startRow], 0,
         (kRows - configuration.startRow) * kColumns);
  for (; configuration.startRow != rows; ++configuration.startRow) {
    unsigned row = configuration.startRow;
    access(relax_read, kRead, from->address + row * from->stride, columns,
           to[row]);
  }
  configuration.startRow = 0;
}

static void store(const Decoded *to) {
  checkTransfer(to);
  unsigned rows = configuration.rows[to->reg];
  for (; configuration.startRow != rows; ++configuration.startRow) {
    unsigned row = configuration.startRow;
    access(relax_write, kWrite, to->address + row * to->stride,
           configuration.columns[to->reg], tiles[to->reg][row]);
  }
  configuration.startRow = 0;
}

/* Products: to += from * from2. Each lane of 32 bits of a row of `from` has the
   elements that are multiplied by those in a lane of `from2`; lanes that are
   not configured are computed, too, as their number is constant then. */

static void checkProduct(unsigned to, unsigned from, unsigned from2) {
  const uint16_t *columns = configuration.columns;
  const uint8_t *rows = configuration.rows;
  require(to != from && to != from2 && from != from2);
  require(isConfigured(to) && isConfigured(from) && isConfigured(from2));
  require((columns[to] | columns[from] | columns[from2]) % 4 == 0);
  require(columns[to] == columns[from2] && rows[to] == rows[from]);
  require(columns[from] / 4 == rows[from2]);
}

/* Writes a row, and zeros past its columns. */
static void putRow(unsigned tile, unsigned row, const void *lanes) {
  unsigned columns = configuration.columns[tile];
  memcpy(tiles[tile][row], lanes, columns);
  memset(tiles[tile][row] + columns, 0, kColumns - columns);
}

static void endProduct(unsigned to) {
  unsigned rows = configuration.rows[to];
  memset(tiles[to][rows], 0, (kRows - rows) * kColumns);
  configuration.startRow = 0;
}

enum { kBytes = 4 }; /* in a lane */

static int16_t getByte(uint8_t byte, bool isSigned) {
  return isSigned ? (int8_t)byte : byte;
}

static void multiplyBytes(unsigned to, unsigned from, unsigned from2,
                          bool isSigned, bool isSigned2) {
  checkProduct(to, from, from2);
  unsigned rows = configuration.rows[to], terms = configuration.rows[from2];
  int16_t factors[kRows][kBytes][kLanes];
  for (unsigned term = 0; term != terms; ++term)
    for (unsigned at = 0; at != kColumns; ++at)
      factors[term][at % kBytes][at / kBytes] =
          getByte(tiles[from2][term][at], isSigned2);
  for (unsigned row = 0; row != rows; ++row) {
    uint32_t sums[kLanes];
    memcpy(sums, tiles[to][row], sizeof sums);
    for (unsigned at = 0; at != terms * kBytes; ++at) {
      int16_t factor = getByte(tiles[from][row][at], isSigned);
      const int16_t *others = factors[at / kBytes][at % kBytes];
      for (unsigned lane = 0; lane != kLanes; ++lane)
        sums[lane] += (uint32_t)(factor * others[lane]);
    }
    putRow(to, row, sums);
  }
  endProduct(to);
}

enum { kHalves = 2 }; /* in a lane */

static float getBfloat16(const uint8_t *data) {
  uint16_t half;
  memcpy(&half, data, sizeof half);
  uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Multiplies, with the state of floating-point operations that it needs. Even
   and odd elements have sums of their own. A fused multiply-add rounds once, as
   here does the conversion to float: the product of two bfloat16 is exact in
   double, and so is its sum with a float, or else the smaller of both is too
   small for the sum to be rounded to a value halfway between two of float. */
static __attribute__((noinline)) void
multiplyHalvesNow(unsigned to, unsigned from, unsigned from2) {
  unsigned rows = configuration.rows[to], terms = configuration.rows[from2];
  double factors[kRows][kHalves][kLanes];
  for (unsigned term = 0; term != terms; ++term)
    for (unsigned at = 0; at != kHalves * kLanes; ++at)
      factors[term][at % kHalves][at / kHalves] =
          getBfloat16(tiles[from2][term] + 2 * at);
  for (unsigned row = 0; row != rows; ++row) {
    float sums[kHalves][kLanes] = {0}, result[kLanes];
    for (unsigned at = 0; at != terms * kHalves; ++at) {
      double factor = getBfloat16(tiles[from][row] + 2 * at);
      const double *others = factors[at / kHalves][at % kHalves];
      float *sum = sums[at % kHalves];
      for (unsigned lane = 0; lane != kLanes; ++lane)
        sum[lane] = (float)(sum[lane] + factor * others[lane]);
    }
    memcpy(result, tiles[to][row], sizeof result);
    for (unsigned lane = 0; lane != kLanes; ++lane)
      result[lane] += sums[0][lane] + sums[1][lane];
    putRow(to, row, result);
  }
}

/* MXCSR: no exceptions, round to nearest, denormals are zeros. */
enum { kNoDenormals = 0x9fc0 };

static void multiplyHalves(unsigned to, unsigned from, unsigned from2) {
  checkProduct(to, from, from2);
  uint32_t state, own = kNoDenormals;
  __asm__ volatile("stmxcsr %0\n\tldmxcsr %1"
                   : "=m"(state)
                   : "m"(own)
                   : "memory");
  multiplyHalvesNow(to, from, from2);
  __asm__ volatile("ldmxcsr %0" : : "m"(state) : "memory");
  endProduct(to);
}

/* Instructions. */

/* Executes one whose operand is in memory. */
static bool executeInMemory(Decoded *i) {
  decodeMemory(i);
  switch (i->code) {
  case RELAX_CODE(0x49, kNone):
    require(i->reg == 0);
    configure(i->address + i->stride);
    return true;
  case RELAX_CODE(0x49, k66):
    require(i->reg == 0);
    access(relax_write, kWrite, i->address + i->stride, sizeof configuration,
           &configuration);
    return true;
  case RELAX_CODE(0x4b, k66):
  case RELAX_CODE(0x4b, kF2):
    load(i);
    return true;
  case RELAX_CODE(0x4b, kF3):
    store(i);
    return true;
  }
  return false;
}

/* Executes one of registers, but for products. */
static bool executeOnTiles(const Decoded *i) {
  require(i->base == 0);
  if (i->code == RELAX_CODE(0x49, kF2))
    clear(i->reg);
  else if (i->code == RELAX_CODE(0x49, kNone) && i->reg == 0)
    release();
  else
    return false;
  return true;
}

static bool executeProduct(const Decoded *i) {
  unsigned to = i->reg, from = i->base + i->extendBase, from2 = i->vector;
  switch (i->code) {
  case RELAX_CODE(0x5e, kNone):
    multiplyBytes(to, from, from2, false, false);
    return true;
  case RELAX_CODE(0x5e, k66):
    multiplyBytes(to, from, from2, false, true);
    return true;
  case RELAX_CODE(0x5e, kF3):
    multiplyBytes(to, from, from2, true, false);
    return true;
  case RELAX_CODE(0x5e, kF2):
    multiplyBytes(to, from, from2, true, true);
    return true;
  case RELAX_CODE(0x5c, kF3):
    multiplyHalves(to, from, from2);
    return true;
  }
  return false;
}

static bool execute(Decoded *i) {
  bool isRegister = i->mode == 3;
  unsigned opcode = i->code >> 2;
  if (isRegister && (opcode == 0x5c || opcode == 0x5e))
    return executeProduct(i);
  if (i->vector || (opcode != 0x49 && opcode != 0x4b))
    return false;
  return isRegister ? executeOnTiles(i) : executeInMemory(i);
}

void refuse(Instruction *i) __asm__("_ZN8BX_CPU_C7BxErrorEP15bxInstruction_c");

void refuse(Instruction *i) {
  Decoded decoded;
  const uint8_t *code = (const uint8_t *)(relax_get_pc(0) - i->size);
  if (relax_may_use_tiles && decodeOpcode(code, &decoded) &&
      execute(&decoded)) {
    relax_set_pc(0, (uint64_t)decoded.next);
    return;
  }
  relax_refuse(i);
}

/* What processor this is. */

enum { kBfloat16Bit = 22, kTileBit = 24, kInt8Bit = 25 };

void describe(const void *model, unsigned leaf, uint32_t *registers) __asm__(
    "_ZNK17sapphire_rapids_t20get_std_cpuid_leaf_7EjP16cpuid_function_t");

void describe(const void *model, unsigned leaf, uint32_t *registers) {
  relax_describe(model, leaf, registers);
  if (leaf == 0)
    registers[3] |= 1u << kBfloat16Bit | 1u << kTileBit | 1u << kInt8Bit;
}

/* XGETBV: the system saves tiles. Bochs has no such bits, and its own function
   goes on to the next instruction, so this one stands for it. */

enum { kConfigurationBit = 17, kDataBit = 18 };

void getControl(Instruction *i) __asm__(
    "_ZN8BX_CPU_C6XGETBVEP15bxInstruction_c");

void getControl(Instruction *i) {
  if (!relax_has_tiles || (uint32_t)relax_get_register(0, kRcx) != 0) {
    relax_get_control(i);
    return;
  }
  uint32_t tilesSaved = 1u << kConfigurationBit | 1u << kDataBit;
  relax_set_register(0, kRax, relax_get_xcr0(0) | tilesSaved);
  relax_set_register(0, kRdx, 0);
  relax_set_pc(0, relax_get_pc(0));
}
