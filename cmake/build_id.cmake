# The build id that cordon, its launcher, its broker and its ssh agent's relay must share: a digest of every source that
# shapes the plan's wire format, the launcher, the two helpers and what is said to them. Made at build time, so that a changed line is a changed id.
file(GLOB CORDON_ID_INPUTS CONFIGURE_DEPENDS
  "${CMAKE_SOURCE_DIR}/src/plan/*.h" "${CMAKE_SOURCE_DIR}/src/plan/*.cc" "${CMAKE_SOURCE_DIR}/src/kernel/*.h"
  "${CMAKE_SOURCE_DIR}/src/enforce/launch/*.h" "${CMAKE_SOURCE_DIR}/src/enforce/launch/*.cc"
  "${CMAKE_SOURCE_DIR}/src/confine/*.h" "${CMAKE_SOURCE_DIR}/src/confine/*.cc" "${CMAKE_SOURCE_DIR}/src/agent/*.h"
  "${CMAKE_SOURCE_DIR}/src/agent/*.cc" "${CMAKE_SOURCE_DIR}/src/agent/program/*.cc" "${CMAKE_SOURCE_DIR}/src/agent/program/*.h"
  "${CMAKE_SOURCE_DIR}/src/egress/*.h" "${CMAKE_SOURCE_DIR}/src/egress/*.cc" "${CMAKE_SOURCE_DIR}/src/egress/program/*.cc"
  "${CMAKE_SOURCE_DIR}/src/egress/program/*.h" "${CMAKE_SOURCE_DIR}/src/egress/resolve/*.cc"
  "${CMAKE_SOURCE_DIR}/src/policy/network/*.h" "${CMAKE_SOURCE_DIR}/src/policy/network/*.cc"
  "${CMAKE_SOURCE_DIR}/src/enforce/launch/program/*.h" "${CMAKE_SOURCE_DIR}/src/enforce/launch/program/*.cc")
list(FILTER CORDON_ID_INPUTS EXCLUDE REGEX "_test\\.(cc|h)$")
set(CORDON_GENERATED "${CMAKE_BINARY_DIR}/generated")
file(MAKE_DIRECTORY "${CORDON_GENERATED}")
add_custom_command(OUTPUT "${CORDON_GENERATED}/cordon_build_id.h"
  COMMAND ${CMAKE_COMMAND} "-DINPUTS=${CORDON_ID_INPUTS}" "-DVERSION=${PROJECT_VERSION}" "-DOUT=${CORDON_GENERATED}/cordon_build_id.h"
          -P "${CMAKE_SOURCE_DIR}/cmake/make_build_id.cmake"
  DEPENDS ${CORDON_ID_INPUTS} "${CMAKE_SOURCE_DIR}/cmake/make_build_id.cmake" VERBATIM)
add_custom_target(cordon_build_id DEPENDS "${CORDON_GENERATED}/cordon_build_id.h")
