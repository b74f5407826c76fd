# The corpus of shields: shields/*.yaml, read by tools/shields, becomes tables of cordon_policy_shield. The reader is a
# library of its own, because docs/shields.md and the audit are made from the same data.
set(shields_tool "${CMAKE_SOURCE_DIR}/tools/shields")
get_property(shields_roots GLOBAL PROPERTY CORDON_ROOTS_policy_manifest)
get_property(shield_roots GLOBAL PROPERTY CORDON_ROOTS_policy_shield)
list(APPEND shields_roots ${shield_roots})
list(REMOVE_DUPLICATES shields_roots)

add_library(cordon_shields STATIC "${shields_tool}/fields.cc" "${shields_tool}/input.cc" "${shields_tool}/corpus_file.cc" "${shields_tool}/tables.cc"
  "${shields_tool}/page.cc")
target_include_directories(cordon_shields PUBLIC "${shields_tool}" ${shields_roots})
target_link_libraries(cordon_shields PRIVATE cordon_options PUBLIC cordon_policy_manifest)
add_executable(cordon-shields "${shields_tool}/main.cc")
target_link_libraries(cordon-shields PRIVATE cordon_options cordon_shields)

file(GLOB shields_corpus CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/shields/*.yaml")
list(FILTER shields_corpus EXCLUDE REGEX "/audit-accepted\\.yaml$")
set(shields_tables "${CORDON_GENERATED}/shield_tables.cc")
add_custom_command(OUTPUT "${shields_tables}" COMMAND cordon-shields "${shields_tables}" ${shields_corpus}
  DEPENDS cordon-shields ${shields_corpus} COMMENT "Reading the corpus of shields" VERBATIM)
target_sources(cordon_policy_shield PRIVATE "${shields_tables}")

# The comparison with what the distribution's firejail and AppArmor packages protect: a test, and `make audit`.
add_library(cordon_shields_audit STATIC "${shields_tool}/upstream.cc" "${shields_tool}/audit.cc")
target_link_libraries(cordon_shields_audit PRIVATE cordon_options PUBLIC cordon_shields)
add_executable(cordon-shields-audit EXCLUDE_FROM_ALL "${shields_tool}/audit_main.cc")
target_link_libraries(cordon-shields-audit PRIVATE cordon_options cordon_shields_audit)

if(BUILD_TESTING)
  set_target_properties(cordon-shields-audit PROPERTIES EXCLUDE_FROM_ALL OFF)
  add_test(NAME "audit: the corpus holds what firejail and AppArmor protect"
    COMMAND cordon-shields-audit "${CMAKE_SOURCE_DIR}/shields/audit-accepted.yaml" ${shields_corpus})
  file(GLOB shields_tests CONFIGURE_DEPENDS "${shields_tool}/*_test.cc")
  add_executable(shields_test ${shields_tests})
  target_link_libraries(shields_test PRIVATE cordon_options cordon_shields_audit GTest::gmock GTest::gtest_main)
  target_compile_definitions(shields_test PRIVATE "CORDON_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\"")
  gtest_discover_tests(shields_test TEST_PREFIX "shields: " DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120)
endif()
