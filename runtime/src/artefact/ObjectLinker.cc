//===- ObjectLinker.cc - Object files in this process -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a static linker and a dynamic one do for a library: sections are laid
// out in one range of memory by what may be done with them (run, read, write),
// symbols are found, and relocations are applied. As everything of the objects
// lies within 2 GiB, only what this process defines may be far away: functions
// are reached through stubs, and their addresses lie in a table (the GOT).
//
// Rationale: object files are those of this project's compiler, so only the
// relocations and kinds of sections are here that LLVM emits for
// position-independent code without thread-local data, constructors, and common
// symbols. Anything else is an error in words. export_library needs none of it.
//
//===----------------------------------------------------------------------===//

#include "ObjectLinker.h"

#include "../Internal.h"

#include "Image.h"
#include "ObjectFile.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <limits>
#include <sys/mman.h>
#include <tvm/ffi/error.h>
#include <unistd.h>

using namespace relax_runtime;

// Of the unwinder that the C++ runtime brings.
extern "C" void __register_frame(void *table);
extern "C" void __deregister_frame(void *table);

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#else
constexpr uint16_t kMachine = EM_NONE;
#endif

// Relative addresses have 32 bits with a sign.
constexpr uint64_t kLargest = std::numeric_limits<int32_t>::max();
// jmp *slot(%rip), and two bytes that are never run.
constexpr size_t kStubSize = 8;
constexpr size_t kSlotSize = sizeof(void *);
// Ends a table of frames.
constexpr size_t kFrameEnd = sizeof(uint32_t);

static uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return alignment <= 1 ? value : (value + alignment - 1) & ~(alignment - 1);
}

// The address of a symbol of this process. The runtime may have been loaded for
// one library only, so its symbols and those it needs come first.
static uint8_t *findInProcess(const std::string &name) {
  static void *const own = [] {
    Dl_info info;
    return dladdr(reinterpret_cast<void *>(&findInProcess), &info)
               ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD)
               : nullptr;
  }();
  void *address = own ? dlsym(own, name.c_str()) : nullptr;
  if (!address)
    address = dlsym(RTLD_DEFAULT, name.c_str());
  return static_cast<uint8_t *>(address);
}

namespace relax_runtime {
// Links objects once.
class ObjectLinker {
public:
  ObjectLinker(LinkedCodeObj &linked, const std::string &source)
      : memory(linked.memory), symbols(linked.symbols), source(source) {}

  void link(std::string_view bytes);

private:
  // Sections with the same rights in memory.
  enum Segment { Code, ReadOnly, Writable, kNumSegments };

  struct Object {
    ObjectFile file;
    // Of each section, from the begin of its segment; then its address, which
    // is NULL where it is not loaded.
    std::vector<uint64_t> offsets;
    std::vector<uint8_t *> addresses;
  };

  void readObjects(std::string_view bytes);
  void layOut();
  void placeSection(Object &object, size_t index);
  uint64_t reserve(Segment segment, uint64_t size, uint64_t alignment);
  void allocate();
  void copySections(Object &object);
  void defineSymbols(const Object &object);
  uint8_t *getAddress(const Object &object, const ObjectFile::Symbol &symbol);
  uint8_t *getSlot(const std::string &name, uint8_t *target);
  uint8_t *getStub(const std::string &name, uint8_t *target);
  void relocate(const Object &object, const ObjectFile::Section &relocations);
  void apply(const Object &object, const Elf64_Rela &relocation, uint8_t *place,
             uint64_t room);
  void protect();
  void registerFrames();

  static Segment getSegment(const ObjectFile::Section &section);
  [[noreturn]] void raise(const std::string &text) const {
    raiseInSource(source, "section 'object': " + text);
  }

  LinkedCodeObj::Memory &memory;
  std::map<std::string, uint8_t *, std::less<>> &symbols;
  const std::string &source;

  std::deque<Object> objects;
  uint64_t sizes[kNumSegments] = {};
  uint8_t *segments[kNumSegments] = {};
  // Stubs and slots are made where a relocation first needs them, in the room
  // for one of each name.
  uint64_t stubsOffset = 0, slotsOffset = 0;
  std::map<std::string, uint8_t *> stubs, slots;
  // Symbols of this process.
  std::map<std::string, uint8_t *> found;
  std::vector<uint8_t *> frameTables;
};
} // namespace relax_runtime

ObjectLinker::Segment
ObjectLinker::getSegment(const ObjectFile::Section &section) {
  if (section.header.sh_flags & SHF_EXECINSTR)
    return Code;
  return section.header.sh_flags & SHF_WRITE ? Writable : ReadOnly;
}

void ObjectLinker::link(std::string_view bytes) {
  if (kMachine == EM_NONE)
    raise("code of files is linked on x86-64 only: export a library instead");
  readObjects(bytes);
  layOut();
  allocate();
  for (Object &object : objects) {
    copySections(object);
    defineSymbols(object);
  }
  for (const Object &object : objects)
    for (const ObjectFile::Section &section : object.file.sections())
      if (section.header.sh_type == SHT_RELA)
        relocate(object, section);
  protect();
  registerFrames();
}

