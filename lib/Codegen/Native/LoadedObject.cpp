//===- LoadedObject.cpp - Objects in this process ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Links object files with LLVM's JIT linker. The bytes may come from an
// untrusted file: invalid ones result in an error message.
//
// The parts of a module refer to each other by offsets of 32 bits, so memory
// for all of them is reserved at once: the linker asks for it part by part, and
// the system may answer with addresses that are further apart.
//
//===----------------------------------------------------------------------===//

#include "JITEvents.h"
#include "TargetMachine.h"

#include "llvm/BinaryFormat/Magic.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/MemoryMapper.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace mlir::relax;

struct LoadedObject::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

LoadedObject::LoadedObject(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}
LoadedObject::~LoadedObject() = default;

/// Whether the object is for the machine that this process runs on.
static llvm::Error checkMachine(llvm::MemoryBufferRef buffer) {
  auto object = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!object)
    return object.takeError();
  llvm::Triple host(llvm::sys::getProcessTriple());
  if ((*object)->isRelocatableObject() &&
      (*object)->getArch() == host.getArch())
    return llvm::Error::success();
  return llvm::createStringError(
      "expected an object file for " + host.getArchName() +
      ", but got one for " +
      llvm::Triple::getArchTypeName((*object)->getArch()));
}

/// Copies of the object file, or of all of an archive of them, for this
/// machine. A member of an archive is not aligned as an object must be.
static llvm::Error
copyObjects(StringRef bytes,
            SmallVectorImpl<std::unique_ptr<llvm::MemoryBuffer>> &objects) {
  auto add = [&](StringRef object) {
    objects.push_back(llvm::MemoryBuffer::getMemBufferCopy(object, "relax"));
    return checkMachine(objects.back()->getMemBufferRef());
  };
  if (llvm::identify_magic(bytes) != llvm::file_magic::archive)
    return add(bytes);
  auto archive = llvm::object::Archive::create({bytes, "relax"});
  if (!archive)
    return archive.takeError();
  llvm::Error failed = llvm::Error::success();
  for (const auto &member : (*archive)->children(failed)) {
    auto content = member.getBuffer();
    if (!content)
      return llvm::joinErrors(std::move(failed), content.takeError());
    // LLVM takes the size that the member states.
    if (content->end() > bytes.end())
      return llvm::joinErrors(
          std::move(failed),
          llvm::createStringError("expected a member of " +
                                  Twine(content->size()) +
                                  " bytes, but the archive ends before"));
    if (llvm::Error error = add(*content))
      return llvm::joinErrors(std::move(failed), std::move(error));
  }
  return failed;
}

/// Returns at least the memory that a file takes when it is linked: the linker
/// adds entries for symbols of other files, and pages of each protection.
static llvm::Expected<uint64_t> getLinkedSize(llvm::MemoryBufferRef buffer,
                                              uint64_t pageSize) {
  auto object = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!object)
    return object.takeError();
  constexpr uint64_t kEntries = 64, kProtections = 8;
  uint64_t size = kProtections * pageSize;
  for (const llvm::object::SectionRef &section : (*object)->sections())
    size += section.getSize() + pageSize; // the file may state no alignment
  for ([[maybe_unused]] const auto &symbol : (*object)->symbols())
    size += kEntries;
  return llvm::alignTo(size, pageSize);
}

static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
createJIT(ArrayRef<std::unique_ptr<llvm::MemoryBuffer>> objects) {
  auto pageSize = llvm::sys::Process::getPageSize();
  if (!pageSize)
    return pageSize.takeError();
  uint64_t total = 0;
  for (const std::unique_ptr<llvm::MemoryBuffer> &object : objects) {
    auto size = getLinkedSize(object->getMemBufferRef(), *pageSize);
    if (!size)
      return size.takeError();
    total += *size;
  }
  auto memory = llvm::orc::MapperJITLinkMemoryManager::CreateWithMapper<
      llvm::orc::InProcessMemoryMapper>(total);
  if (!memory)
    return memory.takeError();
  auto process = llvm::orc::SelfExecutorProcessControl::Create(
      /*SSP=*/nullptr, /*D=*/nullptr, std::move(*memory));
  if (!process)
    return process.takeError();
  return llvm::orc::LLJITBuilder()
      .setExecutorProcessControl(std::move(*process))
      .create();
}

static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
loadObject(StringRef bytes, ArrayRef<std::string> libraries) {
  initializeNativeTarget();
  SmallVector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  if (llvm::Error error = copyObjects(bytes, objects))
    return error;
  auto jit = createJIT(objects);
  if (!jit)
    return jit.takeError();
  if (llvm::Error error = addJITEvents(**jit))
    return error;
  llvm::orc::JITDylib &dylib = (*jit)->getMainJITDylib();
  char prefix = (*jit)->getDataLayout().getGlobalPrefix();
  for (const std::string &path : libraries) {
    auto symbols =
        llvm::orc::DynamicLibrarySearchGenerator::Load(path.c_str(), prefix);
    if (!symbols)
      return symbols.takeError();
    dylib.addGenerator(std::move(*symbols));
  }
  auto symbols =
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(prefix);
  if (!symbols)
    return symbols.takeError();
  dylib.addGenerator(std::move(*symbols));
  for (std::unique_ptr<llvm::MemoryBuffer> &object : objects)
    if (llvm::Error error = (*jit)->addObjectFile(std::move(object)))
      return error;
  return jit;
}

std::unique_ptr<LoadedObject>
LoadedObject::load(StringRef bytes, ArrayRef<std::string> libraries,
                   std::string &error) {
  auto jit = loadObject(bytes, libraries);
  if (!jit) {
    error = llvm::toString(jit.takeError());
    return nullptr;
  }
  auto impl = std::make_unique<Impl>();
  impl->jit = std::move(*jit);
  return std::unique_ptr<LoadedObject>(new LoadedObject(std::move(impl)));
}

void *LoadedObject::lookUp(StringRef symbol) {
  auto address = impl->jit->lookup(symbol);
  if (!address) {
    llvm::consumeError(address.takeError());
    return nullptr;
  }
  return address->toPtr<void *>();
}
