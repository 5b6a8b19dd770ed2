# coll_embed(<output.cpp> <symbol> [BASE <dir>] <files>...)
#
# Writes, at build time, a C++ source that holds the text of the files and defines
#     std::span<const coll::EmbeddedFile> coll::embedded::<symbol>();
# (see runtime/embed/Embedded.h). A file is known by its path relative to BASE, by default the current source folder.
# Add <output.cpp> to the sources of a target of the same folder.
set(COLL_EMBED_DIR ${CMAKE_CURRENT_LIST_DIR})

function(coll_embed output symbol)
  cmake_parse_arguments(embed "" "BASE" "" ${ARGN})
  if(NOT embed_BASE)
    set(embed_BASE ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  set(pairs)
  set(files)
  foreach(file IN LISTS embed_UNPARSED_ARGUMENTS)
    get_filename_component(file ${file} ABSOLUTE)
    file(RELATIVE_PATH name ${embed_BASE} ${file})
    list(APPEND files ${file})
    list(APPEND pairs ${name}=${file})
  endforeach()
  string(REPLACE ";" "|" pairs "${pairs}")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DSYMBOL=${symbol} "-DPAIRS=${pairs}" -P ${COLL_EMBED_DIR}/Embed.cmake
    DEPENDS ${files} ${COLL_EMBED_DIR}/Embed.cmake
    COMMENT "Embedding ${symbol}"
    VERBATIM)
endfunction()
