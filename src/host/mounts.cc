#include "host/mounts.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/abs_path.h"
#include "base/text.h"
#include "host/small_file.h"

namespace cordon::host {
namespace {

constexpr std::size_t kMostMountinfo = 64U << 20U;

constexpr std::array<std::string_view, 24> kServed = {"nfs",  "nfs4",      "cifs",   "smb3",     "smbfs",    "9p",
                                                      "ceph", "afs",       "fuse",   "fuseblk",  "autofs",   "lustre",
                                                      "gfs",  "gfs2",      "ocfs2",  "coda",     "orangefs", "beegfs",
                                                      "gpfs", "glusterfs", "vboxsf", "virtiofs", "panfs",    "prl_fs"};

/// `type` is answered by a server or a program, which may be gone. The automount that systemd keeps in /proc is not.
bool may_hang(const Mount& mount) {
  if (mount.point.starts_with("/proc/")) return false;
  return mount.type.starts_with("fuse.") || std::ranges::find(kServed, mount.type) != kServed.end();
}

/// proc(5): space, tab, newline and backslash stand as \ooo.
std::string unescape(std::string_view field) {
  std::string out;
  out.reserve(field.size());
  for (std::size_t i = 0; i < field.size(); ++i) {
    const auto octal = [&](std::size_t at) { return at < field.size() && field[at] >= '0' && field[at] <= '7'; };
    if (field[i] == '\\' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      const int value = (field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 + (field[i + 3] - '0');
      out.push_back(static_cast<char>(value));
      i += 3;
    } else {
      out.push_back(field[i]);
    }
  }
  return out;
}

bool has_option(std::string_view options, std::string_view name) {
  const auto all = base::split(options, ',');
  return std::ranges::find(all, name) != all.end();
}

/// The text up to the next space, which is consumed too.
std::string_view next_field(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

constexpr std::array<std::pair<std::uint64_t, std::string_view>, 39> kMagics = {{
    {0xef53, "ext4"},           {0x58465342, "xfs"},       {0x9123683e, "btrfs"},     {0x01021994, "tmpfs"},
    {0x794c7630, "overlay"},    {0x9fa0, "proc"},          {0x62656572, "sysfs"},     {0x6969, "nfs"},
    {0xff534d42, "cifs"},       {0xfe534d42, "smb3"},      {0x01021997, "9p"},        {0x65735546, "fuse"},
    {0x00c36400, "ceph"},       {0x5346414f, "afs"},       {0x0187, "autofs"},        {0xf2f52010, "f2fs"},
    {0x73717368, "squashfs"},   {0xe0f5e1e2, "erofs"},     {0x4d44, "vfat"},          {0x2011bab0, "exfat"},
    {0x2fc12fc1, "zfs"},        {0x1cd1, "devpts"},        {0x63677270, "cgroup2"},   {0x858458f6, "ramfs"},
    {0x27e0eb, "cgroup"},       {0x64626720, "debugfs"},   {0x74726163, "tracefs"},   {0x73636673, "securityfs"},
    {0x62656570, "configfs"},   {0xde5e81e4, "efivarfs"},  {0x6165676c, "pstore"},    {0xcafe4a11, "bpf"},
    {0x19800202, "mqueue"},     {0x6e736673, "nsfs"},      {0x65735543, "fusectl"},   {0x42494e4d, "binfmt_misc"},
    {0x67596969, "rpc_pipefs"}, {0xf97cff8c, "selinuxfs"}, {0x958458f6, "hugetlbfs"},
}};

}  // namespace

MountTable MountTable::read() {
  const auto text = read_small_file("/proc/self/mountinfo", kMostMountinfo);
  return text ? parse(*text) : MountTable();
}

MountTable MountTable::parse(std::string_view mountinfo) {
  MountTable table;
  table.whole_ = mountinfo.ends_with('\n');
  for (std::string_view line : base::split(mountinfo, '\n')) {
    if (line.empty()) continue;
    const auto id = base::parse_decimal(next_field(line));
    const auto parent = base::parse_decimal(next_field(line));
    const std::string_view device = next_field(line);
    const std::string_view root = next_field(line);
    const std::string_view point = next_field(line);
    const std::string_view options = next_field(line);
    while (!line.empty() && next_field(line) != "-") {
    }
    const std::string_view type = next_field(line);
    next_field(line);  // source
    const std::string_view super_options = next_field(line);
    if (!id || !parent || type.empty() || !point.starts_with('/')) {
      table.whole_ = false;
      continue;
    }
    Mount mount{.parent = *parent,
                .point = unescape(point),
                .type = unescape(type),
                .device = std::string(device),
                .root = unescape(root),
                .noexec = has_option(options, "noexec"),
                .read_only = has_option(options, "ro") || has_option(super_options, "ro")};
    if (may_hang(mount)) table.may_hang_.push_back(*id);
    table.by_id_.insert_or_assign(*id, std::move(mount));
  }
  return table;
}

const Mount* MountTable::find(std::uint64_t mount_id) const {
  const auto it = by_id_.find(mount_id);
  return it == by_id_.end() ? nullptr : &it->second;
}

namespace {

/// Which mounts a path leads to. Of the mounts on one parent, one at /a hides one at /a/b: whatever is mounted at /a/b
/// after it stands on the one at /a.
class Visible {
 public:
  explicit Visible(const std::unordered_map<std::uint64_t, Mount>& all) : all_(all) {
    for (const auto& [id, mount] : all) {
      if (id != mount.parent) on_[mount.parent].insert(mount.point);
    }
  }

  [[nodiscard]] bool is_covered(std::uint64_t id, const Mount& mount) const {
    const auto on = on_.find(id);
    return on != on_.end() && on->second.contains(mount.point);
  }

  bool is_reached(std::uint64_t id) {
    std::vector<std::uint64_t> way;
    bool reached = true;
    for (std::uint64_t at = id;;) {
      const auto mount = all_.find(at);
      if (mount == all_.end()) break;
      const auto [known, is_new] = reached_.try_emplace(at, true);
      if (!is_new) {
        reached = known->second;
        break;
      }
      way.push_back(at);
      if (mount->second.parent == at) break;
      reached = !is_behind_another(mount->second);
      if (!reached) break;
      at = mount->second.parent;
    }
    for (const std::uint64_t at : way) reached_[at] = reached;
    return reached;
  }

 private:
  [[nodiscard]] bool is_behind_another(const Mount& mount) const {
    const auto& beside = on_.at(mount.parent);
    const auto parent = all_.find(mount.parent);
    const std::string_view top = parent == all_.end() ? std::string_view("/") : parent->second.point;
    std::string_view at = mount.point;
    while (at.size() > top.size()) {
      at = at.substr(0, std::max<std::size_t>(at.rfind('/'), 1));
      if (at.size() >= top.size() && beside.contains(std::string(at))) return true;
    }
    return false;
  }

  const std::unordered_map<std::uint64_t, Mount>& all_;
  std::unordered_map<std::uint64_t, std::unordered_set<std::string>> on_;
  std::unordered_map<std::uint64_t, bool> reached_;
};

}  // namespace

std::optional<std::vector<plan::MountPlace>> MountTable::places() const {
  if (!whole_) return std::nullopt;
  Visible visible(by_id_);
  std::vector<plan::MountPlace> out;
  for (const auto& [id, mount] : by_id_) {
    if (!visible.is_covered(id, mount) && visible.is_reached(id)) out.push_back({mount.point, mount.type});
  }
  std::ranges::sort(out, {}, [](const plan::MountPlace& place) { return std::tie(place.point, place.type); });
  return out;
}

const Mount* MountTable::may_hang_above(std::string_view path) const {
  const auto real = base::AbsPath::parse(path);
  const Mount* innermost = nullptr;
  for (const std::uint64_t id : may_hang_) {
    const Mount* mount = find(id);
    const auto point = base::AbsPath::parse(mount->point);
    if (!real || !point || !real->is_within(*point)) continue;
    if (innermost == nullptr || innermost->point.size() <= mount->point.size()) innermost = mount;
  }
  return innermost;
}

Mount describe_mount(const struct ::statfs& answer) {
  const auto magic = static_cast<std::uint64_t>(answer.f_type) & 0xffffffffU;
  const auto flags = static_cast<unsigned long>(answer.f_flags);
  Mount mount{.noexec = (flags & ST_NOEXEC) != 0, .read_only = (flags & ST_RDONLY) != 0};
  const auto* known = std::ranges::find(kMagics, magic, [](const auto& entry) { return entry.first; });
  mount.type = known != kMagics.end() ? std::string(known->second) : "unknown";
  return mount;
}

}  // namespace cordon::host
