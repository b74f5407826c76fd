// Incoming and Outgoing: one message at a time, over a stream that gives and takes as much as it likes. No more is read
// than belongs to the message, so that what a client sends ahead stays in its socket.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "agent/protocol.h"

namespace cordon::agent {

class Incoming {
 public:
  enum class State { kMore, kWhole, kBad };

  /// Where the next bytes are to be read to; never empty while state() is kMore.
  std::span<std::byte> room() { return std::span(bytes_).subspan(got_); }
  /// So many were.
  void took(std::size_t count) {
    got_ += count;
    if (got_ < bytes_.size() || state_ != State::kMore) return;
    if (bytes_.size() > kLengthBytes) {
      state_ = State::kWhole;
      return;
    }
    const auto length = read_length(std::span<const std::byte, kLengthBytes>(bytes_.data(), kLengthBytes));
    if (!length) {
      state_ = State::kBad;
    } else {
      bytes_.resize(kLengthBytes + *length);
    }
  }
  [[nodiscard]] State state() const { return state_; }
  /// Something of it has come.
  [[nodiscard]] bool begun() const { return got_ != 0; }
  /// Without its length; of one that is whole.
  [[nodiscard]] Bytes message() const { return Bytes(bytes_).subspan(kLengthBytes); }
  void clear() { *this = Incoming(); }

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kLengthBytes);
  std::size_t got_ = 0;
  State state_ = State::kMore;
};

class Outgoing {
 public:
  void set(std::vector<std::byte> bytes) {
    bytes_ = std::move(bytes);
    sent_ = 0;
  }
  [[nodiscard]] Bytes rest() const { return Bytes(bytes_).subspan(sent_); }
  [[nodiscard]] bool done() const { return sent_ == bytes_.size(); }
  void sent(std::size_t count) { sent_ += count; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t sent_ = 0;
};

}  // namespace cordon::agent
