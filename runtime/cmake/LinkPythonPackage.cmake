# Makes the sources of a Python package importable from the build tree, as links,
# so that edits show up at once. Links to sources that are gone are removed.
function(relax_link_python_package source_dir package_dir)
    file(
        GLOB_RECURSE sources
        CONFIGURE_DEPENDS
        RELATIVE ${source_dir}
        ${source_dir}/*.py
        ${source_dir}/*.pyi
        ${source_dir}/py.typed
    )
    foreach(source IN LISTS sources)
        get_filename_component(folder ${package_dir}/${source} DIRECTORY)
        file(MAKE_DIRECTORY ${folder})
        file(
            CREATE_LINK ${source_dir}/${source} ${package_dir}/${source}
            SYMBOLIC
        )
    endforeach()
    file(GLOB_RECURSE links ${package_dir}/*.py ${package_dir}/*.pyi)
    foreach(link IN LISTS links)
        if(IS_SYMLINK ${link} AND NOT EXISTS ${link})
            file(REMOVE ${link})
        endif()
    endforeach()
endfunction()
