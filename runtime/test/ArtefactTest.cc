//===- ArtefactTest.cc - Reading and writing artefacts ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checksum, the container with its sections, the constants in it. VM10: an
// artefact that is damaged is an error that names the section.
//
//===----------------------------------------------------------------------===//

#include "../src/artefact/Artefact.h"
#include "../src/artefact/Checksum.h"
#include "../src/artefact/Constants.h"
#include "../src/artefact/Container.h"
#include "../src/artefact/Processor.h"
#include "../src/vm/VirtualMachine.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <tvm/ffi/tvm_ffi.h>
#include <unistd.h>
#include <vector>

using namespace relax_runtime;

static int checks = 0, failures = 0;

static void check(bool holds, const std::string &text, int line) {
  ++checks;
  if (holds)
    return;
  ++failures;
  std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, line,
               text.c_str());
}

#define CHECK(condition) check((condition), #condition, __LINE__)

// Checks that `run` raises an error that contains these texts.
static void checkRaises(const std::function<void()> &run, const char *kind,
                        std::initializer_list<const char *> texts, int line) {
  try {
    run();
  } catch (const ffi::Error &error) {
    std::string message = error.message();
    check(error.kind() == kind, "the error is a " + std::string(kind), line);
    for (const char *text : texts)
      check(message.find(text) != std::string::npos,
            "<" + message + "> contains <" + text + ">", line);
    return;
  }
  check(false, "an error is raised", line);
}

#define CHECK_RAISES(kind, run, ...)                                           \
  checkRaises([&] { run; }, kind, {__VA_ARGS__}, __LINE__)

//===----------------------------------------------------------------------===//
// Checksums
//===----------------------------------------------------------------------===//

static void testChecksum() {
  // The check value of CRC-32C.
  CHECK(checksum("123456789", 9) == 0xe3069283);
  CHECK(checksumPortable("123456789", 9) == 0xe3069283);
  CHECK(checksum("", 0) == 0);
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text.push_back(static_cast<char>(i * 37 + i / 11));
  for (size_t size : {1, 7, 8, 9, 63, 64, 1000}) {
    uint32_t whole = checksum(text.data(), size);
    CHECK(whole == checksumPortable(text.data(), size));
    // In two pieces.
    size_t half = size / 3;
    CHECK(whole == checksum(text.data() + half, size - half,
                            checksum(text.data(), half)));
  }
}

//===----------------------------------------------------------------------===//
// Containers
//===----------------------------------------------------------------------===//

static std::string write(const ContainerWriter &writer) {
  std::string bytes;
  writer.write([&](const void *data, size_t size) {
    bytes.append(static_cast<const char *>(data), size);
  });
  CHECK(bytes.size() == writer.size());
  return bytes;
}

static Container openBytes(const std::string &bytes,
                           Verify verify = Verify::All) {
  return Container(Image::copy(bytes.data(), bytes.size(), "model"), verify,
                   "big");
}

static ContainerWriter makeWriter() {
  SectionWriter numbers;
  numbers.writeU8(7);
  numbers.writeU32(0xdeadbeef);
  numbers.writeI64(-5);
  numbers.writeF64(0.25);
  numbers.writeText("text");
  ContainerWriter writer;
  writer.addSection("numbers", numbers.bytes);
  writer.addSection("empty", std::string());
  static const char kBig[] = "0123456789";
  writer.addSection("big",
                    std::vector<ContainerWriter::Piece>{{kBig, 4}, {kBig, 10}});
  return writer;
}

static void testContainer() {
  std::string bytes = write(makeWriter());
  Container container = openBytes(bytes);
  CHECK(container.sections().size() == 3);
  for (const Container::Section &section : container.sections())
    CHECK(section.offset % kSectionAlignment == 0);
  SectionReader reader = container.reader("numbers");
  CHECK(reader.readU8() == 7);
  CHECK(reader.readU32() == 0xdeadbeef);
  CHECK(reader.readI64() == -5);
  CHECK(reader.readF64() == 0.25);
  CHECK(reader.readText() == "text");
  reader.finish();
  auto [data, size] = container.content("big");
  CHECK(std::string(reinterpret_cast<char *>(data), size) == "01230123456789");
  CHECK_RAISES("ValueError", container.reader("other"),
               "model: section 'other': it is missing");
}

