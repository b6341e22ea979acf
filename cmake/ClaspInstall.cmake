include(CMakePackageConfigHelpers)

install(TARGETS clasp_core EXPORT clasp-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/clasp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT clasp-targets NAMESPACE clasp:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/clasp)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/clasp-config.cmake.in
    ${PROJECT_BINARY_DIR}/clasp-config.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/clasp)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/clasp-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/clasp-config.cmake ${PROJECT_BINARY_DIR}/clasp-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/clasp)
