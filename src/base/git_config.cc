#include "base/git_config.h"

#include <algorithm>
#include <cctype>

#include "base/git_programs.h"

namespace cordon::base {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.'; }

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  GitConfig read() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n' || is_space(c)) {
        ++at_;
      } else if (c == '#' || c == ';') {
        skip_line();
      } else if (c == '[' ? !section() : !setting()) {
        out_.well_formed = false;
        skip_line();
      }
    }
    return std::move(out_);
  }

 private:
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  /// [section] or [section "subsection"]
  bool section() {
    ++at_;
    section_.clear();
    subsection_.clear();
    has_subsection_ = false;
    while (at_ < text_.size() && is_name(text_[at_])) section_ += lower(text_[at_++]);
    if (const std::size_t dot = section_.find('.'); dot != std::string::npos) {  // [section.subsection], the old way
      has_subsection_ = true;
      subsection_ = section_.substr(dot + 1);
      section_.resize(dot);
    }
    skip_space();
    if (at_ < text_.size() && text_[at_] == '"' && !subsection()) return false;
    if (section_.empty() || at_ >= text_.size() || text_[at_] != ']') return false;
    ++at_;
    return true;
  }

  bool subsection() {
    has_subsection_ = true;
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '"') return ++at_, true;
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      subsection_ += text_[at_];
    }
    return false;
  }

  bool setting() {
    std::string key;
    if (std::isalpha(static_cast<unsigned char>(text_[at_])) == 0 || section_.empty()) return false;
    while (at_ < text_.size() && is_name(text_[at_])) key += lower(text_[at_++]);
    skip_space();
    std::string value;
    if (at_ < text_.size() && text_[at_] == '=') {
      ++at_;
      if (!read_value(value)) return false;
    } else if (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '#' && text_[at_] != ';') {
      return false;
    }
    keep(key, std::move(value));
    return true;
  }

  /// Quotes, escapes, a line that goes on behind a backslash; a comment ends it. Blanks around it do not count.
  bool read_value(std::string& value) {
    skip_space();
    bool quoted = false;
    std::size_t solid = 0;  // up to here blanks belong to the value
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      const char c = text_[at_];
      if (!quoted && (c == '#' || c == ';')) {
        skip_line();
        break;
      }
      if (c == '"') {
        quoted = !quoted;
        solid = value.size();
      } else if (c == '\\') {
        if (!escape(value)) return false;
        solid = value.size();
      } else {
        value += c;
        if (quoted || !is_space(c)) solid = value.size();
      }
    }
    value.resize(solid);
    return !quoted;
  }

  bool escape(std::string& value) {
    if (++at_ >= text_.size()) return false;
    if (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
    switch (text_[at_]) {
      case '\n':
        return true;
      case 't':
        value += '\t';
        return true;
      case 'b':
        value += '\b';
        return true;
      case 'n':
        value += '\n';
        return true;
      case '\\':
      case '"':
        value += text_[at_];
        return true;
      default:
        return false;
    }
  }

  void keep(const std::string& key, std::string value) {
    using Setting = GitConfig::Setting;
    if (value.empty()) return;
    if (section_ == "submodule" && has_subsection_ && key == "path")
      return out_.lines.push_back({Setting::kSubmodule, std::move(value), subsection_});
    if (section_ == "core" && !has_subsection_ && key == "worktree")
      return out_.lines.push_back({Setting::kWorktree, std::move(value)});
    if (section_ == "core" && !has_subsection_ && key == "hookspath")
      return out_.lines.push_back({Setting::kHooksPath, std::move(value)});
    if (section_ == "include" && !has_subsection_ && key == "path")
      return out_.lines.push_back({Setting::kInclude, std::move(value)});
    if (section_ == "includeif" && key == "path")
      return out_.lines.push_back({Setting::kConditionalInclude, std::move(value)});
    const bool replaces = section_ == "url" && (key == "insteadof" || key == "pushinsteadof");
    if (replaces && subsection_.starts_with(kCommandUrl))
      return out_.lines.push_back({Setting::kProgram, subsection_.substr(kCommandUrl.size()), "url." + key});
    if (names_git_program(section_, key, value)) {
      if (value.starts_with(kCommandUrl)) value.erase(0, kCommandUrl.size());
      const std::string middle = has_subsection_ ? "." + subsection_ : std::string();
      out_.lines.push_back({Setting::kProgram, std::move(value), section_ + middle + "." + key});
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string section_, subsection_;
  bool has_subsection_ = false;
  GitConfig out_;
};

}  // namespace

GitConfig parse_git_config(std::string_view text) { return Reader(text).read(); }

}  // namespace cordon::base
