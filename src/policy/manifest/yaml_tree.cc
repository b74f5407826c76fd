#include "policy/manifest/yaml_tree.h"

#include <yaml.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "policy/manifest/syntax_error.h"

namespace cordon::policy::manifest {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// One event, deleted when it goes out of scope.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event_); }
  yaml_event_t* get() { return &event_; }
  yaml_event_t* operator->() { return &event_; }

 private:
  yaml_event_t event_{};
};

std::string_view text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(text));
}

class Reader {
 public:
  Reader(const Source& source, Problems& problems);
  ~Reader() { yaml_parser_delete(&parser_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Tree read();

 private:
  enum class Step { kGoOn, kEnd, kBroken };
  struct Frame {
    Node node;
    std::optional<Node> key;
  };

  Step take(yaml_event_t& event);
  Step begin_document(const yaml_event_t& event);
  Step open(const yaml_event_t& event, Node::Kind kind, bool flow);
  Step too_many(const yaml_event_t& event);
  void close(const yaml_event_t& event);
  void add_scalar(const yaml_event_t& event);
  void add_alias(const yaml_event_t& event);
  void add(Node node);
  void refuse_properties(const yaml_event_t& event, const yaml_char_t* anchor, const yaml_char_t* tag);
  void unwind();
  void syntax_error();

  [[nodiscard]] std::size_t offset(const yaml_mark_t& mark) const {
    return source_.offset_of_rune(mark.index + skipped_runes_);
  }

  const Source& source_;
  Problems& problems_;
  yaml_parser_t parser_{};
  std::size_t skipped_runes_ = 0;
  std::size_t events_ = 0;
  std::size_t documents_ = 0;
  std::size_t broken_at_ = std::string_view::npos;
  std::vector<Frame> stack_;
  std::optional<Node> root_;
};

Reader::Reader(const Source& source, Problems& problems) : source_(source), problems_(problems) {
  std::string_view text = source.text();
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
    skipped_runes_ = 1;
  }
  CORDON_CHECK(yaml_parser_initialize(&parser_) == 1);
  yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

Tree Reader::read() {
  Step step = Step::kGoOn;
  while (step == Step::kGoOn) {
    Event event;
    if (yaml_parser_parse(&parser_, event.get()) == 0) {
      syntax_error();
      step = Step::kBroken;
    } else {
      step = ++events_ > kMaxNodes ? too_many(*event.get()) : take(*event.get());
    }
  }
  if (step == Step::kBroken) unwind();
  Tree tree;
  tree.complete = step == Step::kEnd;
  if (root_) tree.root = std::move(*root_);
  return tree;
}

Reader::Step Reader::take(yaml_event_t& event) {
  switch (event.type) {
    case YAML_STREAM_END_EVENT:
      return Step::kEnd;
    case YAML_DOCUMENT_START_EVENT:
      return begin_document(event);
    case YAML_SEQUENCE_START_EVENT:
      refuse_properties(event, event.data.sequence_start.anchor, event.data.sequence_start.tag);
      return open(event, Node::Kind::kSequence, event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
    case YAML_MAPPING_START_EVENT:
      refuse_properties(event, event.data.mapping_start.anchor, event.data.mapping_start.tag);
      return open(event, Node::Kind::kMapping, event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      close(event);
      return Step::kGoOn;
    case YAML_SCALAR_EVENT:
      refuse_properties(event, event.data.scalar.anchor, event.data.scalar.tag);
      add_scalar(event);
      return Step::kGoOn;
    case YAML_ALIAS_EVENT:
      add_alias(event);
      return Step::kGoOn;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
      return Step::kGoOn;
  }
  return Step::kGoOn;
}

Reader::Step Reader::begin_document(const yaml_event_t& event) {
  const std::size_t at = offset(event.start_mark);
  const auto& directives = event.data.document_start.tag_directives;
  if (directives.start != directives.end)
    problems_.error("tag", source_.span(at, source_.line_end(at)), "a manifest has no YAML tags",
                    "remove the %TAG line");
  if (++documents_ == 1) return Step::kGoOn;
  problems_.error("second-document", source_.span(at, source_.line_end(at)), "a second document begins here",
                  "a manifest is one document: remove this and what follows, or keep it in a file of its own");
  return Step::kBroken;
}

Reader::Step Reader::open(const yaml_event_t& event, Node::Kind kind, bool flow) {
  const std::size_t at = offset(event.start_mark);
  if (stack_.size() >= kMaxDepth) {
    problems_.error("too-deep", source_.span(at, at + 1),
                    "this is nested deeper than " + std::to_string(kMaxDepth) + " levels",
                    "no key of a manifest needs more than three");
    return Step::kBroken;
  }
  Frame frame;
  frame.node.kind = kind;
  frame.node.style = flow ? Node::Style::kFlow : Node::Style::kBlock;
  frame.node.begin = at;
  frame.node.end = at;
  stack_.push_back(std::move(frame));
  return Step::kGoOn;
}

Reader::Step Reader::too_many(const yaml_event_t& event) {
  const std::size_t at = offset(event.start_mark);
  problems_.error("too-many-values", source_.span(at, at + 1),
                  "the file holds more than " + std::to_string(kMaxNodes) + " values",
                  "grant directories instead of the files in them");
  return Step::kBroken;
}

void Reader::close(const yaml_event_t& event) {
  Frame frame = std::move(stack_.back());
  stack_.pop_back();
  // The end of a block collection is known to libyaml only as the next token, comments and blank lines later.
  if (frame.node.style == Node::Style::kFlow) frame.node.end = offset(event.end_mark);
  add(std::move(frame.node));
}

void Reader::add_scalar(const yaml_event_t& event) {
  const auto& scalar = event.data.scalar;
  Node node;
  node.begin = offset(event.start_mark);
  node.end = offset(event.end_mark);
  node.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
  switch (scalar.style) {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE:
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
      node.style = Node::Style::kQuoted;
      break;
    case YAML_LITERAL_SCALAR_STYLE:
    case YAML_FOLDED_SCALAR_STYLE:
      node.style = Node::Style::kBlockScalar;
      break;
    case YAML_ANY_SCALAR_STYLE:
    case YAML_PLAIN_SCALAR_STYLE:
      break;
  }
  add(std::move(node));
}

void Reader::add_alias(const yaml_event_t& event) {
  Node node;
  node.kind = Node::Kind::kRefused;
  node.begin = offset(event.start_mark);
  node.end = offset(event.end_mark);
  problems_.error("alias", source_.span(node.begin, node.end), "a manifest has no YAML aliases",
                  "write the value out; for a wildcard write it in quotes: \"*\"");
  add(std::move(node));
}

void Reader::add(Node node) {
  if (stack_.empty()) {
    root_ = std::move(node);
    return;
  }
  Frame& top = stack_.back();
  top.node.end = std::max(top.node.end, node.end);
  if (top.node.kind == Node::Kind::kSequence) {
    top.node.items.push_back(std::move(node));
  } else if (!top.key) {
    top.key = std::move(node);
  } else {
    top.node.pairs.push_back({std::move(*top.key), std::move(node)});
    top.key.reset();
    Node& key = top.node.pairs.back().key;
    if (key.is_scalar()) return;
    if (key.kind != Node::Kind::kRefused)
      problems_.error("key-not-a-word", source_.span(key.begin, key.end), "a list or a map cannot be a key",
                      "every key of a manifest is a plain word");
    top.node.pairs.pop_back();
  }
}

void Reader::refuse_properties(const yaml_event_t& event, const yaml_char_t* anchor, const yaml_char_t* tag) {
  const std::size_t at = offset(event.start_mark);
  if (tag != nullptr)
    problems_.error("tag", source_.span(at, at + 1), "a manifest has no YAML tags",
                    "remove the tag, or put the value in quotes where it begins with !");
  if (anchor != nullptr)
    problems_.error("anchor", source_.span(at, at + text_of(anchor).size() + 1), "a manifest has no YAML anchors",
                    "remove the &name, or put the value in quotes where it begins with &");
}

// Of what was being read, only the outermost map's finished entries are known to mean what they say; and the last of
// them is not finished if its own line is the broken one.
void Reader::unwind() {
  if (!stack_.empty()) root_ = std::move(stack_.front().node);
  stack_.clear();
  if (!root_ || root_->pairs.empty()) return;
  if (source_.line_end(root_->pairs.back().value.end) >= broken_at_) root_->pairs.pop_back();
}

void Reader::syntax_error() {
  CORDON_CHECK(parser_.error != YAML_MEMORY_ERROR);
  SyntaxError error;
  error.context = parser_.context == nullptr ? std::string_view() : parser_.context;
  error.problem = parser_.problem == nullptr ? std::string_view() : parser_.problem;
  error.at = offset(parser_.problem_mark);
  error.context_at = parser_.context == nullptr ? error.at : offset(parser_.context_mark);
  broken_at_ = error.at;
  report_syntax_error(source_, error, problems_);
}

/// A byte that no manifest holds, wherever it stands: comments included.
bool refuse_bytes(const Source& source, std::size_t at, const base::Rune& rune, Problems& problems) {
  const std::size_t end = at + rune.length;
  const bool lone_return = rune.value == '\r' && source.slice(end, end + 1) != "\n";
  if (!rune.valid) {
    problems.error("not-utf8", source.span(at, end), "this is not UTF-8 text", "save the file as UTF-8");
  } else if (lone_return || rune.value == 0x85 || rune.value == 0x2028 || rune.value == 0x2029) {
    problems.error("hidden-line-end", source.span(at, end),
                   "YAML ends the line here, and editors do not show it: " + base::quote(source.slice(at, end)),
                   "end lines with a line feed");
  } else if ((rune.value < 0x20 && rune.value != '\n' && rune.value != '\t' && rune.value != '\r') ||
             (rune.value >= 0x7f && rune.value < 0xa0) || (rune.value & 0xfffe) == 0xfffe ||
             (rune.value == 0xfeff && at > 0)) {
    problems.error("control-character", source.span(at, end),
                   "a manifest cannot hold the byte or character " + base::quote(source.slice(at, end)), "remove it");
  } else {
    return false;
  }
  return true;
}

bool reorders_text(char32_t rune) { return (rune >= 0x202a && rune <= 0x202e) || (rune >= 0x2066 && rune <= 0x2069); }

bool bytes_are_refused(const Source& source, Problems& problems) {
  const std::string_view text = source.text();
  bool warned = false;
  for (std::size_t at = 0; at < text.size();) {
    const base::Rune rune = base::decode_rune(text.substr(at));
    if (refuse_bytes(source, at, rune, problems)) return true;
    if (reorders_text(rune.value) && !std::exchange(warned, true))
      problems.note(base::Severity::kWarning, "reordered-text", source.span(at, at + rune.length),
                    "this line holds " + base::quote(text.substr(at, rune.length)) +
                        ": what an editor shows is not the order in which it is read");
    at += rune.length;
  }
  return false;
}

}  // namespace

bool Node::is_null() const {
  return is_scalar() && style == Style::kPlain &&
         (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL");
}

Tree read_tree(const Source& source, Problems& problems) {
  Tree broken;
  broken.complete = false;
  if (bytes_are_refused(source, problems)) return broken;
  return Reader(source, problems).read();
}

}  // namespace cordon::policy::manifest