// Every bit of the file counts, and every byte is needed.
static void testDamage() {
  std::string bytes = write(makeWriter());
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string damaged = bytes;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ 1 << (i % 8));
    CHECK_RAISES("ValueError", openBytes(damaged), "model: section '");
  }
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK_RAISES("ValueError", openBytes(bytes.substr(0, size)),
                 "model: section '");
  CHECK_RAISES("ValueError", openBytes(bytes + '\0'), "model: section 'header'",
               "bytes in all");
}

// The lazy section is looked at only on demand.
static void testLazy() {
  std::string bytes = write(makeWriter());
  size_t place = bytes.find("0123");
  bytes[place] = 'x';
  openBytes(bytes, Verify::Structure);
  CHECK_RAISES("ValueError", openBytes(bytes),
               "model: section 'big': the checksum is wrong");
  bytes = write(makeWriter());
  bytes[bytes.find("text")] = 'x';
  CHECK_RAISES("ValueError", openBytes(bytes, Verify::Structure),
               "model: section 'numbers': the checksum is wrong");
}

// Sums up a header again, as an attacker would.
static void putU32(std::string &bytes, size_t offset, uint32_t value) {
  for (int i = 0; i < 4; ++i)
    bytes[offset + i] = static_cast<char>(value >> (8 * i));
}
static void seal(std::string &bytes, size_t numSections) {
  putU32(bytes, 28, checksum(bytes.data() + 64, numSections * 48));
  putU32(bytes, 60, checksum(bytes.data(), 60));
}

static void testHostile() {
  std::string good = write(makeWriter()), bytes = good;
  putU32(bytes, 8, 2);
  seal(bytes, 3);
  CHECK_RAISES("ValueError", openBytes(bytes), "section 'header'",
               "expected version 1 of the format, but got 2");
  bytes = good;
  putU32(bytes, 24, 0xffffffff);
  seal(bytes, 3);
  CHECK_RAISES("ValueError", openBytes(bytes), "at most 64 sections");
  bytes = good;
  putU32(bytes, 24, 40);
  seal(bytes, 3);
  CHECK_RAISES("ValueError", openBytes(bytes), "section 'table of sections'");
  // A size that would wrap around.
  bytes = good;
  putU32(bytes, 64 + 24, 0xffffffff);
  putU32(bytes, 64 + 28, 0xffffffff);
  seal(bytes, 3);
  CHECK_RAISES("ValueError", openBytes(bytes), "does not lie where it should");
  // An offset in the table itself.
  bytes = good;
  putU32(bytes, 64 + 16, 64);
  seal(bytes, 3);
  CHECK_RAISES("ValueError", openBytes(bytes), "does not lie where it should");
  // Two sections of one name.
  bytes = good;
  std::memcpy(&bytes[64 + 48], &bytes[64], 16);
  seal(bytes, 3);
  CHECK_RAISES("ValueError", openBytes(bytes), "section 'numbers' comes twice");
  // A name that is no text.
  bytes[64] = bytes[64 + 48] = '\xff';
  seal(bytes, 3);
  CHECK_RAISES("ValueError", openBytes(bytes),
               "section '\\xffumbers' comes twice");
  CHECK_RAISES("ValueError", openBytes("relax.func @main() { }  // a program"),
               "section 'header'", "another kind of file");
}

