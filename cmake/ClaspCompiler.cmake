get_filename_component(CLASP_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
include("${CMAKE_CURRENT_LIST_DIR}/ClaspBatches.cmake")

# The compiler cache, shared by all checkouts of one user: paths below the checkout are hashed relative
# to it, so a fresh clone finds what another one compiled. Not with coverage, whose objects carry the
# absolute path of their build folder.
if(PROJECT_IS_TOP_LEVEL AND NOT CLASP_COVERAGE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(CLASP_CCACHE ccache)
    mark_as_advanced(CLASP_CCACHE)
    if(CLASP_CCACHE)
        set(CMAKE_C_COMPILER_LAUNCHER env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
            "${CLASP_CCACHE}")
        set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
    endif()
endif()

# Warnings stop a build only where ./check has seen that there are none: nobody who only wants to use the program
# is stopped by what another compiler finds.
set(clasp_compiler_is_known OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND
        "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" MATCHES "^(GNU 12|Clang 14)\\.")
    set(clasp_compiler_is_known ON)
endif()

# Options of kernels. Checks before every access of pointers that were loaded a line above make a sanitized build of
# one kernel take a minute; the address sanitizer sees what matters of them.
set(CLASP_KERNEL_OPTIONS -O3)
if(CLASP_SANITIZE)
    set(CLASP_KERNEL_OPTIONS -O1)
    if(CLASP_SANITIZE MATCHES "undefined")
        list(APPEND CLASP_KERNEL_OPTIONS -fno-sanitize=null,alignment,object-size,pointer-overflow)
    endif()
endif()

# clasp_compiler_defaults(target): language level, warnings, sanitizers and coverage as properties of
# one of our own targets. Nothing global, so that consumers keep their own flags.
function(clasp_compiler_defaults target)
    target_compile_features(${target} PUBLIC cxx_std_20)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        C_STANDARD 11
        POSITION_INDEPENDENT_CODE ON
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-align
        -Wdouble-promotion
        $<$<NOT:$<BOOL:${CLASP_COVERAGE}>>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>
        $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
        $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>
        $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        # g++ 12 sees an overlap in every "text" + std::string at -O3 that is not there (GCC bug 105651).
        target_compile_options(${target} PRIVATE -Wno-restrict)
    endif()
    if(CLASP_WARNINGS_AS_ERRORS AND clasp_compiler_is_known)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    if(CLASP_SANITIZE)
        target_compile_options(${target} PRIVATE
            -fsanitize=${CLASP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
        target_link_options(${target} PUBLIC -fsanitize=${CLASP_SANITIZE})
    endif()
    get_target_property(type ${target} TYPE)
    if(CLASP_BUILD_FUZZERS AND NOT type STREQUAL "EXECUTABLE")
        # Without this a fuzzer is blind to the code that it tests.
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
    if(CLASP_COVERAGE)
        target_compile_options(${target} PRIVATE --coverage -fprofile-update=atomic -O0)
        target_link_options(${target} PUBLIC --coverage)
    endif()
    cmake_language(EVAL CODE
        "cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL clasp_batches ${target})")
endfunction()