void ObjectLinker::readObjects(std::string_view bytes) {
  for (std::string_view each : splitArchive(bytes, source))
    objects.push_back({ObjectFile(each, kMachine, source), {}, {}});
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

uint64_t ObjectLinker::reserve(Segment segment, uint64_t size,
                               uint64_t alignment) {
  uint64_t offset = alignTo(sizes[segment], alignment);
  if (size > kLargest || offset > kLargest - size)
    raise("expected code and data of less than 2 GiB");
  sizes[segment] = offset + size;
  return offset;
}

void ObjectLinker::placeSection(Object &object, size_t index) {
  const ObjectFile::Section &section = object.file.sections()[index];
  uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (section.header.sh_addralign > page)
    raise("section " + std::string(section.name) +
          ": expected an alignment of at most a page, " + std::to_string(page) +
          ", but got " + std::to_string(section.header.sh_addralign));
  bool isFrameTable = section.name == ".eh_frame";
  object.offsets[index] =
      reserve(getSegment(section),
              section.header.sh_size + (isFrameTable ? kFrameEnd : 0),
              section.header.sh_addralign);
}

void ObjectLinker::layOut() {
  uint64_t numNames = 0;
  for (Object &object : objects) {
    const std::vector<ObjectFile::Section> &sections = object.file.sections();
    object.offsets.resize(sections.size());
    object.addresses.resize(sections.size());
    for (size_t i = 0; i < sections.size(); ++i)
      if (sections[i].isLoaded())
        placeSection(object, i);
    numNames += object.file.symbols().size();
  }
  stubsOffset = reserve(Code, numNames * kStubSize, kStubSize);
  slotsOffset = reserve(ReadOnly, numNames * kSlotSize, kSlotSize);
}

// All segments are writable until relocations are applied.
void ObjectLinker::allocate() {
  uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), total = 0;
  uint64_t offsets[kNumSegments];
  for (int i = 0; i < kNumSegments; ++i) {
    offsets[i] = total;
    total += std::max(page, alignTo(sizes[i], page));
  }
  if (total > kLargest)
    raise("expected code and data of less than 2 GiB");
  void *begin = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED)
    RELAX_THROW(MemoryError)
        << source << ": there are no " << total << " bytes for machine code";
  memory.begin = static_cast<uint8_t *>(begin);
  memory.size = total;
  for (int i = 0; i < kNumSegments; ++i)
    segments[i] = memory.begin + offsets[i];
}

void ObjectLinker::copySections(Object &object) {
  const std::vector<ObjectFile::Section> &sections = object.file.sections();
  for (size_t i = 0; i < sections.size(); ++i) {
    if (!sections[i].isLoaded())
      continue;
    object.addresses[i] = segments[getSegment(sections[i])] + object.offsets[i];
    std::string_view content = sections[i].content;
    if (!content.empty())
      std::memcpy(object.addresses[i], content.data(), content.size());
    if (sections[i].name == ".eh_frame" && !content.empty())
      frameTables.push_back(object.addresses[i]);
  }
}

void ObjectLinker::protect() {
  constexpr int kRights[] = {PROT_READ | PROT_EXEC, PROT_READ,
                             PROT_READ | PROT_WRITE};
  for (int i = 0; i < kNumSegments; ++i)
    if (sizes[i] != 0 && mprotect(segments[i], sizes[i], kRights[i]) != 0)
      raiseSystem(source, "its code cannot be made executable");
}

