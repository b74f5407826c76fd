#include "support/folding.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/require.h"

namespace cordon::test {
namespace {

constexpr std::uint64_t kValidSeconds = 60;
constexpr std::uint32_t kMostWritten = 16'384;

class Server {
 public:
  Server(int device, std::string root) : device_(device), paths_{"", std::move(root)} {}

  [[noreturn]] void serve() {
    std::vector<char> request(kMostWritten + 65'536);
    for (;;) {
      const ssize_t length = ::read(device_, request.data(), request.size());
      if (length < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT)) continue;
      if (length < static_cast<ssize_t>(sizeof(fuse_in_header))) ::_exit(0);  // the mount is gone
      std::memcpy(&head_, request.data(), sizeof head_);
      answer(request.data() + sizeof head_, static_cast<std::size_t>(length) - sizeof head_);
    }
  }

 private:
  template <class T>
  static T as(const char* body) {
    T out;
    std::memcpy(&out, body, sizeof out);
    return out;
  }
  void reply(int code, const void* data = nullptr, std::size_t size = 0) const {
    fuse_out_header out{
        .len = static_cast<std::uint32_t>(sizeof(fuse_out_header) + size), .error = -code, .unique = head_.unique};
    const std::array<iovec, 2> parts{{{&out, sizeof out}, {const_cast<void*>(data), size}}};
    static_cast<void>(::writev(device_, parts.data(), size == 0 ? 1 : 2));
  }
  template <class T>
  void reply_with(const T& data) const {
    reply(0, &data, sizeof data);
  }

  [[nodiscard]] const std::string& path() const { return paths_.at(head_.nodeid); }

  /// One number for an object, however it is spelled.
  std::uint64_t node_of(const std::string& path) {
    const auto [known, is_new] = nodes_.try_emplace(path, paths_.size());
    if (is_new) paths_.push_back(path);
    return known->second;
  }

  static std::vector<std::pair<std::string, unsigned char>> entries(const std::string& directory) {
    std::vector<std::pair<std::string, unsigned char>> out;
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), &::closedir);
    while (const dirent* entry = stream ? ::readdir(stream.get()) : nullptr)
      out.emplace_back(entry->d_name, entry->d_type);
    return out;
  }

  static fuse_attr attributes(const struct stat& st) {
    fuse_attr out{};
    out.ino = st.st_ino;
    out.size = static_cast<std::uint64_t>(st.st_size);
    out.blocks = static_cast<std::uint64_t>(st.st_blocks);
    out.mtime = static_cast<std::uint64_t>(st.st_mtim.tv_sec);
    out.ctime = static_cast<std::uint64_t>(st.st_ctim.tv_sec);
    out.mode = st.st_mode;
    out.nlink = static_cast<std::uint32_t>(st.st_nlink);
    out.uid = st.st_uid;
    out.gid = st.st_gid;
    out.blksize = 4096;
    return out;
  }

  void look_up(std::string_view name) {
    for (const auto& [entry, type] : entries(path())) {
      if (::strcasecmp(entry.c_str(), std::string(name).c_str()) != 0) continue;
      const std::string found = path() + "/" + entry;
      struct stat st{};
      if (::lstat(found.c_str(), &st) != 0) break;
      fuse_entry_out out{};
      out.nodeid = node_of(found);
      out.entry_valid = out.attr_valid = kValidSeconds;
      out.attr = attributes(st);
      return reply_with(out);
    }
    reply(ENOENT);
  }

  void tell_attributes() const {
    struct stat st{};
    if (::lstat(path().c_str(), &st) != 0) return reply(errno);
    fuse_attr_out out{};
    out.attr_valid = kValidSeconds;
    out.attr = attributes(st);
    reply_with(out);
  }

