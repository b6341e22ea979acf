# Finds the pinned llama.cpp and gives imported targets:
#   clasp_llama           libllama, ggml and their public C headers (llama.h, ggml*.h, gguf.h)
#   clasp_llama_internal  the same plus libllama's private headers, for the tensor map
#   clasp_mtmd            the multimodal library: the oracle of the tests, never part of the program
# and CLASP_LLAMA_SOURCE_DIR, the source tree (vocabularies and a test image for the tests), which is
# empty when a user-given copy brings none.
#
# CLASP_LLAMA_DIR, a CMake or environment variable, names the prefix of an installed copy and must be
# the pinned release. Without it the copy in the user's cache is taken, then a system-wide one of that
# release; CLASP_FETCH_LLAMA allows to fetch it when neither is there. CLASP_LLAMA, a CMake variable whose first
# value comes from the environment, says whether the cached copy is the one that comes compiled (the default)
# or one that is built from source.
set(CLASP_LLAMA_DIR "" CACHE PATH "Prefix of an installed llama.cpp of the pinned release")
set(CLASP_LLAMA "$ENV{CLASP_LLAMA}" CACHE STRING "llama.cpp as it comes (compiled) or built here (source)")
set_property(CACHE CLASP_LLAMA PROPERTY STRINGS "" compiled source)
if(NOT CLASP_LLAMA MATCHES "^(|compiled|source)$")
    message(FATAL_ERROR "CLASP_LLAMA is \"${CLASP_LLAMA}\"; it is compiled or source")
endif()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/scripts/llama-version.sh" "${PROJECT_SOURCE_DIR}/scripts/build-llama"
    "${PROJECT_SOURCE_DIR}/cmake/llama-config.cmake.in")

# What is asked for the cached copy. Without instrumentation the thread sanitizer cannot see how ggml's threads
# wait for each other, and a fuzzer not what reads GGUF files: parts of ggml are exchanged for them. A copy that the
# user brought is used as it is.
set(clasp_mtmd_script "${CMAKE_COMMAND}" -E env "CLASP_LLAMA=${CLASP_LLAMA}"
    "${PROJECT_SOURCE_DIR}/scripts/build-llama")
set(clasp_llama_script ${clasp_mtmd_script})
if("${CLASP_SANITIZE}" STREQUAL "thread")
    list(APPEND clasp_llama_script --sanitize thread)
elseif(CLASP_BUILD_FUZZERS)
    list(APPEND clasp_llama_script --sanitize fuzz)
endif()

# clasp_llama_pinned(name out): a value of scripts/llama-version.sh.
function(clasp_llama_pinned name out)
    file(STRINGS "${PROJECT_SOURCE_DIR}/scripts/llama-version.sh" line REGEX "^${name}=" LIMIT_COUNT 1)
    string(REGEX REPLACE "^${name}=" "" value "${line}")
    set(${out} "${value}" PARENT_SCOPE)
endfunction()

# clasp_llama_check_version(where): fails unless what find_package(llama) found is the pinned release.
# Upstream marks builds from source as "-dev" unless told otherwise; the release number still counts.
function(clasp_llama_check_version where)
    clasp_llama_pinned(LLAMA_VERSION llama_pinned)
    clasp_llama_pinned(GGML_VERSION ggml_pinned)
    string(REGEX REPLACE "-dev$" "" llama_found "${LLAMA_VERSION}")
    string(REGEX REPLACE "-dev$" "" ggml_found "${GGML_VERSION}")
    if(NOT llama_found STREQUAL llama_pinned OR NOT ggml_found STREQUAL ggml_pinned)
        message(FATAL_ERROR
            "The llama.cpp in ${where} is ${LLAMA_VERSION} (ggml ${GGML_VERSION}), but CLASP needs exactly "
            "${llama_pinned} (ggml ${ggml_pinned}), because it reads libllama's tensor map. Unset "
            "CLASP_LLAMA_DIR to use the pinned copy, or build that release and name its prefix.")
    endif()
endfunction()