static void testReader() {
  SectionWriter writer;
  writer.writeU64(UINT64_MAX);
  auto reader = [&] {
    return SectionReader("model", "s",
                         reinterpret_cast<const uint8_t *>(writer.bytes.data()),
                         writer.bytes.size());
  };
  CHECK_RAISES("ValueError", reader().readText(),
               "model: section 's': expected 18446744073709551615 bytes at "
               "offset 8, but only 0 are left");
  CHECK_RAISES("ValueError", reader().readCount(1),
               "expected room for 18446744073709551615 items");
  CHECK_RAISES("ValueError", reader().readIndex(3, "functions"),
               "expected the index of one of 3 functions");
  CHECK_RAISES("ValueError", reader().finish(), "8 bytes follow its end");
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static ffi::Tensor makeTensor(std::vector<int64_t> dims, DLDataType dtype) {
  relax_site site = {"test", "tensor", "", ""};
  ffi::Any any;
  relax_tensor_alloc(&site, reinterpret_cast<TVMFFIAny *>(&any),
                     static_cast<int32_t>(dims.size()), dims.data(),
                     packDType(dtype), kDLCPU, 0);
  ffi::Tensor tensor = any.cast<ffi::Tensor>();
  auto *bytes = static_cast<uint8_t *>(tensor.data_ptr());
  for (int64_t i = 0; i < tensor.numel() * dtype.bits / 8; ++i)
    bytes[i] = static_cast<uint8_t>(i * 7 + 1);
  return tensor;
}

static std::string writeConstants(const std::vector<ffi::Any> &values) {
  ConstantsWriter constants;
  for (const ffi::Any &value : values)
    constants.write(value, "constant");
  ContainerWriter writer;
  writer.addSection("constants", constants.descriptions.bytes);
  writer.addSection("payloads", constants.payloads);
  return write(writer);
}

static std::vector<ffi::Any> readConstants(const std::string &bytes,
                                           size_t count) {
  Container container(Image::copy(bytes.data(), bytes.size(), "model"),
                      Verify::All, "payloads");
  SectionReader reader = container.reader("constants");
  std::vector<ffi::Any> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(
        readConstant(reader, container.image, container.content("payloads")));
  reader.finish();
  return values;
}

static void testConstants() {
  DLDataType f32 = {kDLFloat, 32, 1}, i8 = {kDLInt, 8, 1};
  ffi::Tensor small = makeTensor({3}, i8), large = makeTensor({2, 5}, f32);
  std::vector<ffi::Any> values = {
      ffi::Any(),
      true,
      int64_t(-3),
      0.5,
      ffi::String("a text that is longer than what fits in a small one"),
      ffi::Bytes(std::string("\0b", 2)),
      f32,
      ffi::Shape({2, 0, 9}),
      small,
      large,
      makeTensor({}, f32),
      makeTensor({4, 0, 9}, f32),
      ffi::Array<ffi::Any>({1, ffi::Array<ffi::Any>({small}), nullptr})};
  std::string bytes = writeConstants(values);
  std::vector<ffi::Any> read = readConstants(bytes, values.size());
  for (size_t i = 0; i < values.size(); ++i)
    CHECK(read[i].type_index() == values[i].type_index() ||
          read[i].as<ffi::String>() || read[i].as<ffi::Bytes>());
  CHECK(read[1].cast<bool>());
  CHECK(read[2].cast<int64_t>() == -3);
  CHECK(read[3].cast<double>() == 0.5);
  CHECK(read[4].cast<ffi::String>() == values[4].cast<ffi::String>());
  CHECK(std::string(read[5].cast<ffi::Bytes>()) == std::string("\0b", 2));
  CHECK(packDType(read[6].cast<DLDataType>()) == packDType(f32));
  CHECK(read[7].cast<ffi::Shape>()[2] == 9);
  for (size_t i : {8, 9}) {
    auto was = values[i].cast<ffi::Tensor>(), is = read[i].cast<ffi::Tensor>();
    CHECK(reinterpret_cast<uintptr_t>(is.data_ptr()) % 64 == 0);
    CHECK(is.ndim() == was.ndim() && is.numel() == was.numel());
    CHECK(std::memcmp(is.data_ptr(), was.data_ptr(),
                      is.numel() * was.dtype().bits / 8) == 0);
  }
  CHECK(read[10].cast<ffi::Tensor>().ndim() == 0);
  CHECK(read[11].cast<ffi::Tensor>().numel() == 0);
  auto tuple = read[12].cast<ffi::Array<ffi::Any>>();
  CHECK(tuple.size() == 3 &&
        tuple[1].cast<ffi::Array<ffi::Any>>()[0].cast<ffi::Tensor>().size(0) ==
            3);
}

// Where the system has temporary files, as mkstemp wants it.
static std::string temporaryName() {
  return std::filesystem::temp_directory_path() / "relax_artefact_test_XXXXXX";
}

// A tensor keeps what it views alive, and writing to it leaves the file alone.
static void testMapped() {
  std::string name = temporaryName();
  char *path = name.data();
  int file = mkstemp(path);
  std::string bytes =
      writeConstants({makeTensor({16}, DLDataType{kDLFloat, 32, 1})});
  CHECK(::write(file, bytes.data(), bytes.size()) ==
        static_cast<ssize_t>(bytes.size()));
  close(file);
  auto read = [&] {
    Container container(Image::map(path), Verify::All, "payloads");
    SectionReader reader = container.reader("constants");
    return readConstant(reader, container.image, container.content("payloads"))
        .cast<ffi::Tensor>();
  };
  ffi::Tensor first = read();
  CHECK(reinterpret_cast<uintptr_t>(first.data_ptr()) % 64 == 0);
  static_cast<uint8_t *>(first.data_ptr())[0] = 99;
  ffi::Tensor second = read();
  CHECK(static_cast<uint8_t *>(second.data_ptr())[0] == 1);
  unlink(path);
  CHECK_RAISES("OSError", read(), path, "cannot be opened");
  CHECK_RAISES("ValueError", Image::map("/dev/null"), "expected a file");
}

static void testBadConstants() {
  auto read = [](const std::string &description) {
    ContainerWriter writer;
    writer.addSection("constants", description);
    writer.addSection("payloads", std::string(64, 'x'));
    readConstants(write(writer), 1);
  };
  auto tensor = [](uint32_t dtype, std::vector<int64_t> dims, uint64_t offset) {
    SectionWriter writer;
    writer.writeU8(8);
    writer.writeU32(dtype);
    writer.writeU32(static_cast<uint32_t>(dims.size()));
    for (int64_t dim : dims)
      writer.writeI64(dim);
    writer.writeU64(offset);
    return writer.bytes;
  };
  uint32_t f32 = packDType({kDLFloat, 32, 1});
  read(tensor(f32, {16}, 0));
  CHECK_RAISES("ValueError", read(tensor(f32, {17}, 0)),
               "section 'constants': a tensor of shape (17,) at offset 0 does "
               "not lie within section 'payloads'");
  CHECK_RAISES("ValueError", read(tensor(f32, {1}, 128)), "does not lie");
  CHECK_RAISES("ValueError", read(tensor(f32, {1}, 4)), "does not lie");
  CHECK_RAISES("ValueError", read(tensor(f32, {1}, UINT64_MAX - 63)),
               "does not lie");
  CHECK_RAISES("ValueError",
               read(tensor(f32, {int64_t(1) << 62, int64_t(1) << 62}, 0)),
               "does not lie");
  CHECK_RAISES("ValueError", read(tensor(f32, {-1}, 0)),
               "expected a dimension, but got -1");
  CHECK_RAISES("ValueError", read(tensor(0, {1}, 0)), "with a data type");
  CHECK_RAISES("ValueError",
               read(tensor(kDLOpaqueHandle | 64 << 8 | 1 << 16, {1}, 0)),
               "expected a data type");
  CHECK_RAISES("ValueError", read(std::string(1, 99)),
               "expected the kind of a value, but got 99");
  CHECK_RAISES("ValueError", read(std::string("\1\2", 2)),
               "expected a bool, but got 2");
  CHECK_RAISES("ValueError", read(""), "expected 1 bytes");
  // Tuples in tuples without end, and one that says it is huge.
  std::string nested;
  for (int i = 0; i < 1000; ++i)
    nested += std::string("\x09\1\0\0\0\0\0\0\0", 9);
  CHECK_RAISES("ValueError", read(nested), "nested deeper than 64");
  CHECK_RAISES("ValueError",
               read(std::string("\x09\xff\xff\xff\xff\xff\xff\xff\xff", 9)),
               "expected room for");
  ConstantsWriter writer;
  CHECK_RAISES("TypeError",
               writer.write(ffi::Function::FromTyped([](int x) { return x; }),
                            "constant 0"),
               "constant 0: expected a value that can be saved");
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static const char kProgram[] = R"(
constant #0 = tensor float32 [2] 0x0000803f00000040
constant #1 = shape [1, 2]
private function second(a, b) captures 1 { ret %1 }
function main(x) registers 3 heap 1 info "{\"kind\": \"object\"}" {
  site 0 = "argument 'x'", "an integer", "model.py:3"
  $0 = call builtin prim_int(site 0, %0)
  $0 = call builtin add($0, 1)
  %1 = call builtin prim_set_int($0)
  %2 = call builtin tuple_make(site 0, [%1, %0])
  ret %2
}
function constant() { ret #0 }
)";

static std::string writeProgram(const vm::ExecutableParts &parts,
                                const NativeCode &native = {}) {
  std::string bytes;
  writeArtefact(parts, native, {{"exec_mode", "bytecode"}},
                [&](const void *data, size_t size) {
                  bytes.append(static_cast<const char *>(data), size);
                });
  return bytes;
}

static Artefact readProgram(const std::string &bytes) {
  return readArtefact(Image::copy(bytes.data(), bytes.size(), "model"),
                      Verify::All);
}

static void testProgram() {
  vm::ExecutableParts parts = vm::assemble(kProgram, {});
  std::string text = vm::disassemble(parts, 64, nullptr);
  NativeCode native;
  native.triple = "some-machine";
  native.features = "+a,-b";
  native.symbols = {"relax_kernel_k"};
  native.object = "object";
  std::string bytes = writeProgram(parts, native);
  Artefact artefact = readProgram(bytes);
  CHECK(artefact.metadata["exec_mode"] == "bytecode");
  CHECK(artefact.native.triple == "some-machine");
  CHECK(artefact.native.features == "+a,-b");
  CHECK(artefact.native.symbols == native.symbols);
  CHECK(artefact.native.object == "object");
  CHECK(vm::disassemble(artefact.parts, 64, nullptr) == text);
  vm::Executable executable = std::move(artefact).makeExecutable();
  CHECK(writeProgram(executable->getParts(), native) == bytes);
  vm::VirtualMachine machine(executable);
  auto result = machine->getFunction("main")(6).cast<ffi::Array<ffi::Any>>();
  CHECK(result[0].cast<int64_t>() == 7 && result[1].cast<int64_t>() == 6);
  auto constant = machine->getFunction("constant")().cast<ffi::Tensor>();
  CHECK(static_cast<float *>(constant.data_ptr())[1] == 2);
}

static void testDamagedProgram() {
  std::string bytes = writeProgram(vm::assemble(kProgram, {}));
  for (size_t i = 0; i < bytes.size(); i += 3) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1 << (i % 8));
    CHECK_RAISES("ValueError", readProgram(damaged), "model: section '");
    CHECK_RAISES("ValueError", readProgram(bytes.substr(0, i)),
                 "model: section '");
  }
}

