// What was observed, within bounds: each path and each executed program once, how often, by whom and by which call.
//
// Pure. A target may name any number of paths, of any bytes: past the bounds calls are counted as lost and not kept. A
// path that is known costs no memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "observe/address.h"
#include "plan/outcome.h"

namespace cordon::observe {

/// Why a call is not in the record.
enum class Why : std::uint8_t {
  kUnreadable,     ///< the memory that its argument points to
  kTooLong,        ///< no end within what the kernel takes
  kDirectoryGone,  ///< what a relative path starts from is deleted, or no directory, or not there
  kTooMany,        ///< a bound of this record
  kNotResolved,    ///< which directory a '..' of it means
  kEndNotSeen,     ///< an execve was let go on, and the process was never seen again
  kCount
};
std::string_view why_name(Why why);

struct Bounds {
  std::size_t paths = 65'536;
  std::size_t programs = 4'096;
  std::size_t addresses = 1'024;
  std::size_t bytes = 16U << 20;  ///< of all texts
};

class Store {
 public:
  explicit Store(Bounds bounds = {}) : bounds_(bounds) {}

  /// A number for the program at this path, for add(). The last one stands for all that there is no room for.
  using Program = std::uint16_t;
  Program program(std::string_view path);

  [[nodiscard]] bool knows(std::string_view path) const { return by_path_.contains(path); }
  /// `row` of plan::kPathCalls.
  void add(std::string_view path, std::uint32_t acts, Program program, std::uint8_t row);
  void add(plan::ExecutedProgram executed);
  void add(const Address& address, Program program, std::uint8_t row);
  void lose(Why why) { ++lost_.at(static_cast<std::size_t>(why)); }

  /// The second first: the first ends the record.
  plan::Observations take(plan::Watching watching);
  [[nodiscard]] std::vector<plan::ReachedAddress> addresses() const;

 private:
  static constexpr std::size_t kMostWitnesses = 8;
  /// The first few, each once.
  template <class T>
  struct Witnesses {
    std::array<T, kMostWitnesses> list{};
    std::uint8_t count = 0;
    void add(T one) {
      for (std::size_t i = 0; i < count; ++i) {
        if (list.at(i) == one) return;
      }
      if (count < list.size()) list.at(count++) = one;
    }
  };
  struct Path {
    std::string text;
    std::uint32_t acts = 0;
    std::uint64_t count = 0;
    Witnesses<Program> programs;
    Witnesses<std::uint8_t> rows;
  };
  struct Reached {
    Address address;
    std::uint64_t count = 0;
    Witnesses<Program> programs;
    Witnesses<std::uint8_t> rows;
  };
  template <class Entry, class Out>
  void name_witnesses(const Entry& entry, Out& out) const;
  [[nodiscard]] bool has_room(std::size_t bytes);

  Bounds bounds_;
  std::size_t bytes_ = 0;
  std::deque<Path> paths_;  ///< does not move what is in it: the index points there
  std::unordered_map<std::string_view, Path*> by_path_;
  std::deque<std::string> programs_;
  std::unordered_map<std::string_view, Program> by_program_;
  std::deque<plan::ExecutedProgram> executed_;
  std::map<std::string, std::size_t> by_execution_;
  std::vector<Reached> reached_;
  std::array<std::uint64_t, static_cast<std::size_t>(Why::kCount)> lost_{};
};

}  // namespace cordon::observe
