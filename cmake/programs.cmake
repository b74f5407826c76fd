# The programs: cordon-launch (the trusted core, static, libc only) and cordon.

# The launcher is compiled without exceptions and RTTI and linked statically whatever the preset; sanitizers stay out of it,
# because they would add threads, allocators and descriptors to the trusted core. What it enforces is the same in every build.
if(EXISTS "${CMAKE_SOURCE_DIR}/src/enforce/launch/main.cc")
  get_property(launch_roots GLOBAL PROPERTY CORDON_ROOTS_enforce_launch)
  file(GLOB launch_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/enforce/launch/*.cc")
  list(FILTER launch_sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER launch_sources EXCLUDE REGEX "/(encode|start)[^/]*\\.cc$")
  add_executable(cordon-launch ${launch_sources})
  add_dependencies(cordon-launch cordon_build_id)
  target_include_directories(cordon-launch PRIVATE ${launch_roots} "${CORDON_GENERATED}")
  target_link_libraries(cordon-launch PRIVATE cordon_options)
  target_compile_options(cordon-launch PRIVATE -fno-exceptions -fno-rtti -Os -fno-sanitize=all)
  target_link_options(cordon-launch PRIVATE -static -fno-sanitize=all)
endif()