// Programs that have all checksums right.
static void testHostileProgram() {
  auto load = [](const std::function<void(vm::ExecutableParts &)> &change) {
    vm::ExecutableParts parts = vm::assemble(kProgram, {});
    change(parts);
    readProgram(writeProgram(parts)).makeExecutable();
  };
  load([](vm::ExecutableParts &) {});
  CHECK_RAISES("ValueError", load([](vm::ExecutableParts &parts) {
                 parts.functions[1].codeEnd = 1 << 20;
               }),
               "section 'functions': expected the index of one of", "words");
  CHECK_RAISES("ValueError", load([](vm::ExecutableParts &parts) {
                 parts.functions[1].codeBegin = parts.functions[1].codeEnd + 1;
               }),
               "section 'functions'");
  CHECK_RAISES("ValueError", load([](vm::ExecutableParts &parts) {
                 parts.functions[1].siteEnd = -1;
               }),
               "section 'functions'", "sites");
  CHECK_RAISES("ValueError", load([](vm::ExecutableParts &parts) {
                 parts.functions[1].numRegisters = -1;
               }),
               "section 'functions'");
  CHECK_RAISES("ValueError", load([](vm::ExecutableParts &parts) {
                 parts.functions[1].numRegisters = INT32_MAX - 1;
               }),
               "section 'code'");
  CHECK_RAISES("ValueError", load([](vm::ExecutableParts &parts) {
                 parts.functions[1].name = std::string("a\0b", 3);
               }),
               "section 'functions': a name holds a zero byte");
  CHECK_RAISES("ValueError", load([](vm::ExecutableParts &parts) {
                 for (int64_t &word : parts.code)
                   word = -1;
               }),
               "section 'code': ");
  CHECK_RAISES("ValueError", load([](vm::ExecutableParts &parts) {
                 parts.functions[2].name = "main";
               }),
               "section 'code': ");
}