  void open_file(std::uint32_t flags) const {
    const int fd = ::open(path().c_str(), static_cast<int>(flags & O_ACCMODE) | O_CLOEXEC);
    if (fd < 0) return reply(errno);
    fuse_open_out out{};
    out.fh = static_cast<std::uint64_t>(fd);
    reply_with(out);
  }

  void read_file(const fuse_read_in& asked) const {
    std::vector<char> out(asked.size);
    const ssize_t got = ::pread(static_cast<int>(asked.fh), out.data(), out.size(), static_cast<off_t>(asked.offset));
    got < 0 ? reply(errno) : reply(0, out.data(), static_cast<std::size_t>(got));
  }

  void write_file(const fuse_write_in& asked, const char* data) const {
    const ssize_t got = ::pwrite(static_cast<int>(asked.fh), data, asked.size, static_cast<off_t>(asked.offset));
    if (got < 0) return reply(errno);
    fuse_write_out out{};
    out.size = static_cast<std::uint32_t>(got);
    reply_with(out);
  }

  void read_directory(const fuse_read_in& asked) const {
    std::string out;
    std::uint64_t at = 0;
    for (const auto& [name, type] : entries(path())) {
      if (++at <= asked.offset) continue;
      fuse_dirent entry{};
      entry.ino = 1;
      entry.off = at;
      entry.namelen = static_cast<std::uint32_t>(name.size());
      entry.type = type;
      std::string record(reinterpret_cast<const char*>(&entry), FUSE_NAME_OFFSET);
      record += name;
      record.resize(FUSE_DIRENT_ALIGN(record.size()));
      if (out.size() + record.size() > asked.size) break;
      out += record;
    }
    reply(0, out.data(), out.size());
  }

  void answer(const char* body, std::size_t size) {
    switch (head_.opcode) {
      case FUSE_INIT: {
        fuse_init_out out{};
        out.major = FUSE_KERNEL_VERSION;
        out.minor = 31;
        out.max_write = kMostWritten;
        return reply_with(out);
      }
      case FUSE_LOOKUP:
        return look_up(std::string_view(body, ::strnlen(body, size)));
      case FUSE_GETATTR:
      case FUSE_SETATTR:
        return tell_attributes();
      case FUSE_OPEN:
        return open_file(as<fuse_open_in>(body).flags);
      case FUSE_READ:
        return read_file(as<fuse_read_in>(body));
      case FUSE_WRITE:
        return write_file(as<fuse_write_in>(body), body + sizeof(fuse_write_in));
      case FUSE_OPENDIR:
        return reply_with(fuse_open_out{});
      case FUSE_READDIR:
        return read_directory(as<fuse_read_in>(body));
      case FUSE_RELEASE:
        ::close(static_cast<int>(as<fuse_release_in>(body).fh));
        return reply(0);
      case FUSE_RELEASEDIR:
        return reply(0);
      case FUSE_STATFS: {
        fuse_statfs_out out{};
        out.st.bsize = 4096;
        out.st.namelen = 255;
        return reply_with(out);
      }
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT:
        return;  // nobody waits for an answer
      default:
        return reply(ENOSYS);
    }
  }

  int device_;
  fuse_in_header head_{};
  std::vector<std::string> paths_;  ///< by node; 1 is the root
  std::map<std::string, std::uint64_t> nodes_;
};

}  // namespace

FoldingMount::FoldingMount(const std::string& backing, std::string point) : point_(std::move(point)) {
  const int device = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  require(device >= 0, "/dev/fuse");
  const std::string options =
      "fd=" + std::to_string(device) + ",rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions";
  require(::mount("fold", point_.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0, "mount " + point_);
  server_ = ::fork();
  require(server_ >= 0, "fork");
  if (server_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Server(device, backing).serve();
  }
  ::close(device);
}

FoldingMount::~FoldingMount() {
  ::umount2(point_.c_str(), MNT_DETACH);
  ::kill(server_, SIGKILL);
  ::waitpid(server_, nullptr, 0);
}

}  // namespace cordon::test
