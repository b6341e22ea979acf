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
foreach(made share/bash-completion/completions/clasp-vlm share/zsh/site-functions/_clasp-vlm
        share/fish/vendor_completions.d/clasp-vlm.fish share/man/man1/clasp-vlm.1)
    file(READ "${work_dir}/prefix/${made}" text)
    if(NOT text MATCHES "clasp.?-vlm")
        message(FATAL_ERROR "${made} is not what the program writes")
    endif()
endforeach()
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

# The installed program and the one in the build tree answer, whatever lies in the current folder, and the libraries of
# the installed one are those that were installed with it, wherever that moved.
if(has_engine)
    file(WRITE "${work_dir}/hostile/libjpeg.so.62" "not a library")
    foreach(program "${work_dir}/prefix/bin/clasp-vlm" "${build_dir}/src/cli/clasp-vlm")
        execute_process(COMMAND "${program}" ask "${examples_dir}/pictures/crosses.png"
                "How many yellow crosses are in the picture?"
            WORKING_DIRECTORY "${work_dir}/hostile"
            RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors OUTPUT_STRIP_TRAILING_WHITESPACE)
        if(NOT code EQUAL 0 OR NOT output STREQUAL "6")
            message(FATAL_ERROR "${program} gave ${code}: ${output}${errors}")
        endif()
    endforeach()
    file(GLOB shared "${work_dir}/prefix/*/clasp/llama/lib/libllama*.so" "${work_dir}/prefix/*/*/clasp/llama/lib/libllama*.so")
    if(shared)
        execute_process(COMMAND "${CMAKE_COMMAND}" -E env LD_TRACE_LOADED_OBJECTS=1 "${work_dir}/prefix/bin/clasp-vlm"
            OUTPUT_VARIABLE output)
        foreach(library libllama libggml libggml-base)
            if(NOT output MATCHES "${library}[^ ]* => ${work_dir}/prefix/bin/[^ ]*clasp/llama/lib/${library}")
                message(FATAL_ERROR "the installed program takes ${library} from elsewhere: ${output}")
            endif()
        endforeach()
    endif()
endif()

# Both programs of the engine answer with the model that comes with the project, and name a file that is
# not there.
if(has_engine)
    foreach(program engine_c engine_cpp)
        execute_process(COMMAND "${work_dir}/build/${program}" "${models_dir}/clasp-tiny.gguf"
                "${models_dir}/clasp-tiny-mmproj.gguf" "${examples_dir}/pictures/crosses.png"
                "How many yellow crosses are in the picture?"
            RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
        if(NOT code EQUAL 0 OR NOT output MATCHES "of 576 visual tokens per layer")
            message(FATAL_ERROR "${program} gave ${code}: ${output}")
        endif()
        execute_process(COMMAND "${work_dir}/build/${program}" no-such-model.gguf none.gguf none.jpg "What is this?"
            RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
        if(NOT code EQUAL 1 OR NOT output MATCHES "not_found.*no-such-model.gguf")
            message(FATAL_ERROR "${program} without its model gave ${code}: ${output}")
        endif()
    endforeach()
endif()
