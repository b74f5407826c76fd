#include "enforce/supervise/attributes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <span>
#include <string_view>

#include "kernel/file.h"
#include "kernel/inode.h"
#include "kernel/process.h"

namespace cordon::enforce::supervise {
namespace {

using base::Fd;
using base::FdView;

enum class Act : std::uint8_t { kMode, kOwner, kOldTime, kOldTimes, kTimes, kSetXattr, kRemoveXattr };

/// How a call names its object and what it asks for: places of its arguments, -1 for none.
struct Shape {
  long number;
  Act act;
  int directory;  ///< of a descriptor that `path` starts from, or is the object itself where there is no path
  int path;
  int first;  ///< the first argument that says what is to be changed
  int flags = -1;
  bool follows = true;
};

constexpr std::array kShapes = std::to_array<Shape>({
#ifdef SYS_chmod
    {SYS_chmod, Act::kMode, -1, 0, 1},
    {SYS_chown, Act::kOwner, -1, 0, 1},
    {SYS_lchown, Act::kOwner, -1, 0, 1, -1, false},
    {SYS_utime, Act::kOldTime, -1, 0, 1},
    {SYS_utimes, Act::kOldTimes, -1, 0, 1},
    {SYS_futimesat, Act::kOldTimes, 0, 1, 2},
#endif
    {SYS_fchmod, Act::kMode, 0, -1, 1},
    {SYS_fchmodat, Act::kMode, 0, 1, 2},
    {SYS_fchown, Act::kOwner, 0, -1, 1},
    {SYS_fchownat, Act::kOwner, 0, 1, 2, 4},
    {SYS_utimensat, Act::kTimes, 0, 1, 2, 3},
    {SYS_setxattr, Act::kSetXattr, -1, 0, 1},
    {SYS_lsetxattr, Act::kSetXattr, -1, 0, 1, -1, false},
    {SYS_fsetxattr, Act::kSetXattr, 0, -1, 1},
    {SYS_removexattr, Act::kRemoveXattr, -1, 0, 1},
    {SYS_lremovexattr, Act::kRemoveXattr, -1, 0, 1, -1, false},
    {SYS_fremovexattr, Act::kRemoveXattr, 0, -1, 1},
});

const Shape* shape_of(int number) {
  const auto found = std::ranges::find(kShapes, number, &Shape::number);
  return found == kShapes.end() ? nullptr : found;
}

template <class T>
int code_of(const kernel::Sys<T>& done) {
  return done ? 0 : done.error().code;
}

/// As the target's user, for the time of its life: what root may, the target may not. Of this thread alone.
class AsTarget {
 public:
  AsTarget(std::optional<uid_t> uid, gid_t gid) : other_(uid.has_value()) {
    if (other_) ready_ = kernel::setfsgid(gid) && kernel::setfsuid(*uid);
  }
  AsTarget(const AsTarget&) = delete;
  AsTarget& operator=(const AsTarget&) = delete;
  ~AsTarget() {
    if (!other_) return;
    static_cast<void>(kernel::setfsuid(::geteuid()).has_value());
    static_cast<void>(kernel::setfsgid(::getegid()).has_value());
  }
  [[nodiscard]] bool ready() const { return ready_; }

 private:
  bool other_;
  bool ready_ = true;
};

/// One call being served.
class Serving {
 public:
  Serving(const Attributes& attributes, const ExecListener& listener, const ExecListener::Call& call,
          const Shape& shape)
      : attributes_(attributes), listener_(listener), call_(call), shape_(shape) {}

  int serve(uid_t owner) {
    auto memory = kernel::openat(kernel::kHere, process("mem").c_str(), O_RDONLY);
    if (!memory) return EPERM;
    memory_ = std::move(*memory);
    if (const int code = open_object(); code != 0) return code;
    const auto facts = kernel::statx(object_);
    if (!facts) return facts.error().code;
    if (!attributes_.is_granted(place_of_object())) return EPERM;
    const int code = read_request();
    // Whose memory and descriptors that was, was known all the while.
    if (code != 0 || !listener_.is_pending(call_)) return code != 0 ? code : EPERM;
    if (facts->stx_uid != owner) return EPERM;
    return change(*facts);
  }

 private:
  [[nodiscard]] std::string process(std::string_view name) const { return fmt::format("/proc/{}/{}", call_.pid, name); }
  [[nodiscard]] std::uint64_t argument(int place) const { return call_.arguments[place]; }
  [[nodiscard]] std::uint64_t asked(int which) const { return argument(shape_.first + which); }

