# Finds MLIR 22, from -DMLIR_DIR or from the wheels of the Python environment,
# and says how to link against it.

set(RELAX_MLIR_VERSION 22)
set(RELAX_PIP_HINT
    "pip install -r requirements/build.txt (or give -DMLIR_DIR=<prefix>/lib/cmake/mlir)"
)

set(components Interpreter)
if(RELAX_MLIR_PYTHON)
    list(APPEND components Development.Module)
endif()
find_package(Python3 3.10 COMPONENTS ${components} REQUIRED)

# Sets `variable` to what the Python expression `code` prints; empty on failure.
function(relax_python variable code)
    execute_process(
        COMMAND ${Python3_EXECUTABLE} -c "${code}"
        OUTPUT_VARIABLE output
        OUTPUT_STRIP_TRAILING_WHITESPACE
        ERROR_QUIET
        RESULT_VARIABLE result
    )
    if(NOT result EQUAL 0)
        set(output "")
    endif()
    set(${variable} ${output} PARENT_SCOPE)
endfunction()

# Where the wheels are: the folder of the package `mlir`, which several wheels
# share, and the version of the one with the development files.
relax_python(
  RELAX_WHEEL_MLIR
  "import importlib.util as u; print(list(u.find_spec('mlir').submodule_search_locations)[0])"
)
relax_python(
  RELAX_WHEEL_VERSION
  "import importlib.metadata as m; print(m.version('xtc-mlir-dev'))"
)

if(NOT MLIR_DIR AND RELAX_WHEEL_MLIR)
    if(NOT RELAX_WHEEL_VERSION)
        message(
            FATAL_ERROR
            "The development files of MLIR ${RELAX_MLIR_VERSION} are missing: ${RELAX_PIP_HINT}"
        )
    endif()
    if(NOT RELAX_WHEEL_VERSION MATCHES "^${RELAX_MLIR_VERSION}\\.")
        message(
            FATAL_ERROR
            "xtc-mlir-dev is ${RELAX_WHEEL_VERSION}, but ${RELAX_MLIR_VERSION}.* is needed: ${RELAX_PIP_HINT}"
        )
    endif()
    get_filename_component(RELAX_SITE_PACKAGES ${RELAX_WHEEL_MLIR} DIRECTORY)
    set(MLIR_DIR ${RELAX_SITE_PACKAGES}/mlir/lib/cmake/mlir)
    set(LLVM_DIR ${RELAX_SITE_PACKAGES}/llvm/lib/cmake/llvm)
endif()

find_package(MLIR CONFIG)
if(NOT MLIR_FOUND)
    message(
        FATAL_ERROR
        "MLIR ${RELAX_MLIR_VERSION} was not found: ${RELAX_PIP_HINT}"
    )
endif()
if(NOT LLVM_VERSION_MAJOR EQUAL RELAX_MLIR_VERSION)
    message(
        FATAL_ERROR
        "MLIR ${LLVM_VERSION_MAJOR} was found, but ${RELAX_MLIR_VERSION} is needed: ${RELAX_PIP_HINT}"
    )
endif()
message(STATUS "Using MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# Prints the records of TableGen files, which the scripts that write code read.
find_program(
    RELAX_LLVM_TBLGEN
    llvm-tblgen
    HINTS ${LLVM_TOOLS_BINARY_DIR}
    REQUIRED
)
list(
    TRANSFORM MLIR_INCLUDE_DIRS
    PREPEND -I
    OUTPUT_VARIABLE RELAX_TBLGEN_INCLUDES
)

# What our objects are compiled with: MLIR's own flags, as the ABI wants.
separate_arguments(RELAX_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_library(relax_mlir_flags INTERFACE)
target_compile_definitions(relax_mlir_flags INTERFACE ${RELAX_LLVM_DEFINITIONS})
target_include_directories(
    relax_mlir_flags
    SYSTEM
    INTERFACE
        $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
        $<BUILD_INTERFACE:${MLIR_INCLUDE_DIRS}>
        $<BUILD_INTERFACE:${LLVM_INCLUDE_DIRS}>
)
target_include_directories(
    relax_mlir_flags
    INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${RELAX_MLIR_INSTALL_DIR}/include>
)
target_compile_options(
    relax_mlir_flags
    INTERFACE
        -fno-rtti
        -fno-exceptions
        -fvisibility-inlines-hidden
        $<BUILD_INTERFACE:-Wall>
        $<BUILD_INTERFACE:-Wextra>
        # More takes a tenth longer to build, and gains the compiler nothing.
        $<BUILD_INTERFACE:$<$<CONFIG:Release>:-O2>>
        $<$<BOOL:${LLVM_ENABLE_ASSERTIONS}>:-UNDEBUG>
)

# The libraries of MLIR that an executable links: the shared ones where the
# distribution has them.
if(TARGET MLIR AND TARGET LLVM)
    set(RELAX_MLIR_LIBS MLIR LLVM)
else()
    get_property(dialects GLOBAL PROPERTY MLIR_DIALECT_LIBS)
    get_property(conversions GLOBAL PROPERTY MLIR_CONVERSION_LIBS)
    get_property(extensions GLOBAL PROPERTY MLIR_EXTENSION_LIBS)
    get_property(translations GLOBAL PROPERTY MLIR_TRANSLATION_LIBS)
    set(RELAX_MLIR_LIBS
        ${dialects}
        ${conversions}
        ${extensions}
        ${translations}
        MLIRLspServerLib
        MLIROptLib
        MLIRTranslateLib
    )
endif()

# The library of the Python bindings, which holds MLIR for the extension.
find_library(
    RELAX_MLIR_PYTHON_CAPI
    MLIRPythonCAPI
    PATHS ${RELAX_WHEEL_MLIR}/_mlir_libs
    NO_DEFAULT_PATH
)

# What our tools link. From the wheels it is the library of the bindings, so that
# an installation has MLIR once; only the main functions of tools, which it
# lacks, and what they alone use come from static libraries.
if(RELAX_WHEEL_VERSION AND RELAX_MLIR_PYTHON AND RELAX_MLIR_PYTHON_CAPI)
    get_property(translations GLOBAL PROPERTY MLIR_TRANSLATION_LIBS)
    set(RELAX_TOOL_LIBS
        ${RELAX_MLIR_PYTHON_CAPI}
        LLVM
        MLIRLspServerLib
        MLIROptLib
        MLIRTranslateLib
        ${translations}
    )
else()
    set(RELAX_TOOL_LIBS ${RELAX_MLIR_LIBS})
endif()
