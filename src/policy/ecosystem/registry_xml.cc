// Registries of Maven's settings.xml: the addresses of mirrors and repositories. Elements and their texts alone; no
// entity is expanded, nothing outside the text is ever fetched, and a document type ends the reading.

#include "policy/ecosystem/registry_lines.h"

namespace cordon::policy::ecosystem {
namespace {

constexpr std::size_t kDeepest = 32;

class Scanner {
 public:
  Scanner(std::string_view text, Collected& out) : text_(text), out_(out) {}

  void scan() {
    while (at_ < text_.size()) {
      const auto open = text_.find('<', at_);
      text_content(text_.substr(at_, open == std::string_view::npos ? open : open - at_));
      if (open == std::string_view::npos) return;
      at_ = open;
      if (!markup()) return;
    }
  }

 private:
  [[nodiscard]] bool starts_with(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  std::uint32_t line() {
    for (; counted_ < at_; ++counted_) line_ += text_[counted_] == '\n' ? 1U : 0U;
    return line_;
  }
  bool refuse(std::string message) {
    out_.note(line(), std::move(message));
    return false;
  }
  bool skip_past(std::string_view end) {
    const auto found = text_.find(end, at_);
    if (found == std::string_view::npos) return refuse("something begins here that does not end");
    at_ = found + end.size();
    return true;
  }
  bool markup() {
    if (starts_with("<!--")) return skip_past("-->");
    if (starts_with("<?")) return skip_past("?>");
    if (starts_with("<!")) return refuse("a document type or a raw section stands here: nothing after it is read");
    return starts_with("</") ? end_tag() : start_tag();
  }
  bool end_tag() {
    at_ += 2;
    const auto name = take_name();
    if (open_.empty() || open_.back() != name) return refuse("an element ends here that is not open");
    open_.pop_back();
    return skip_past(">");
  }
  bool start_tag() {
    ++at_;
    const auto name = take_name();
    if (name.empty() || open_.size() >= kDeepest) return refuse("an element stands here that is not understood");
    const std::size_t begin = at_;
    if (!skip_past(">")) return false;
    const bool is_empty = text_.substr(begin, at_ - begin).ends_with("/>");
    if (!is_empty) open_.push_back(name);
    return true;
  }
  std::string_view take_name() {
    const auto end = text_.find_first_of(" \t\r\n/>", at_);
    const auto name = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
    at_ += name.size();
    return name;
  }
  [[nodiscard]] bool within(std::string_view parent, std::string_view name) const {
    return open_.size() >= 2 && open_.back() == name && open_[open_.size() - 2] == parent;
  }
  void text_content(std::string_view content) {
    content = trimmed(content);
    if (content.empty()) return;
    if (within("mirror", "mirrorOf") &&
        (content == "*" || content == "central" || content.starts_with("*,") || content == "external:*"))
      out_.replaces_default();
    if (within("mirror", "url") || within("repository", "url") || within("pluginRepository", "url"))
      out_.address(content, line());
  }

  std::string_view text_;
  Collected& out_;
  std::vector<std::string_view> open_;
  std::size_t at_ = 0, counted_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

void read_maven_settings(std::string_view text, Collected& out) { Scanner(text, out).scan(); }

}  // namespace cordon::policy::ecosystem
