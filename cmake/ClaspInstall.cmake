include(CMakePackageConfigHelpers)
set(clasp_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/clasp)

install(TARGETS clasp_core EXPORT clasp-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/clasp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT clasp-targets NAMESPACE clasp:: DESTINATION ${clasp_config_dir})

# A list of its own, so that users of the core need neither the codecs nor llama.cpp.
if(TARGET clasp_engine)
    install(TARGETS clasp_engine clasp_image clasp_request clasp_video EXPORT clasp-engine-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(EXPORT clasp-engine-targets NAMESPACE clasp:: DESTINATION ${clasp_config_dir})
    install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindWebP.cmake DESTINATION ${clasp_config_dir})
    # The pinned llama.cpp lies in the cache of whoever built it: its libraries go along, in a folder of
    # their own. A copy that the user brought stays where it is and is looked for again.
    if(clasp_llama_prefix AND EXISTS "${clasp_llama_prefix}/complete")
        install(DIRECTORY "${clasp_llama_prefix}/lib" DESTINATION ${CMAKE_INSTALL_LIBDIR}/clasp/llama
            PATTERN "pkgconfig" EXCLUDE)
        install(DIRECTORY "${clasp_llama_prefix}/include" DESTINATION ${CMAKE_INSTALL_LIBDIR}/clasp/llama)
        if(CLASP_LLAMA_SOURCE_DIR)
            install(FILES "${CLASP_LLAMA_SOURCE_DIR}/LICENSE" DESTINATION ${CMAKE_INSTALL_LIBDIR}/clasp/llama)
        endif()
        install(FILES "${clasp_llama_prefix}/LICENSE-compiled"
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/clasp/llama OPTIONAL)
    endif()
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/clasp-config.cmake.in
    ${PROJECT_BINARY_DIR}/clasp-config.cmake
    INSTALL_DESTINATION ${clasp_config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/clasp-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/clasp-config.cmake ${PROJECT_BINARY_DIR}/clasp-config-version.cmake
    DESTINATION ${clasp_config_dir})
