// git's patterns as steps, and their matching: a set of places in the pattern walks along the text, so that no pattern
// costs more than its length times the text's.

#include <algorithm>
#include <array>

#include "policy/ecosystem/ignore.h"

namespace cordon::policy::ecosystem {
namespace {

using Token = IgnoreRules::Token;
using Kind = Token::Kind;

std::size_t index(char byte) { return static_cast<unsigned char>(byte); }

struct NamedSet {
  std::string_view name;
  bool (*holds)(char);
};
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_alpha(char c) { return is_upper(c) || is_lower(c); }
bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr NamedSet kSets[]{{"alnum", is_alnum}, {"alpha", is_alpha}, {"digit", is_digit},
                           {"lower", is_lower}, {"space", is_space}, {"upper", is_upper}};

/// Reads "[…]" from behind the bracket.
class Bracket {
 public:
  explicit Bracket(std::string_view text) : text_(text) {}

  /// How many bytes it took; 0 where it has no end, or something in it is not understood.
  std::size_t read(std::bitset<256>& set) {
    const bool negated = take_if('!') || take_if('^');
    for (bool is_first = true; at_ < text_.size(); is_first = false) {
      if (text_[at_] == ']' && !is_first) {
        if (negated) set.flip();
        set.reset(index('/'));
        return at_ + 1;
      }
      if (!member(set)) return 0;
    }
    return 0;
  }

 private:
  bool take_if(char c) {
    const bool there = at_ < text_.size() && text_[at_] == c;
    if (there) ++at_;
    return there;
  }
  bool byte(char& out) {
    if (take_if('\\') && at_ == text_.size()) return false;
    if (at_ == text_.size()) return false;
    out = text_[at_++];
    return true;
  }
  bool named(std::bitset<256>& set) {
    const auto end = text_.find(":]", at_);
    if (end == std::string_view::npos) return false;
    const auto one = std::ranges::find(kSets, text_.substr(at_ + 2, end - at_ - 2), &NamedSet::name);
    if (one == std::end(kSets)) return false;
    for (unsigned i = 0; i < 128; ++i)
      if (one->holds(static_cast<char>(i))) set.set(i);
    at_ = end + 2;
    return true;
  }
  bool member(std::bitset<256>& set) {
    if (text_.substr(at_).starts_with("[:")) return named(set);
    char first = 0;
    if (!byte(first)) return false;
    char last = first;
    if (at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']') {
      ++at_;
      if (!byte(last)) return false;
    }
    for (std::size_t i = index(first); i <= index(last); ++i) set.set(i);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// A run of '*' that begins at `at`: "**" means more than "*" only as a whole component.
Token stars(std::string_view pattern, std::size_t& at) {
  const std::size_t begin = at;
  while (at < pattern.size() && pattern[at] == '*') ++at;
  const bool whole = at - begin == 2 && (begin == 0 || pattern[begin - 1] == '/');
  if (whole && at == pattern.size()) return {.kind = Kind::kRest};
  if (whole && pattern[at] == '/') {
    ++at;
    return {.kind = Kind::kDirectories};
  }
  return {.kind = Kind::kStar};
}

/// The places in a pattern that are reached, with those that need no byte.
class Places {
 public:
  explicit Places(const std::vector<Token>& tokens) : tokens_(tokens), now_(tokens.size() + 1, 0) { reach(now_, 0); }

  void step(char byte) {
    std::vector<char> next(now_.size(), 0);
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (now_[i] != 0) step(i, byte, next);
    now_ = std::move(next);
  }
  [[nodiscard]] bool at_end() const { return now_.back() != 0; }

 private:
  void reach(std::vector<char>& places, std::size_t at) const {
    places[at] = 1;
    const bool needs_none =
        at < tokens_.size() &&
        (tokens_[at].kind == Kind::kStar || tokens_[at].kind == Kind::kRest || tokens_[at].kind == Kind::kDirectories);
    if (needs_none) reach(places, at + 1);
  }
  void step(std::size_t at, char byte, std::vector<char>& next) const {
    const Token& token = tokens_[at];
    switch (token.kind) {
      case Kind::kByte:
        if (token.byte == byte) reach(next, at + 1);
        return;
      case Kind::kOneOf:
        if (token.set.test(index(byte))) reach(next, at + 1);
        return;
      case Kind::kAny:
        if (byte != '/') reach(next, at + 1);
        return;
      case Kind::kStar:
        if (byte != '/') reach(next, at);
        return;
      case Kind::kRest:
        reach(next, at);
        return;
      case Kind::kDirectories:
        // It stays within a component and may end only behind a '/'.
        next[at] = 1;
        if (byte == '/') reach(next, at + 1);
        return;
    }
  }

  const std::vector<Token>& tokens_;
  std::vector<char> now_;
};

}  // namespace

std::optional<std::vector<Token>> glob(std::string_view pattern) {
  std::vector<Token> out;
  for (std::size_t at = 0; at < pattern.size();) {
    const char c = pattern[at];
    if (c == '*') {
      out.push_back(stars(pattern, at));
      continue;
    }
    ++at;
    if (c == '?') {
      out.push_back({.kind = Kind::kAny});
    } else if (c == '[') {
      Token token{.kind = Kind::kOneOf};
      const std::size_t length = Bracket(pattern.substr(at)).read(token.set);
      if (length == 0) return std::nullopt;
      at += length;
      out.push_back(token);
    } else if (c == '\\') {
      if (at == pattern.size()) return std::nullopt;
      out.push_back({.kind = Kind::kByte, .byte = pattern[at++]});
    } else {
      out.push_back({.kind = Kind::kByte, .byte = c});
    }
  }
  return out;
}

bool matches(const std::vector<Token>& tokens, std::string_view text) {
  Places places(tokens);
  for (const char byte : text) places.step(byte);
  return places.at_end();
}

}  // namespace cordon::policy::ecosystem
