# layer(ROOM USES room... LIBS target... EXCLUDE file...)
#
# One static library per room of src/. A room is compiled with one include root for itself and one for each room that it
# USES, and with nothing else: each root holds links to the headers of that room alone, so that an include which
# docs/architecture.md does not allow does not compile (tests/layers proves it).
#
# *_test.cc beside the code become the program <room>_test.

set(CORDON_ROOTS "${CMAKE_BINARY_DIR}/roots")

function(_cordon_root room)
  string(REPLACE "/" "." flat "${room}")
  file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${room}/*.h")
  file(REMOVE_RECURSE "${CORDON_ROOTS}/${flat}")
  file(MAKE_DIRECTORY "${CORDON_ROOTS}/${flat}/${room}")
  foreach(header IN LISTS headers)
    get_filename_component(name "${header}" NAME)
    file(CREATE_LINK "${header}" "${CORDON_ROOTS}/${flat}/${room}/${name}" SYMBOLIC)
  endforeach()
endfunction()

function(layer room)
  cmake_parse_arguments(arg "" "" "USES;LIBS;EXCLUDE" ${ARGN})
  string(REPLACE "/" "." flat "${room}")
  string(REPLACE "/" "_" target "${room}")
  _cordon_root("${room}")

  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${room}/*.cc")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  foreach(name IN LISTS arg_EXCLUDE)
    list(REMOVE_ITEM sources "${CMAKE_SOURCE_DIR}/src/${room}/${name}")
  endforeach()

  if(sources)
    add_library(cordon_${target} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(cordon_${target} PRIVATE cordon_options)
  else()
    add_library(cordon_${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  # Include roots are not handed on: a room sees what it USES, never what those use.
  set(roots "${CORDON_ROOTS}/${flat}")
  foreach(used IN LISTS arg_USES)
    string(REPLACE "/" "." used_flat "${used}")
    string(REPLACE "/" "_" used_target "${used}")
    list(APPEND roots "${CORDON_ROOTS}/${used_flat}")
    target_link_libraries(cordon_${target} ${scope} cordon_${used_target})
  endforeach()
  if(sources)
    target_include_directories(cordon_${target} PRIVATE ${roots})
  endif()
  target_link_libraries(cordon_${target} ${scope} cordon_fmt ${arg_LIBS})
  set_property(GLOBAL PROPERTY CORDON_ROOTS_${target} "${roots}")
  # One line per room for tests/layers: "room: used used…: root root…".
  list(JOIN arg_USES " " used_line)
  list(JOIN roots " " roots_line)
  set_property(GLOBAL APPEND PROPERTY CORDON_EDGES "${room}: ${used_line}: ${roots_line}")

  if(BUILD_TESTING AND tests)
    add_executable(${target}_test ${tests})
    target_include_directories(${target}_test PRIVATE ${roots})
    target_compile_options(${target}_test PRIVATE ${CORDON_TEST_OPTIONS})
    target_link_libraries(${target}_test PRIVATE cordon_options cordon_${target} GTest::gmock GTest::gtest_main)
    gtest_discover_tests(${target}_test TEST_PREFIX "${room}: " DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120)
  endif()
endfunction()
