# Several files of one folder are compiled together, which halves the time of a build: most of it goes to headers.
# clasp_batches(target) is called for every target of ours when all its files are known (ClaspCompiler.cmake). Such
# a batch is a file of #include lines in build/<preset>/batches, so files of one folder must not use a name twice in
# their unnamed namespaces: the compiler then says "redefinition" and names both places. Compiled apart are
#   - files with definitions or options of their own, as CMake knows them (kernels, files with paths in them);
#   - files that use the same names as others by design: clasp_apart() tells them by a line that they contain, so that
#     a new method, benchmark or command needs no entry anywhere.
# CLASP_BATCHES=OFF compiles every file apart; the batches are still written, and scripts/check-tidy reads both.
option(CLASP_BATCHES "Compile several files of a folder together" ON)
set(CLASP_BATCH_SIZE 8 CACHE STRING "How many files at most")
mark_as_advanced(CLASP_BATCHES CLASP_BATCH_SIZE)

# clasp_apart(target pattern...): files with a line that matches one of the regular expressions stay apart.
function(clasp_apart target)
    set_property(TARGET ${target} APPEND PROPERTY CLASP_APART ${ARGN})
endfunction()

function(clasp_batches target)
    get_target_property(sources ${target} SOURCES)
    get_target_property(source_dir ${target} SOURCE_DIR)
    get_property(patterns TARGET ${target} PROPERTY CLASP_APART)
    set(apart "")
    set(folders "")
    foreach(source IN LISTS sources)
        get_filename_component(path "${source}" ABSOLUTE BASE_DIR "${source_dir}")
        set(stays_apart OFF)
        if(NOT path MATCHES "\\.cpp$")
            set(stays_apart ON)
        endif()
        foreach(property COMPILE_DEFINITIONS COMPILE_OPTIONS COMPILE_FLAGS)
            get_property(value SOURCE "${path}" TARGET_DIRECTORY ${target} PROPERTY ${property})
            if(value)
                set(stays_apart ON)
            endif()
        endforeach()
        foreach(pattern IN LISTS patterns)
            file(STRINGS "${path}" matches REGEX "${pattern}" LIMIT_COUNT 1)
            if(matches)
                set(stays_apart ON)
            endif()
        endforeach()
        if(stays_apart)
            list(APPEND apart "${source}")
        else()
            file(RELATIVE_PATH path "${CLASP_ROOT}" "${path}")
            get_filename_component(folder "${path}" DIRECTORY)
            string(MAKE_C_IDENTIFIER "${folder}" folder)
            list(APPEND folders ${folder})
            list(APPEND files_${folder} "${path}")
        endif()
    endforeach()

    set(batches "")
    list(REMOVE_DUPLICATES folders)
    foreach(folder IN LISTS folders)
        # Of nearly equal length: nine files are five and four, not eight and one.
        list(LENGTH files_${folder} n_files)
        math(EXPR n_batches "(${n_files} + ${CLASP_BATCH_SIZE} - 1) / ${CLASP_BATCH_SIZE}")
        foreach(i RANGE 1 ${n_batches})
            math(EXPR from "(${i} - 1) * ${n_files} / ${n_batches}")
            math(EXPR count "${i} * ${n_files} / ${n_batches} - ${from}")
            list(SUBLIST files_${folder} ${from} ${count} files)
            if(count EQUAL 1)
                list(APPEND apart "${CLASP_ROOT}/${files}")
                continue()
            endif()
            list(TRANSFORM files REPLACE "(.+)" "#include \"\\1\"\n")
            list(JOIN files "" text)
            set(batch "${PROJECT_BINARY_DIR}/batches/${target}/${folder}_${i}.cpp")
            file(CONFIGURE OUTPUT "${batch}" CONTENT "${text}" @ONLY)
            list(APPEND batches "${batch}")
        endforeach()
    endforeach()
    # The lines name files from the checkout on: the compiler cache then serves them to every clone. g++ takes them for
    # headers, in which classes with members from an unnamed namespace would be a mistake.
    if(CLASP_BATCHES AND batches)
        set_source_files_properties(${batches} TARGET_DIRECTORY ${target} PROPERTIES
            INCLUDE_DIRECTORIES "${CLASP_ROOT}"
            COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>")
    endif()
    if(CLASP_BATCHES)
        set_property(TARGET ${target} PROPERTY SOURCES ${batches} ${apart})
    endif()
endfunction()
