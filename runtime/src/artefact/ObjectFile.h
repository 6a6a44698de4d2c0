//===- ObjectFile.h - Sections and symbols of ELF ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A relocatable ELF object of 64 bits, little-endian. Whatever the bytes say,
// nothing outside of them is read.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_ARTEFACT_OBJECTFILE_H
#define RELAX_RUNTIME_ARTEFACT_OBJECTFILE_H

#include <elf.h>
#include <string>
#include <string_view>
#include <vector>

namespace relax_runtime {

class ObjectFile {
public:
  // Raises ValueError for anything that is not an object of `machine`, one of
  // the numbers EM_*. `source` is what errors call the file.
  ObjectFile(std::string_view bytes, uint16_t machine, std::string source);

  struct Section {
    Elf64_Shdr header;
    std::string_view name;
    // Empty where the file holds no bytes of it.
    std::string_view content;

    bool isLoaded() const { return header.sh_flags & SHF_ALLOC; }
  };

  struct Symbol {
    Elf64_Sym entry;
    std::string_view name;

    bool isLocal() const { return ELF64_ST_BIND(entry.st_info) == STB_LOCAL; }
    bool isWeak() const { return ELF64_ST_BIND(entry.st_info) == STB_WEAK; }
    bool isDefined() const { return entry.st_shndx != SHN_UNDEF; }
  };

  const std::vector<Section> &sections() const { return sectionTable; }
  const std::vector<Symbol> &symbols() const { return symbolTable; }
  // The relocations in a section of the type SHT_RELA.
  std::vector<Elf64_Rela> relocations(const Section &section) const;

  [[noreturn]] void raise(const std::string &text) const;

private:
  std::string_view slice(uint64_t offset, uint64_t size) const;
  std::string_view text(const Section &strings, uint64_t offset) const;
  void readHeader(uint16_t machine);
  void readSections();
  void readSymbols();
  void checkSection(const Section &section) const;
  void checkSymbol(const Symbol &symbol) const;

  std::string_view bytes;
  const std::string source;
  Elf64_Ehdr header;
  std::vector<Section> sectionTable;
  std::vector<Symbol> symbolTable;
};

// The objects in an archive, or the only one where it is none. Raises
// ValueError for an archive that makes no sense.
std::vector<std::string_view> splitArchive(std::string_view bytes,
                                           const std::string &source);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_ARTEFACT_OBJECTFILE_H
