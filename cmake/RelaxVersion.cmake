# Sets RELAX_VERSION to what runtime/python/relax_runtime/_version.py says, and
# configures again when that file changes.

set(RELAX_VERSION_FILE
    ${CMAKE_CURRENT_LIST_DIR}/../runtime/python/relax_runtime/_version.py
)
file(STRINGS ${RELAX_VERSION_FILE} RELAX_VERSION_LINE REGEX "^__version__ = ")
string(REGEX MATCH "[0-9]+(\\.[0-9]+)+" RELAX_VERSION "${RELAX_VERSION_LINE}")
if(NOT RELAX_VERSION)
    message(
        FATAL_ERROR
        "Expected a line such as __version__ = \"1.2.3\" in ${RELAX_VERSION_FILE}"
    )
endif()
if(NOT CMAKE_SCRIPT_MODE_FILE)
    set_property(
        DIRECTORY
        APPEND
        PROPERTY CMAKE_CONFIGURE_DEPENDS ${RELAX_VERSION_FILE}
    )
endif()
