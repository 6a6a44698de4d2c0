# Installs what C++ projects build upon: headers, TableGen files, libraries and
# the CMake package RelaxMLIR.
include(CMakePackageConfigHelpers)

set(RELAX_INSTALL_CMAKE_DIR ${RELAX_MLIR_INSTALL_DIR}/lib/cmake/RelaxMLIR)

install(
    DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/include/
    DESTINATION ${RELAX_MLIR_INSTALL_DIR}/include
    FILES_MATCHING
    PATTERN "*.h"
    PATTERN "*.h.inc"
    PATTERN "*.td"
    PATTERN "CMakeFiles" EXCLUDE
)
install(
    DIRECTORY ${PROJECT_SOURCE_DIR}/dialect/
    DESTINATION ${RELAX_MLIR_INSTALL_DIR}/include/relax-mlir/dialect
    FILES_MATCHING
    PATTERN "*.td"
)

get_property(libraries GLOBAL PROPERTY RELAX_LIBRARIES)
install(
    TARGETS relax_mlir_flags RelaxMLIR RelaxInitAll ${libraries}
    EXPORT RelaxMLIRTargets
    ARCHIVE DESTINATION ${RELAX_MLIR_INSTALL_DIR}/lib
)
install(
    EXPORT RelaxMLIRTargets
    NAMESPACE RelaxMLIR::
    DESTINATION ${RELAX_INSTALL_CMAKE_DIR}
)

configure_package_config_file(
    ${CMAKE_CURRENT_LIST_DIR}/RelaxMLIRConfig.cmake.in
    ${PROJECT_BINARY_DIR}/RelaxMLIRConfig.cmake
    INSTALL_DESTINATION ${RELAX_INSTALL_CMAKE_DIR}
)
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/RelaxMLIRConfigVersion.cmake
    COMPATIBILITY SameMinorVersion
)
install(
    FILES
        ${PROJECT_BINARY_DIR}/RelaxMLIRConfig.cmake
        ${PROJECT_BINARY_DIR}/RelaxMLIRConfigVersion.cmake
    DESTINATION ${RELAX_INSTALL_CMAKE_DIR}
)