  bool read(std::uint64_t address, std::span<std::byte> into) const {
    const auto got = kernel::pread(memory_, into, address);
    return got && *got == into.size();
  }
  /// A text with its NUL, of at most `most` bytes; nothing where it is longer or cannot be read.
  std::optional<std::string> text(std::uint64_t address, std::size_t most) const {
    constexpr std::size_t kPage = 4096;
    std::string out;
    std::array<std::byte, kPage> page;
    while (out.size() < most) {
      const std::size_t size = kPage - address % kPage;  // what follows may not be there
      const auto got = kernel::pread(memory_, std::span(page).first(size), address);
      if (!got || *got == 0) return std::nullopt;
      const auto* bytes = reinterpret_cast<const char*>(page.data());
      const std::size_t length = ::strnlen(bytes, *got);
      out.append(bytes, length);
      if (length < *got) return out.size() < most ? std::optional(out) : std::nullopt;
      address += *got;
    }
    return std::nullopt;
  }

  int open_object() {
    const auto flags = shape_.flags >= 0 ? static_cast<int>(argument(shape_.flags)) : 0;
    const bool follows = shape_.follows && (flags & AT_SYMLINK_NOFOLLOW) == 0;
    const bool named = shape_.path >= 0 && argument(shape_.path) != 0;
    if (!named && shape_.directory < 0) return EFAULT;
    if (!named) return open_descriptor(static_cast<int>(argument(shape_.directory)));
    const auto path = text(argument(shape_.path), PATH_MAX);
    if (!path) return EFAULT;
    if (path->empty()) {
      if ((flags & AT_EMPTY_PATH) == 0 || shape_.directory < 0) return ENOENT;
      return open_descriptor(static_cast<int>(argument(shape_.directory)));
    }
    if (const auto own = own_descriptor(*path)) return open_descriptor(*own);
    return open_path(*path, follows);
  }

  /// The descriptor that a path names by way of /proc: there it would be one of ours.
  [[nodiscard]] std::optional<int> own_descriptor(std::string_view path) const {
    for (const std::string& prefix : {std::string("/proc/self/fd/"), std::string("/dev/fd/"),
                                      std::string("/proc/thread-self/fd/"), fmt::format("/proc/{}/fd/", call_.pid)}) {
      if (!path.starts_with(prefix)) continue;
      int number = -1;
      const char* const end = path.data() + path.size();
      const auto parsed = std::from_chars(path.data() + prefix.size(), end, number);
      if (parsed.ec == std::errc() && parsed.ptr == end && number >= 0) return number;
    }
    return std::nullopt;
  }

  int open_descriptor(int number) {
    if (number == AT_FDCWD) return take(kernel::openat(kernel::kHere, process("cwd").c_str(), O_PATH));
    if (number < 0) return EBADF;
    auto opened = kernel::openat(kernel::kHere, process(fmt::format("fd/{}", number)).c_str(), O_PATH);
    if (!opened && opened.error().code == ENOENT) return EBADF;
    return take(std::move(opened));
  }

  int open_path(const std::string& path, bool follows) {
    // No magic link is followed: in /proc they would lead to what is ours.
    const kernel::OpenHow how{.flags = static_cast<std::uint64_t>(O_PATH | (follows ? 0 : O_NOFOLLOW)),
                              .resolve = kernel::kResolveNoMagiclinks};
    if (path.front() == '/') return take(kernel::openat2(kernel::kHere, path.c_str(), how));
    const int from = shape_.directory >= 0 ? static_cast<int>(argument(shape_.directory)) : AT_FDCWD;
    if (const int code = open_descriptor(from); code != 0) return code;
    const Fd directory = std::move(object_);
    return take(kernel::openat2(directory, path.c_str(), how));
  }

  int take(kernel::Sys<Fd> opened) {
    if (!opened) return opened.error().code;
    object_ = std::move(*opened);
    return 0;
  }

  [[nodiscard]] std::string place_of_object() const {
    std::array<char, PATH_MAX> text{};
    const auto length = kernel::readlinkat(kernel::kHere, fmt::format("/proc/self/fd/{}", object_.get()).c_str(), text);
    return length && *length < text.size() ? std::string(text.data(), *length) : std::string();
  }

  /// All that the change needs of the caller's memory.
  int read_request() {
    switch (shape_.act) {
      case Act::kMode:
      case Act::kOwner:
        return 0;
      case Act::kOldTime:
      case Act::kOldTimes:
      case Act::kTimes:
        return read_times();
      case Act::kSetXattr:
      case Act::kRemoveXattr:
        return read_xattr();
    }
    return ENOSYS;
  }

