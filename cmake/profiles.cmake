# The profiles of command mode: profiles/*.yaml, read by tools/profiles, becomes tables of cordon_policy_ecosystem, as the
# corpus of shields does (shields.cmake); docs/profiles.md is made from the same data.
set(profiles_tool "${CMAKE_SOURCE_DIR}/tools/profiles")
get_property(profiles_roots GLOBAL PROPERTY CORDON_ROOTS_policy_manifest)
get_property(ecosystem_roots GLOBAL PROPERTY CORDON_ROOTS_policy_ecosystem)
list(APPEND profiles_roots ${ecosystem_roots})
list(REMOVE_DUPLICATES profiles_roots)

add_library(cordon_profiles STATIC "${profiles_tool}/profile_file.cc" "${profiles_tool}/profile_values.cc"
  "${profiles_tool}/profile_tables.cc" "${profiles_tool}/profile_page.cc")
target_include_directories(cordon_profiles PUBLIC "${profiles_tool}" ${profiles_roots})
target_link_libraries(cordon_profiles PRIVATE cordon_options PUBLIC cordon_shields cordon_policy_network)
add_executable(cordon-profiles "${profiles_tool}/main.cc")
target_link_libraries(cordon-profiles PRIVATE cordon_options cordon_profiles)

file(GLOB profiles_files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/profiles/*.yaml")
set(profiles_tables "${CORDON_GENERATED}/profile_tables.cc")
add_custom_command(OUTPUT "${profiles_tables}" COMMAND cordon-profiles "${profiles_tables}" ${profiles_files}
  DEPENDS cordon-profiles ${profiles_files} COMMENT "Reading the profiles" VERBATIM)
target_sources(cordon_policy_ecosystem PRIVATE "${profiles_tables}")

if(BUILD_TESTING)
  file(GLOB profiles_tests CONFIGURE_DEPENDS "${profiles_tool}/*_test.cc")
  add_executable(profiles_test ${profiles_tests})
  target_link_libraries(profiles_test PRIVATE cordon_options cordon_profiles GTest::gmock GTest::gtest_main)
  target_compile_definitions(profiles_test PRIVATE "CORDON_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\"")
  gtest_discover_tests(profiles_test TEST_PREFIX "profiles: " DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120)
endif()
