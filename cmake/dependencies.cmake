# What Cordon is built from (docs/dependencies.md gives the reason for each), and the flags that every room shares.
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_path(CORDON_TOMLPLUSPLUS toml++/toml.h REQUIRED)  # headers alone: its library is only a shared one
if(CORDON_STATIC)
  set(OPENSSL_USE_STATIC_LIBS ON)
  set(PKG_CONFIG_ARGN --static)
endif()
find_package(OpenSSL REQUIRED)

# A static library where one is wanted, taken by its full path: pkg-config would name the shared one.
function(cordon_pkg name module archive)
  pkg_check_modules(${name} REQUIRED IMPORTED_TARGET GLOBAL ${module})
  if(CORDON_STATIC)
    find_library(${name}_ARCHIVE ${archive} REQUIRED)
    set_target_properties(PkgConfig::${name} PROPERTIES INTERFACE_LINK_LIBRARIES "${${name}_ARCHIVE}" INTERFACE_LINK_OPTIONS "")
  endif()
endfunction()
cordon_pkg(yaml yaml-0.1 libyaml.a)
cordon_pkg(seccomp libseccomp libseccomp.a)
cordon_pkg(acl libacl libacl.a)
pkg_check_modules(systemd REQUIRED IMPORTED_TARGET GLOBAL libsystemd)  # cordon-scope alone, which is dynamic
cordon_pkg(idn2 libidn2 libidn2.a)
cordon_pkg(pugixml pugixml libpugixml.a)
if(CORDON_STATIC)
  find_library(UNISTRING_ARCHIVE libunistring.a REQUIRED)
  target_link_libraries(PkgConfig::idn2 INTERFACE "${UNISTRING_ARCHIVE}")
  find_library(ATTR_ARCHIVE libattr.a REQUIRED)
  target_link_libraries(PkgConfig::acl INTERFACE "${ATTR_ARCHIVE}")
endif()

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  # A test waits for a kernel or compares a few values: what its optimizer would cost in every build is not given back.
  set(CORDON_TEST_OPTIONS -O0)
endif()

add_library(cordon_options INTERFACE)
target_compile_options(cordon_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wswitch-enum -Wnon-virtual-dtor -Wold-style-cast
  -Wunused-result -Wno-missing-field-initializers $<$<BOOL:${CORDON_WERROR}>:-Werror>)

# fmt's core, compiled once. Debian's archive of it does not exist, and its shared library is none for a static program.
add_library(cordon_fmt STATIC "${CMAKE_CURRENT_SOURCE_DIR}/cmake/fmt_compiled.cc")
get_target_property(fmt_include fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(cordon_fmt SYSTEM PUBLIC ${fmt_include})