void ObjectLinker::registerFrames() {
  for (uint8_t *table : frameTables) {
    memory.frameTables.push_back(table);
    __register_frame(table);
  }
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

void ObjectLinker::defineSymbols(const Object &object) {
  for (const ObjectFile::Symbol &symbol : object.file.symbols()) {
    uint16_t index = symbol.entry.st_shndx;
    if (symbol.isLocal() || !symbol.isDefined() || index == SHN_ABS ||
        !object.addresses[index])
      continue;
    uint8_t *address = object.addresses[index] + symbol.entry.st_value;
    bool isNew = symbols.try_emplace(std::string(symbol.name), address).second;
    // Of weak ones any will do.
    if (!isNew && !symbol.isWeak())
      raise("symbol '" + std::string(symbol.name) + "' is defined twice");
  }
}

// Of a symbol that an object names. What is not defined is looked for in the
// other objects, then in the process.
uint8_t *ObjectLinker::getAddress(const Object &object,
                                  const ObjectFile::Symbol &symbol) {
  uint16_t index = symbol.entry.st_shndx;
  if (index == SHN_ABS)
    return reinterpret_cast<uint8_t *>(symbol.entry.st_value);
  std::string name(symbol.name);
  if (symbol.isDefined() && (symbol.isLocal() || !symbols.count(name))) {
    if (!object.addresses[index])
      raise("symbol '" + name + "': expected code or data that is loaded");
    return object.addresses[index] + symbol.entry.st_value;
  }
  if (auto own = symbols.find(name); own != symbols.end())
    return own->second;
  auto [known, isNew] = found.try_emplace(name, nullptr);
  if (isNew)
    known->second = findInProcess(name);
  if (!known->second && !symbol.isWeak())
    raise("symbol '" + name +
          "': neither the code nor this process defines it");
  return known->second;
}

// The place in the GOT that holds an address.
uint8_t *ObjectLinker::getSlot(const std::string &name, uint8_t *target) {
  uint8_t *next = segments[ReadOnly] + slotsOffset + slots.size() * kSlotSize;
  auto [slot, isNew] = slots.try_emplace(name, next);
  if (isNew)
    std::memcpy(next, &target, kSlotSize);
  return slot->second;
}

// Code near by that jumps to an address.
uint8_t *ObjectLinker::getStub(const std::string &name, uint8_t *target) {
  uint8_t *next = segments[Code] + stubsOffset + stubs.size() * kStubSize;
  auto [stub, isNew] = stubs.try_emplace(name, next);
  if (isNew) {
    constexpr uint8_t kJump[] = {0xff, 0x25};
    uint8_t *end = next + sizeof(kJump) + sizeof(int32_t);
    auto distance = static_cast<int32_t>(getSlot(name, target) - end);
    std::memcpy(next, kJump, sizeof(kJump));
    std::memcpy(next + sizeof(kJump), &distance, sizeof(distance));
  }
  return stub->second;
}

//===----------------------------------------------------------------------===//
// Relocations
//===----------------------------------------------------------------------===//

void ObjectLinker::relocate(const Object &object,
                            const ObjectFile::Section &section) {
  std::vector<Elf64_Rela> relocations = object.file.relocations(section);
  size_t index = section.header.sh_info;
  uint8_t *begin = object.addresses[index];
  if (!begin) // of what debuggers read
    return;
  uint64_t size = object.file.sections()[index].header.sh_size;
  for (const Elf64_Rela &relocation : relocations) {
    if (relocation.r_offset > size)
      raise("expected relocations within a section of " + std::to_string(size) +
            " bytes, but got one at " + std::to_string(relocation.r_offset));
    apply(object, relocation, begin + relocation.r_offset,
          size - relocation.r_offset);
  }
}

// Writes an address, absolute or relative, at a place with so much room.
void ObjectLinker::apply(const Object &object, const Elf64_Rela &relocation,
                         uint8_t *place, uint64_t room) {
  uint64_t type = ELF64_R_TYPE(relocation.r_info);
  const ObjectFile::Symbol &symbol =
      object.file.symbols()[ELF64_R_SYM(relocation.r_info)];
  std::string name(symbol.name);
  uint8_t *target = getAddress(object, symbol);
  switch (type) {
  case R_X86_64_PLT32:
    if (found.count(name))
      target = getStub(name, target);
    break;
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
    // Local symbols of several objects may have the same name.
    if (symbol.isLocal())
      raise("expected no address of the local symbol '" + name +
            "' in a table");
    target = getSlot(name, target);
    break;
  case R_X86_64_64:
  case R_X86_64_PC32:
  case R_X86_64_PC64:
    break;
  default:
    raise("expected relocations that LLVM emits for position-independent "
          "code, but got one of the kind " +
          std::to_string(type) + ": export a library instead");
  }
  bool isWide = type == R_X86_64_64 || type == R_X86_64_PC64;
  size_t width = isWide ? sizeof(uint64_t) : sizeof(uint32_t);
  if (room < width)
    raise("expected relocations within a section");
  uint64_t value = reinterpret_cast<uint64_t>(target) +
                   static_cast<uint64_t>(relocation.r_addend);
  if (type != R_X86_64_64)
    value -= reinterpret_cast<uint64_t>(place);
  auto distance = static_cast<int64_t>(value);
  if (!isWide && distance != static_cast<int32_t>(distance))
    raise("symbol '" + name + "' is too far away for 32 bits");
  std::memcpy(place, &value, width);
}

//===----------------------------------------------------------------------===//
// LinkedCodeObj
//===----------------------------------------------------------------------===//

LinkedCodeObj::LinkedCodeObj(std::string_view bytes,
                             const std::string &source) {
  ObjectLinker(*this, source).link(bytes);
}

LinkedCodeObj::~LinkedCodeObj() = default;

LinkedCodeObj::Memory::~Memory() {
  for (uint8_t *table : frameTables)
    __deregister_frame(table);
  if (begin)
    munmap(begin, size);
}

void *LinkedCodeObj::lookUp(const std::string &symbol) const {
  auto known = symbols.find(symbol);
  return known == symbols.end() ? nullptr : known->second;
}
