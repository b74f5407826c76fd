// ProfileView: what `profile` has to say: how the watched run ended, which permissions the draft has and why, what is
// withheld from it, and whether it can be vouched for. Filled by cli/, because this room knows no draft.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/layout.h"

namespace cordon::report {

struct ProfileLine {
  std::string key;       ///< "read"
  std::string written;   ///< as in the manifest
  std::string group;     ///< "project", "cache", …
  std::string leads_to;  ///< where a link in it goes; "" where there is none
  std::vector<std::string> programs, calls;
  std::uint64_t count = 0;
  friend bool operator==(const ProfileLine&, const ProfileLine&) = default;
};

struct ProfileRemark {
  std::string kind, path, host, code, reason;
  std::uint16_t port = 0;
  friend bool operator==(const ProfileRemark&, const ProfileRemark&) = default;
};

struct ProfileView {
  std::string program;   ///< as the user named it
  std::string manifest;  ///< where the draft is; "" of standard output, or where none was written
  bool written = false;
  bool merged = false;
  bool layout_kept = true;
  bool approval_voided = false;
  std::size_t rounds = 0;
  int exit_code = 0, signal = 0;
  std::vector<ProfileLine> lines;
  std::vector<std::string> network;  ///< "host:port"
  std::vector<std::string> env;
  std::string exec;                  ///< "all"; "" where the run needs none
  std::vector<std::string> started;  ///< programs that the run started itself
  std::vector<ProfileRemark> withheld, flagged;
  std::vector<std::string> blocked_hosts;
  std::vector<std::string> differences;  ///< --check: what the manifest does not allow
  std::vector<std::string> incomplete;   ///< why the draft cannot be vouched for; empty where it can
  std::vector<std::string> notes;
  std::uint64_t runtime = 0, scratch = 0, lost = 0, unnamed = 0;
  friend bool operator==(const ProfileView&, const ProfileView&) = default;
};

/// For standard error; every line starts with "cordon: ".
std::string profile_text(const ProfileView& view, const Style& style);
/// Of --check: nothing to say where there is no difference but that.
std::string check_text(const ProfileView& view, const Style& style);
/// One indented document. `policy` is policy::manifest::to_json of the draft, as text.
std::string profile_document(const ProfileView& view, const std::string& policy);

/// "grant read ./data.csv? (openat by python3, 2 times) [y]es [n]o [g]roup [a]ll [q]uit "
std::string grant_question(const ProfileLine& line);

}  // namespace cordon::report
