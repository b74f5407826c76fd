# cordon-janitor: static, libc only, as the launcher is and for the same reasons. Its bytes are linked into
# cordon_enforce_hold; it is never run from a path.
get_property(hold_roots GLOBAL PROPERTY CORDON_ROOTS_enforce_hold)
add_executable(cordon-janitor "${CMAKE_SOURCE_DIR}/src/enforce/hold/janitor/main.cc"
  "${CMAKE_SOURCE_DIR}/src/enforce/hold/removal.cc")
set_target_properties(cordon-janitor PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_include_directories(cordon-janitor PRIVATE ${hold_roots})
target_link_libraries(cordon-janitor PRIVATE cordon_options)
target_compile_options(cordon-janitor PRIVATE
  -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables -Os -ffunction-sections -fno-sanitize=all
  -fno-profile-arcs -fno-test-coverage)
target_link_options(cordon-janitor PRIVATE -static -no-pie -Wl,--gc-sections -Wl,-z,noexecstack -s -fno-sanitize=all -fno-profile-arcs)

set(janitor_image "${CMAKE_SOURCE_DIR}/src/enforce/hold/image.cc")
add_library(cordon_janitor_image OBJECT "${janitor_image}")
add_dependencies(cordon_janitor_image cordon-janitor)
set_source_files_properties("${janitor_image}" PROPERTIES
  COMPILE_DEFINITIONS "CORDON_JANITOR_PATH=\"${CMAKE_BINARY_DIR}/cordon-janitor\""
  OBJECT_DEPENDS "${CMAKE_BINARY_DIR}/cordon-janitor")
target_include_directories(cordon_janitor_image PRIVATE "${CORDON_ROOTS}/enforce.hold")
target_link_libraries(cordon_janitor_image PRIVATE cordon_options)
target_sources(cordon_enforce_hold PRIVATE $<TARGET_OBJECTS:cordon_janitor_image>)
