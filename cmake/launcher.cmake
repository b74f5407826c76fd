# cordon-launch, the trusted core: static, libc only, without exceptions and RTTI, whatever the preset; sanitizers and
# profiling stay out of it, because they would add threads, allocators and descriptors to it. What it enforces is the same
# in every build. Its bytes are linked into cordon_enforce_launch too, for a cordon that is not installed.
get_property(launch_roots GLOBAL PROPERTY CORDON_ROOTS_enforce_launch)
_cordon_root(enforce/launch/program)
file(GLOB launch_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/enforce/launch/program/*.cc")
add_executable(cordon-launch ${launch_sources})
set_target_properties(cordon-launch PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # static and fixed: 0.1 ms less
add_dependencies(cordon-launch cordon_build_id)
target_include_directories(cordon-launch PRIVATE ${launch_roots} "${CORDON_ROOTS}/enforce.launch.program" "${CORDON_GENERATED}")
target_link_libraries(cordon-launch PRIVATE cordon_options)
target_compile_options(cordon-launch PRIVATE
  -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables -Os -ffunction-sections -fno-sanitize=all
  -fno-profile-arcs -fno-test-coverage)
target_link_options(cordon-launch PRIVATE -static -no-pie -Wl,--gc-sections -Wl,-z,noexecstack -s -fno-sanitize=all -fno-profile-arcs)

set(launch_image "${CMAKE_SOURCE_DIR}/src/enforce/launch/image.cc")
add_library(cordon_launcher_image OBJECT "${launch_image}")
add_dependencies(cordon_launcher_image cordon-launch)
set_source_files_properties("${launch_image}" PROPERTIES
  COMPILE_DEFINITIONS "CORDON_LAUNCHER_PATH=\"${CMAKE_BINARY_DIR}/cordon-launch\""
  OBJECT_DEPENDS "${CMAKE_BINARY_DIR}/cordon-launch")
target_include_directories(cordon_launcher_image PRIVATE "${CORDON_ROOTS}/enforce.launch")
target_link_libraries(cordon_launcher_image PRIVATE cordon_options)
target_sources(cordon_enforce_launch PRIVATE $<TARGET_OBJECTS:cordon_launcher_image>)
target_include_directories(cordon_enforce_launch PRIVATE "${CORDON_GENERATED}")
add_dependencies(cordon_enforce_launch cordon_build_id)
