// Several configurations, the weakest first, as one: lists append, a later deny takes earlier allows away, a later
// switch holds, and what a project's file says beyond narrowing counts only where somebody trusted it. Every entry
// keeps its place.
//
// Hosts and switches become steps, in their order: which hosts there are before the first of them the caller knows
// (network.h takes them). Pure.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "policy/config/asks.h"
#include "policy/config/config.h"
#include "policy/config/paths.h"

namespace cordon::policy::config {

struct Layer {
  const Config* config = nullptr;
  /// What it may say. kTrusted: beyond narrowing exactly `trusted`.
  enum class May : unsigned char { kAll, kTrusted } may = May::kAll;
  std::set<std::string> trusted;  ///< canonical()
  base::AbsPath directory;        ///< of the file; a project's hides from here as well
};

struct Path {
  std::string written, path;
  Origin at;
  bool project = false;  ///< by a project's file
  friend bool operator==(const Path&, const Path&) = default;
};

struct Step {
  enum class What : unsigned char { kAllow, kDeny, kAnyHttps, kNamedOnly, kAnything, kNotAnything };
  What what = What::kAllow;
  std::string host;  ///< kAllow, kDeny
  std::string port;  ///< kAllow
  Origin at;
  friend bool operator==(const Step&, const Step&) = default;
};

struct Merged {
  std::vector<Path> read, write, execute, deny_read, deny_exec;
  std::vector<Step> network;
  std::vector<Variable> env;        ///< each name once
  std::vector<Text> allow_address;  ///< of every file, whatever the profile
  std::vector<Text> bases;          ///< built-in profiles that blocks extend
  std::vector<Ask> ignored;         ///< by their places
  [[nodiscard]] bool empty() const;
};

/// `profiles`: whose blocks count, the weakest first. `built_in`: those that are no file's own.
Merged merge(std::span<const Layer> layers, std::span<const std::string> profiles,
             std::span<const std::string_view> built_in, const Places& places);

/// True where `path` is `directory` or lies below it.
bool lies_in(std::string_view path, std::string_view directory);

}  // namespace cordon::policy::config
