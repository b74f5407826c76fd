// Many names in one piece of text: what is asked for below one directory. The corpus of shields has more than a
// thousand for each home, and a string of its own for each of them was the dearest part of a verdict.
//
// Plain data, in the order in which the names were added; comparable. A name is never empty and has no NUL in it: both
// are a bug of who adds it.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include "base/check.h"

namespace cordon::plan {

class NameList {
 public:
  class Iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(std::string_view rest) : rest_(rest) {}
    std::string_view operator*() const { return rest_.substr(0, rest_.find('\0')); }
    Iterator& operator++() {
      rest_.remove_prefix(rest_.find('\0') + 1);
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.rest_.size() == b.rest_.size(); }

   private:
    std::string_view rest_;
  };

  void add(std::string_view name) {
    CORDON_CHECK(!name.empty() && name.find('\0') == std::string_view::npos);
    text_.append(name).push_back('\0');
    ++size_;
  }
  void reserve(std::size_t bytes) { text_.reserve(bytes); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Iterator begin() const { return Iterator(text_); }
  [[nodiscard]] Iterator end() const { return Iterator(std::string_view(text_).substr(text_.size())); }
  friend bool operator==(const NameList&, const NameList&) = default;

 private:
  std::string text_;  ///< each name and a NUL
  std::size_t size_ = 0;
};

static_assert(std::forward_iterator<NameList::Iterator>);

}  // namespace cordon::plan