  int read_times() {
    if (asked(0) == 0) {
      times_ = {timespec{.tv_sec = 0, .tv_nsec = UTIME_NOW}, timespec{.tv_sec = 0, .tv_nsec = UTIME_NOW}};
      return 0;
    }
    if (shape_.act == Act::kOldTime) {
      std::array<std::int64_t, 2> seconds{};
      if (!read(asked(0), std::as_writable_bytes(std::span(seconds)))) return EFAULT;
      for (std::size_t i = 0; i < times_.size(); ++i) times_[i] = {.tv_sec = seconds[i], .tv_nsec = 0};
      return 0;
    }
    if (!read(asked(0), std::as_writable_bytes(std::span(times_)))) return EFAULT;
    if (shape_.act == Act::kTimes) return 0;
    constexpr std::int64_t kMicroseconds = 1'000'000;  // a timeval has the same layout
    for (timespec& time : times_) {
      if (time.tv_nsec < 0 || time.tv_nsec >= kMicroseconds) return EINVAL;
      time.tv_nsec *= 1000;
    }
    return 0;
  }

  int read_xattr() {
    constexpr std::size_t kMostName = 256;
    const auto name = text(asked(0), kMostName);
    if (!name) return ERANGE;
    if (!name->starts_with("user.")) return EOPNOTSUPP;  // access control lists, capabilities, labels
    xattr_ = *name;
    if (shape_.act == Act::kRemoveXattr) return 0;
    constexpr std::uint64_t kMostValue = 65'536;
    if (asked(2) > kMostValue) return E2BIG;
    value_.resize(asked(2));
    return value_.empty() || read(asked(1), value_) ? 0 : EFAULT;
  }

  int change(const struct ::statx& facts) {
    switch (shape_.act) {
      case Act::kMode: {
        const auto mode = static_cast<mode_t>(asked(0));
        if ((mode & (S_ISUID | S_ISGID)) != 0) return EPERM;
        if (S_ISLNK(facts.stx_mode)) return EOPNOTSUPP;
        return code_of(kernel::chmod_object(object_, mode & 07777));
      }
      case Act::kOwner: {
        // Nobody without a capability gives a file away; that it stays whose it is, is no change.
        const auto uid = static_cast<uid_t>(asked(0));
        const auto gid = static_cast<gid_t>(asked(1));
        const bool same = (uid == uid_t(-1) || uid == facts.stx_uid) && (gid == gid_t(-1) || gid == facts.stx_gid);
        return same ? 0 : EPERM;
      }
      case Act::kOldTime:
      case Act::kOldTimes:
      case Act::kTimes:
        return code_of(kernel::set_object_times(object_, times_));
      case Act::kSetXattr:
        return code_of(kernel::set_object_xattr(object_, xattr_.c_str(), value_, static_cast<int>(asked(3))));
      case Act::kRemoveXattr:
        return code_of(kernel::remove_object_xattr(object_, xattr_.c_str()));
    }
    return ENOSYS;
  }

  const Attributes& attributes_;
  const ExecListener& listener_;
  const ExecListener::Call& call_;
  const Shape& shape_;
  Fd memory_, object_;
  std::array<timespec, 2> times_{};
  std::string xattr_;
  std::vector<std::byte> value_;
};

}  // namespace

Attributes::Attributes(const plan::Plan& plan) {
  constexpr std::uint64_t kWriteFile = 1ULL << 1;
  for (const plan::Step& step : plan.steps) {
    if (const auto* grant = std::get_if<plan::step::Grant>(&step.act); grant != nullptr && (grant->access & kWriteFile))
      roots_.push_back(grant->source);
    if (const auto* own = std::get_if<plan::step::PrivateDirectory>(&step.act)) {
      const std::string place = (own->parent == "/" ? "" : own->parent) + "/" + own->name;
      roots_.push_back(place + "/home");
      roots_.push_back(place + "/tmp");
    }
    if (const auto* run_as = std::get_if<plan::step::RunAs>(&step.act)) {
      uid_ = run_as->uid;
      gid_ = run_as->gid;
    }
  }
}

bool Attributes::is_one(int number) { return shape_of(number) != nullptr; }

bool Attributes::is_granted(std::string_view path) const {
  return std::ranges::any_of(roots_, [&](const std::string& root) {
    return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
  });
}

int Attributes::serve(const ExecListener& listener, const ExecListener::Call& call) const {
  const Shape* shape = shape_of(call.number);
  if (shape == nullptr) return ENOSYS;
  const AsTarget as_target(uid_, gid_);
  if (!as_target.ready()) return EPERM;
  return Serving(*this, listener, call, *shape).serve(uid_.value_or(::geteuid()));
}

}  // namespace cordon::enforce::supervise
