# The programs: cordon-launch (the trusted core, static, libc only), cordon-janitor (which is only ever linked into
# cordon) and cordon.

include(launcher)
include(janitor)
include(egress)
include(scope)

# cordon itself: one static program, because what every run pays for first is the dynamic linker. A sanitizer build links
# as sanitizers want it.
get_property(cli_roots GLOBAL PROPERTY CORDON_ROOTS_cli)
add_executable(cordon "${CMAKE_SOURCE_DIR}/src/cli/main.cc")
target_include_directories(cordon PRIVATE ${cli_roots})
target_link_libraries(cordon PRIVATE cordon_options cordon_cli)
target_include_directories(cordon_cli PRIVATE "${CORDON_GENERATED}")
add_dependencies(cordon_cli cordon_build_id)
if(CORDON_STATIC)
  target_link_options(cordon PRIVATE -static -Wl,--gc-sections)
endif()

install(TARGETS cordon RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
if(TARGET cordon-launch)
  add_dependencies(cordon cordon-launch)
  install(TARGETS cordon-launch RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/cordon")
endif()