# clasp_llama_locate(out): the prefix to use, or an empty string for a system-wide copy.
function(clasp_llama_locate out)
    if(CLASP_LLAMA_DIR)
        if(NOT EXISTS "${CLASP_LLAMA_DIR}/include/llama.h")
            message(FATAL_ERROR "CLASP_LLAMA_DIR is ${CLASP_LLAMA_DIR}, but there is no include/llama.h in it")
        endif()
        set(${out} "${CLASP_LLAMA_DIR}" PARENT_SCOPE)
        return()
    endif()
    execute_process(COMMAND ${clasp_llama_script} --locate
        OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE reason RESULT_VARIABLE failed)
    if(failed AND NOT DEFINED ENV{CLASP_LLAMA_DIR})
        clasp_llama_pinned(LLAMA_VERSION pinned)
        find_package(llama ${pinned} EXACT CONFIG QUIET)
        if(llama_FOUND)
            set(${out} "" PARENT_SCOPE)
            return()
        endif()
        if(CLASP_FETCH_LLAMA)
            execute_process(COMMAND ${clasp_llama_script}
                OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
            set(reason "llama.cpp could not be fetched or built; the lines above say why")
        endif()
    endif()
    if(failed)
        string(STRIP "${reason}" reason)
        message(FATAL_ERROR "${reason} (CLASP_FETCH_LLAMA=ON fetches it during configuration; "
            "CLASP_BUILD_ENGINE=OFF leaves the engine out)")
    endif()
    set(${out} "${prefix}" PARENT_SCOPE)
endfunction()

clasp_llama_locate(clasp_llama_prefix)
if(clasp_llama_prefix)
    # Never a copy found by an earlier configuration of this build folder.
    foreach(cached llama_DIR ggml_DIR llama_LIBRARY)
        unset(${cached} CACHE)
    endforeach()
    list(PREPEND CMAKE_PREFIX_PATH "${clasp_llama_prefix}")
    find_package(llama CONFIG REQUIRED PATHS "${clasp_llama_prefix}" NO_DEFAULT_PATH)
else()
    find_package(llama CONFIG REQUIRED)
endif()
get_filename_component(clasp_llama_found "${LLAMA_INCLUDE_DIR}" DIRECTORY)
clasp_llama_check_version("${clasp_llama_found}")
message(STATUS "llama.cpp ${LLAMA_VERSION}, ggml ${GGML_VERSION}: ${clasp_llama_found}")
file(WRITE "${PROJECT_BINARY_DIR}/llama-folder" "${clasp_llama_found}\n")  # for ./clasp-vlm

set(CLASP_LLAMA_SOURCE_DIR "")
if(EXISTS "${clasp_llama_found}/source/src/llama-model.h")
    set(CLASP_LLAMA_SOURCE_DIR "${clasp_llama_found}/source")
endif()

# Their headers are not ours to warn about: imported targets are system includes.
add_library(clasp_llama INTERFACE IMPORTED)
target_link_libraries(clasp_llama INTERFACE llama ggml::ggml)

add_library(clasp_llama_internal INTERFACE IMPORTED)
target_link_libraries(clasp_llama_internal INTERFACE clasp_llama)
if(CLASP_LLAMA_SOURCE_DIR)
    target_include_directories(clasp_llama_internal SYSTEM INTERFACE "${CLASP_LLAMA_SOURCE_DIR}/src")
endif()

# Of the pinned copy it is built alone, when tests or benchmarks want it.
set(clasp_mtmd_prefix "${clasp_llama_found}")
if(EXISTS "${clasp_llama_prefix}/complete" AND (CLASP_BUILD_TESTS OR CLASP_BUILD_BENCHMARKS))
    list(APPEND clasp_mtmd_script --mtmd)
    if(NOT CLASP_FETCH_LLAMA)
        list(APPEND clasp_mtmd_script --locate)
    endif()
    execute_process(COMMAND ${clasp_mtmd_script}
        OUTPUT_VARIABLE clasp_mtmd_prefix OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
    if(failed)
        message(FATAL_ERROR "There is no multimodal library of llama.cpp for the tests; the lines above say why")
    endif()
endif()
unset(CLASP_MTMD_LIBRARY CACHE)
unset(CLASP_MTMD_HASH_LIBRARY CACHE)
find_library(CLASP_MTMD_LIBRARY mtmd PATHS "${clasp_mtmd_prefix}/lib" "${LLAMA_LIB_DIR}" NO_DEFAULT_PATH)
find_library(CLASP_MTMD_HASH_LIBRARY vendor-hash PATHS "${clasp_mtmd_prefix}/lib" "${LLAMA_LIB_DIR}" NO_DEFAULT_PATH)
mark_as_advanced(CLASP_MTMD_LIBRARY CLASP_MTMD_HASH_LIBRARY)
if(CLASP_MTMD_LIBRARY AND EXISTS "${clasp_mtmd_prefix}/include/mtmd.h")
    add_library(clasp_mtmd UNKNOWN IMPORTED)
    set_target_properties(clasp_mtmd PROPERTIES
        IMPORTED_LOCATION "${CLASP_MTMD_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${clasp_mtmd_prefix}/include")
    target_link_libraries(clasp_mtmd INTERFACE clasp_llama Threads::Threads)
    if(CLASP_MTMD_HASH_LIBRARY)
        target_link_libraries(clasp_mtmd INTERFACE "${CLASP_MTMD_HASH_LIBRARY}")
    endif()
endif()
