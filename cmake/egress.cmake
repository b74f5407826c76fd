# cordon-broker (static, whatever else is) and cordon-resolve (dynamic: NSS modules are shared objects of the host's libc).
get_property(egress_roots GLOBAL PROPERTY CORDON_ROOTS_egress)
_cordon_root(egress/program)

add_executable(cordon-broker "${CMAKE_SOURCE_DIR}/src/egress/program/main.cc")
file(GLOB confine_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/egress/program/*.cc")
target_sources(cordon-broker PRIVATE ${confine_sources})
target_include_directories(cordon-broker PRIVATE ${egress_roots} "${CORDON_ROOTS}/egress.program")
target_link_libraries(cordon-broker PRIVATE cordon_options cordon_egress)
if(CORDON_STATIC)
  target_link_options(cordon-broker PRIVATE -static -Wl,--gc-sections)
endif()

add_executable(cordon-resolve "${CMAKE_SOURCE_DIR}/src/egress/resolve/main.cc")
find_package(Threads REQUIRED)
target_include_directories(cordon-resolve PRIVATE ${egress_roots})
target_link_libraries(cordon-resolve PRIVATE cordon_options cordon_egress Threads::Threads)

install(TARGETS cordon-broker cordon-resolve RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/cordon")
