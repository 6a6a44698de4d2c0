//===- Driver.cc - Fuzzing without libFuzzer --------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For compilers without libFuzzer, with the options of it that are used here:
//
//   target [-max_total_time=SECONDS] [-runs=N] [-seed=N] CORPUS...
//
// Mutates the files of the folders; a file is run as it is. It does not see
// which code an input reaches, so it finds less than libFuzzer.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// There with a sanitizer only.
extern "C" __attribute__((weak)) void
__sanitizer_set_death_callback(void (*callback)());

static std::vector<std::string> inputs;
static std::string current;

static void run(const std::string &bytes) {
  // A copy without room after it, so that a read beyond the end is seen.
  std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

static std::string read(const std::filesystem::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// One change somewhere.
static void mutate(std::string &bytes, std::mt19937_64 &random) {
  auto below = [&](size_t limit) {
    return limit == 0 ? 0 : static_cast<size_t>(random() % limit);
  };
  static const uint64_t kNumbers[] = {
      0,       1,          2,          0x7f,           0x80,
      0xff,    0x7fff,     0xffff,     0x7fffffff,     0x80000000,
      1 << 20, 0xffffffff, UINT64_MAX, UINT64_MAX / 2, UINT64_MAX / 2 + 1};
  size_t place = below(bytes.size());
  switch (random() % 7) {
  case 0: // flip a bit
    if (!bytes.empty())
      bytes[place] = static_cast<char>(bytes[place] ^ 1 << below(8));
    break;
  case 1: // set a byte
    if (!bytes.empty())
      bytes[place] = static_cast<char>(random());
    break;
  case 2: { // write a number that is special
    uint64_t number = kNumbers[below(std::size(kNumbers))] + below(3) - 1;
    size_t width = size_t(1) << below(4);
    if (bytes.size() >= width)
      std::memcpy(&bytes[below(bytes.size() - width + 1)], &number, width);
    break;
  }
  case 3: // cut off the end
    bytes.resize(below(bytes.size() + 1));
    break;
  case 4: // take a piece away
    bytes.erase(place, below(32));
    break;
  case 5: { // repeat a piece
    std::string piece = bytes.substr(place, below(32));
    bytes.insert(below(bytes.size() + 1), piece);
    break;
  }
  case 6: { // take a piece from another input
    const std::string &other = inputs[below(inputs.size())];
    std::string piece = other.substr(below(other.size()), below(64));
    size_t room = bytes.size() < place ? 0 : bytes.size() - place;
    bytes.replace(place, std::min(room, piece.size()), piece);
    break;
  }
  }
}

// Keeps the input that ends the process.
static void saveCurrent() {
  std::ofstream("crash-input", std::ios::binary) << current;
}

int main(int argc, char **argv) {
  double seconds = 10;
  uint64_t runs = UINT64_MAX, seed = 1;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    auto value = [&](const char *name, auto &target) {
      if (argument.rfind(name, 0) != 0)
        return false;
      std::string text = argument.substr(std::strlen(name));
      target = static_cast<std::decay_t<decltype(target)>>(
          std::strtod(text.c_str(), nullptr));
      return true;
    };
    if (value("-max_total_time=", seconds) || value("-runs=", runs) ||
        value("-seed=", seed) || argument[0] == '-')
      continue;
    if (!std::filesystem::is_directory(argument)) {
      run(read(argument));
      continue;
    }
    for (const auto &entry : std::filesystem::directory_iterator(argument))
      inputs.push_back(read(entry.path()));
  }
  if (inputs.empty())
    return 0;
  if (__sanitizer_set_death_callback)
    __sanitizer_set_death_callback(saveCurrent);
  std::signal(SIGABRT, [](int) { saveCurrent(); });
  std::mt19937_64 random(seed);
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  uint64_t count = 0;
  for (const std::string &input : inputs)
    run(input);
  for (; count < runs && elapsed() < seconds; ++count) {
    current = inputs[random() % inputs.size()];
    for (uint64_t changes = 1 + random() % 4; changes != 0; --changes)
      mutate(current, random);
    run(current);
  }
  current.clear();
  std::printf("%llu inputs in %.1f s\n", static_cast<unsigned long long>(count),
              elapsed());
  std::fflush(stdout);
  std::_Exit(0);
}