// Code of functions and kernels is found, or missed by name.
static void testBind() {
  vm::Executable executable(vm::assemble("constant #0 = int 4\n"
                                         "native function f(x)\n"
                                         "function main(x) {\n"
                                         "  call kernel \"k\"(read %0)\n"
                                         "  ret #0\n"
                                         "}",
                                         {}));
  CHECK_RAISES("ValueError", bindSymbols(executable, {}, nullptr, "model"),
               "model: section 'native': kernel 'k' has no machine code");
  int code = 0;
  const ffi::Any *pool = nullptr;
  CHECK_RAISES(
      "ValueError",
      bindSymbols(executable, {{"relax_kernel_k", &code}}, nullptr, "model"),
      "model: section 'native': function 'f' has no machine code");
  bindSymbols(executable,
              {{"relax_kernel_k", &code},
               {"relax_function_f", &code},
               {"relax_constants", &pool}},
              nullptr, "model");
  CHECK(reinterpret_cast<void *>(executable->getKernel(0)) == &code);
  CHECK(pool && pool->cast<int64_t>() == 4);
}

// A file that is no library will do: only what is appended to it counts.
static void testAppended() {
  std::string name = temporaryName();
  char *path = name.data();
  int file = mkstemp(path);
  CHECK(::write(file, "library", 7) == 7);
  close(file);
  auto find = [&](Verify verify) {
    return findAppended(Image::map(path), verify);
  };
  CHECK_RAISES("ValueError", find(Verify::All), "section 'tail'");
  vm::ExecutableParts parts = vm::assemble(kProgram, {});
  appendArtefact(path, parts, {}, {});
  Artefact artefact = readArtefact(find(Verify::All), Verify::All);
  CHECK(vm::disassemble(artefact.parts, 64, nullptr) ==
        vm::disassemble(parts, 64, nullptr));
  // Another byte of the library is seen; one cut off, too.
  file = open(path, O_RDWR);
  CHECK(pwrite(file, "x", 1, 3) == 1);
  find(Verify::Structure);
  CHECK_RAISES("ValueError", find(Verify::All),
               "section 'library': the checksum is wrong");
  struct stat info;
  CHECK(fstat(file, &info) == 0 && ftruncate(file, info.st_size - 1) == 0);
  CHECK_RAISES("ValueError", find(Verify::Structure),
               "section 'tail': no model is appended");
  close(file);
  CHECK_RAISES("ValueError", loadLibrary(path), path);
  unlink(path);
  CHECK_RAISES("OSError", appendArtefact("/no/such/file.so", parts, {}, {}),
               "cannot be opened");
}

