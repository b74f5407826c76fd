# cordon-broker (static, whatever else is) and cordon-resolve (dynamic: NSS modules are shared objects of the host's libc).
# The bytes of all three programs are linked into cordon_enforce_outlet too, for a cordon that is not installed.
get_property(egress_roots GLOBAL PROPERTY CORDON_ROOTS_egress)
_cordon_root(egress/program)

add_executable(cordon-broker "${CMAKE_SOURCE_DIR}/src/egress/program/main.cc")
file(GLOB confine_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/egress/program/*.cc")
target_sources(cordon-broker PRIVATE ${confine_sources})
target_include_directories(cordon-broker PRIVATE ${egress_roots} "${CORDON_ROOTS}/egress.program" "${CORDON_GENERATED}")
target_link_libraries(cordon-broker PRIVATE cordon_options cordon_egress)
add_dependencies(cordon-broker cordon_build_id)
if(CORDON_STATIC)
  # Fixed and stripped: less to relocate and to read at each start.
  set_target_properties(cordon-broker PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_options(cordon-broker PRIVATE -static -no-pie -Wl,--gc-sections -s)
endif()

add_executable(cordon-resolve "${CMAKE_SOURCE_DIR}/src/egress/resolve/main.cc")
find_package(Threads REQUIRED)
target_include_directories(cordon-resolve PRIVATE ${egress_roots})
target_link_libraries(cordon-resolve PRIVATE cordon_options cordon_egress Threads::Threads)
target_link_options(cordon-resolve PRIVATE -Wl,--gc-sections -s)

# cordon-agent, between a sandbox and the caller's ssh agent: as the broker is.
get_property(agent_roots GLOBAL PROPERTY CORDON_ROOTS_agent)
_cordon_root(agent/program)
file(GLOB agent_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/agent/program/*.cc")
add_executable(cordon-agent ${agent_sources})
target_include_directories(cordon-agent PRIVATE ${agent_roots} "${CORDON_ROOTS}/agent.program" "${CORDON_GENERATED}")
target_link_libraries(cordon-agent PRIVATE cordon_options cordon_agent)
add_dependencies(cordon-agent cordon_build_id)
if(CORDON_STATIC)
  set_target_properties(cordon-agent PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_options(cordon-agent PRIVATE -static -no-pie -Wl,--gc-sections -s)
endif()

set(outlet_image "${CMAKE_SOURCE_DIR}/src/enforce/outlet/image.cc")
add_library(cordon_outlet_image OBJECT "${outlet_image}")
add_dependencies(cordon_outlet_image cordon-broker cordon-resolve cordon-agent)
set_source_files_properties("${outlet_image}" PROPERTIES
  COMPILE_DEFINITIONS
    "CORDON_BROKER_PATH=\"${CMAKE_BINARY_DIR}/cordon-broker\";CORDON_RESOLVER_PATH=\"${CMAKE_BINARY_DIR}/cordon-resolve\";CORDON_AGENT_PATH=\"${CMAKE_BINARY_DIR}/cordon-agent\""
  OBJECT_DEPENDS "${CMAKE_BINARY_DIR}/cordon-broker;${CMAKE_BINARY_DIR}/cordon-resolve;${CMAKE_BINARY_DIR}/cordon-agent")
target_include_directories(cordon_outlet_image PRIVATE "${CORDON_ROOTS}/enforce.outlet")
target_link_libraries(cordon_outlet_image PRIVATE cordon_options)
target_sources(cordon_enforce_outlet PRIVATE $<TARGET_OBJECTS:cordon_outlet_image>)
target_include_directories(cordon_enforce_outlet PRIVATE "${CORDON_GENERATED}")
add_dependencies(cordon_enforce_outlet cordon_build_id)

install(TARGETS cordon-broker cordon-resolve cordon-agent RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/cordon")
