//===- ObjectFile.cc - Sections and symbols of ELF --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ObjectFile.h"

#include "Image.h"

#include <ar.h>
#include <cstring>

using namespace relax_runtime;

// The entry at an index of a table; the table need not be aligned.
template <typename Entry>
static Entry readEntry(std::string_view table, size_t index) {
  Entry entry;
  std::memcpy(&entry, table.data() + index * sizeof(Entry), sizeof(Entry));
  return entry;
}

template <typename Entry>
static std::vector<Entry> readTable(std::string_view table) {
  std::vector<Entry> entries(table.size() / sizeof(Entry));
  if (!entries.empty())
    std::memcpy(entries.data(), table.data(), entries.size() * sizeof(Entry));
  return entries;
}

ObjectFile::ObjectFile(std::string_view bytes, uint16_t machine,
                       std::string source)
    : bytes(bytes), source(std::move(source)) {
  readHeader(machine);
  readSections();
  readSymbols();
}

void ObjectFile::raise(const std::string &text) const {
  raiseInSource(source, "section 'object': " + text);
}

std::string_view ObjectFile::slice(uint64_t offset, uint64_t size) const {
  if (offset > bytes.size() || size > bytes.size() - offset)
    raise("expected " + std::to_string(size) + " bytes at " +
          std::to_string(offset) + ", but the object file ends at " +
          std::to_string(bytes.size()));
  return bytes.substr(offset, size);
}

// A text of a section of strings, which end with a zero.
std::string_view ObjectFile::text(const Section &strings,
                                  uint64_t offset) const {
  size_t end = offset < strings.content.size()
                   ? strings.content.find('\0', offset)
                   : std::string_view::npos;
  if (end == std::string_view::npos)
    raise("expected a name at " + std::to_string(offset) +
          " of the section of names");
  return strings.content.substr(offset, end - offset);
}

void ObjectFile::readHeader(uint16_t machine) {
  header = readEntry<Elf64_Ehdr>(slice(0, sizeof(Elf64_Ehdr)), 0);
  const unsigned char *ident = header.e_ident;
  if (std::memcmp(ident, ELFMAG, SELFMAG) != 0 ||
      ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB ||
      header.e_type != ET_REL)
    raise("expected an object file of ELF, of 64 bits and little-endian");
  if (header.e_machine != machine)
    raise("expected an object file for processors of the number " +
          std::to_string(machine) + " in ELF, but got one for " +
          std::to_string(header.e_machine));
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0 ||
      header.e_shstrndx >= header.e_shnum)
    raise("expected a table of sections");
}

void ObjectFile::readSections() {
  std::string_view table =
      slice(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr &entry : readTable<Elf64_Shdr>(table)) {
    bool hasBytes = entry.sh_type != SHT_NOBITS && entry.sh_type != SHT_NULL;
    sectionTable.push_back(
        {entry, {}, hasBytes ? slice(entry.sh_offset, entry.sh_size) : ""});
  }
  for (Section &section : sectionTable) {
    section.name =
        text(sectionTable[header.e_shstrndx], section.header.sh_name);
    if (section.isLoaded())
      checkSection(section);
  }
}

// Whether it is enough to copy a section and to relocate it.
void ObjectFile::checkSection(const Section &section) const {
  uint64_t alignment = section.header.sh_addralign;
  if (alignment & (alignment - 1))
    raise("section " + std::string(section.name) +
          ": expected an alignment that is a power of two, but got " +
          std::to_string(alignment));
  switch (section.header.sh_type) {
  case SHT_PROGBITS:
  case SHT_NOBITS:
  case SHT_NOTE:
  case SHT_X86_64_UNWIND:
    if (!(section.header.sh_flags & SHF_TLS))
      return;
  }
  raise("section " + std::string(section.name) +
        ": its kind needs a linker; export a library instead");
}

void ObjectFile::readSymbols() {
  for (const Section &section : sectionTable) {
    if (section.header.sh_type != SHT_SYMTAB)
      continue;
    if (section.header.sh_link >= sectionTable.size() || !symbolTable.empty())
      raise("expected one table of symbols, with names");
    const Section &names = sectionTable[section.header.sh_link];
    for (const Elf64_Sym &entry : readTable<Elf64_Sym>(section.content)) {
      Symbol symbol{entry, text(names, entry.st_name)};
      checkSymbol(symbol);
      symbolTable.push_back(symbol);
    }
  }
}

void ObjectFile::checkSymbol(const Symbol &symbol) const {
  unsigned type = ELF64_ST_TYPE(symbol.entry.st_info);
  uint16_t index = symbol.entry.st_shndx;
  bool isInSection =
      index < sectionTable.size() &&
      symbol.entry.st_value <= sectionTable[index].header.sh_size;
  bool isKnown = isInSection || !symbol.isDefined() || index == SHN_ABS;
  if (!isKnown || type == STT_TLS || type == STT_GNU_IFUNC ||
      type == STT_COMMON)
    raise("symbol '" + std::string(symbol.name) +
          "': expected code or data of a section");
}

std::vector<Elf64_Rela> ObjectFile::relocations(const Section &section) const {
  if (section.header.sh_info >= sectionTable.size())
    raise("section " + std::string(section.name) +
          ": expected relocations of a section");
  auto entries = readTable<Elf64_Rela>(section.content);
  for (const Elf64_Rela &entry : entries)
    if (ELF64_R_SYM(entry.r_info) >= symbolTable.size())
      raise("section " + std::string(section.name) +
            ": expected a symbol below " + std::to_string(symbolTable.size()) +
            ", but got " + std::to_string(ELF64_R_SYM(entry.r_info)));
  return entries;
}

//===----------------------------------------------------------------------===//
// Archives
//===----------------------------------------------------------------------===//

// The size of a member, written in decimal digits and blanks.
static size_t readSize(const ar_hdr &member, const std::string &source) {
  size_t size = 0;
  for (char digit : std::string_view(member.ar_size, sizeof(member.ar_size))) {
    if (digit == ' ')
      break;
    if (digit < '0' || digit > '9')
      raiseInSource(source, "section 'object': expected the size of a member "
                            "of the archive");
    size = 10 * size + static_cast<size_t>(digit - '0');
  }
  return size;
}

std::vector<std::string_view>
relax_runtime::splitArchive(std::string_view bytes, const std::string &source) {
  if (bytes.substr(0, SARMAG) != ARMAG)
    return {bytes};
  std::vector<std::string_view> members;
  // Members begin at even places.
  for (size_t at = SARMAG; at < bytes.size(); at += at & 1) {
    if (bytes.size() - at < sizeof(ar_hdr))
      raiseInSource(source, "section 'object': the archive ends in the head of "
                            "a member");
    auto member = readEntry<ar_hdr>(bytes.substr(at), 0);
    at += sizeof(ar_hdr);
    size_t size = readSize(member, source);
    if (size > bytes.size() - at)
      raiseInSource(source, "section 'object': expected a member of " +
                                std::to_string(size) +
                                " bytes, but the archive ends before");
    // "/" is an index of symbols, "//" holds long names.
    bool isTable = member.ar_name[0] == '/' &&
                   (member.ar_name[1] == ' ' || member.ar_name[1] == '/');
    if (!isTable)
      members.push_back(bytes.substr(at, size));
    at += size;
  }
  return members;
}