// What is not known counts as there.
static void testProcessor() {
  CHECK(hasFeature("no-such-feature"));
#if defined(__aarch64__)
  CHECK(hasFeature("neon") && hasFeature("fp-armv8"));
  CHECK(!hasFeature("sve2") || hasFeature("sve"));
#elif defined(__x86_64__) && defined(__linux__)
  // What Linux says, which has other names for some.
  std::string flags;
  for (std::ifstream file("/proc/cpuinfo"); std::getline(file, flags);)
    if (flags.rfind("flags", 0) == 0)
      break;
  flags += ' ';
  const std::pair<const char *, const char *> names[] = {
      {"avx2", "avx2"},   {"avx512f", "avx512f"},        {"f16c", "f16c"},
      {"movbe", "movbe"}, {"avx512fp16", "avx512_fp16"}, {"adx", "adx"},
      {"vaes", "vaes"},   {"avxvnni", "avx_vnni"},       {"lzcnt", "abm"}};
  for (auto [feature, flag] : names)
    CHECK(hasFeature(feature) ==
          (flags.find(' ' + std::string(flag) + ' ') != std::string::npos));
#endif
}

int main() {
  testProcessor();
  testProgram();
  testDamagedProgram();
  testHostileProgram();
  testBind();
  testAppended();
  testChecksum();
  testContainer();
  testDamage();
  testLazy();
  testHostile();
  testReader();
  testConstants();
  testMapped();
  testBadConstants();
  std::printf("%d checks, %d failures\n", checks, failures);
  return failures == 0 ? 0 : 1;
}
