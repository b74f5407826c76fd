# cordon-scope: dynamic, because libsystemd has no static library. Its bytes are linked into cordon_cgroup; it is never run
# from a path.
add_executable(cordon-scope "${CMAKE_SOURCE_DIR}/src/cgroup/scope/main.cc")
target_link_libraries(cordon-scope PRIVATE cordon_options PkgConfig::systemd)
target_compile_options(cordon-scope PRIVATE -Os -fno-sanitize=all -fno-profile-arcs -fno-test-coverage)
target_link_options(cordon-scope PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections -s -fno-sanitize=all -fno-profile-arcs)

set(scope_image "${CMAKE_SOURCE_DIR}/src/cgroup/image.cc")
add_library(cordon_scope_image OBJECT "${scope_image}")
add_dependencies(cordon_scope_image cordon-scope)
set_source_files_properties("${scope_image}" PROPERTIES
  COMPILE_DEFINITIONS "CORDON_SCOPE_PATH=\"${CMAKE_BINARY_DIR}/cordon-scope\""
  OBJECT_DEPENDS "${CMAKE_BINARY_DIR}/cordon-scope")
target_include_directories(cordon_scope_image PRIVATE "${CORDON_ROOTS}/cgroup")
target_link_libraries(cordon_scope_image PRIVATE cordon_options)
target_sources(cordon_cgroup PRIVATE $<TARGET_OBJECTS:cordon_scope_image>)
