# Helpers that keep the per-folder lists short.

# clasp_library_defaults(target name): include paths and export name of a public library. Sources
# include public headers as "clasp/x.h" and private ones from src/ as "select/x.h".
function(clasp_library_defaults target name)
    clasp_compiler_defaults(${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} OUTPUT_NAME clasp_${name})
    target_include_directories(${target}
        PUBLIC
            $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
        PRIVATE ${PROJECT_SOURCE_DIR}/src)
endfunction()

# clasp_plain_speed(target): code that reads, checks and prints, which nobody waits for, is compiled a third faster, and
# twice as fast where sanitizers watch it.
function(clasp_plain_speed target)
    if(CLASP_SANITIZE)
        target_compile_options(${target} PRIVATE -O0)
    else()
        target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
endfunction()

# clasp_test(module sources... [LIBRARIES libs...] [LABELS labels...]): one test program per module,
# each case known to ctest. The label is "fast" (run by ./check --quick) unless another is given:
# "whole" for requests from end to end and comparisons with llama.cpp, "slow" for what sanitizers need not repeat. Only
# support/paths.cpp knows absolute paths, so that the compiler cache serves the rest to every clone.
function(clasp_test module)
    cmake_parse_arguments(arg "" "" "LIBRARIES;LABELS" ${ARGN})
    set(target clasp_${module}_test)
    add_executable(${target} ${arg_UNPARSED_ARGUMENTS})
    clasp_compiler_defaults(${target})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
    target_compile_options(${target} PRIVATE ${CLASP_TEST_OPTIONS})
    target_link_libraries(${target} PRIVATE clasp::core GTest::gmock GTest::gtest_main ${arg_LIBRARIES})

    add_library(${target}_paths OBJECT ${PROJECT_SOURCE_DIR}/tests/support/paths.cpp)
    clasp_compiler_defaults(${target}_paths)
    target_include_directories(${target}_paths PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(${target}_paths PRIVATE
        CLASP_SOURCE_DIR="${PROJECT_SOURCE_DIR}" CLASP_SCRATCH_DIR="${CMAKE_CURRENT_BINARY_DIR}"
        CLASP_LLAMA_SOURCE_DIR="${CLASP_LLAMA_SOURCE_DIR}")
    target_link_libraries(${target} PRIVATE ${target}_paths)
    if(NOT arg_LABELS)
        set(arg_LABELS fast)
    endif()
    gtest_discover_tests(${target} NO_PRETTY_VALUES TEST_PREFIX "${module}." DISCOVERY_TIMEOUT 60
        PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600)
endfunction()

# clasp_opens_video_files(target): a test or fuzzer that is to read video files. It cannot pass for want of the module
# where that is built (CLASP_FFMPEG_IS_BUILT).
function(clasp_opens_video_files target)
    if(TARGET clasp_ffmpeg)
        add_dependencies(${target} clasp_ffmpeg)
        target_compile_definitions(${target} PRIVATE CLASP_FFMPEG_IS_BUILT)
    endif()
endfunction()

# clasp_benchmark(name sources... [LIBRARIES libs...])
function(clasp_benchmark name)
    cmake_parse_arguments(arg "" "" "LIBRARIES" ${ARGN})
    set(target clasp_${name}_bench)
    add_executable(${target} ${arg_UNPARSED_ARGUMENTS})
    clasp_compiler_defaults(${target})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/bench)
    target_link_libraries(${target} PRIVATE clasp::core benchmark::benchmark_main ${arg_LIBRARIES})
endfunction()

# clasp_fuzzer(name source [LIBRARIES libs...]): a libFuzzer target; seeds live in fuzz/seeds/<name>.
function(clasp_fuzzer name)
    cmake_parse_arguments(arg "" "" "LIBRARIES" ${ARGN})
    set(target fuzz_${name})
    add_executable(${target} ${arg_UNPARSED_ARGUMENTS})
    clasp_compiler_defaults(${target})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${target} PRIVATE clasp::core ${arg_LIBRARIES})
    if(NOT TARGET fuzzers)
        add_custom_target(fuzzers)  # all of them, and nothing that they do not need
    endif()
    add_dependencies(fuzzers ${target})
endfunction()
