# Installs the build tree into a fresh prefix, moves the prefix so that no absolute path can help, and
# builds and runs the examples there as a project that knows nothing but the prefix.
function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(failed)
        message(FATAL_ERROR "failed (${failed}): ${ARGN}\n${output}")
    endif()
endfunction()

file(REMOVE_RECURSE "${work_dir}")
run("${CMAKE_COMMAND}" --install "${build_dir}" --prefix "${work_dir}/first")
file(RENAME "${work_dir}/first" "${work_dir}/prefix")
run("${CMAKE_COMMAND}" -S "${examples_dir}" -B "${work_dir}/build" -G "${generator}"
    "-DCMAKE_C_COMPILER=${c_compiler}" "-DCMAKE_CXX_COMPILER=${cxx_compiler}"
    "-DCMAKE_PREFIX_PATH=${work_dir}/prefix" -DCMAKE_BUILD_TYPE=Release)
run("${CMAKE_COMMAND}" --build "${work_dir}/build")

file(GLOB programs LIST_DIRECTORIES false "${work_dir}/build/core*")
list(LENGTH programs count)
if(count LESS 2)
    message(FATAL_ERROR "expected a C and a C++ program, found: ${programs}")
endif()
foreach(program IN LISTS programs)
    run("${program}")
endforeach()

# No model is at hand here: the engine must be there, run, and say which file it misses.
if(has_engine)
    execute_process(COMMAND "${work_dir}/build/ask" no-such-model.gguf none.gguf none.jpg "What is this?"
        RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT code EQUAL 1 OR NOT output MATCHES "no-such-model.gguf")
        message(FATAL_ERROR "the example of the engine gave ${code}: ${output}")
    endif()
endif()
