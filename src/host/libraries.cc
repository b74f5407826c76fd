#include "host/libraries.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "host/file_reader.h"

namespace cordon::host {
namespace {

constexpr std::size_t kMostDirectories = 64;
constexpr std::size_t kTextOfOneLookUp = 256;

// Where glibc and musl look in the end, on the distributions that there are.
constexpr std::array kDefaults = std::to_array<std::string_view>({
#if defined(__x86_64__)
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
#else
    "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
#endif
    "/lib64", "/usr/lib64", "/lib", "/usr/local/lib", "/usr/lib"});

std::string_view directory_of(std::string_view path) { return path.substr(0, path.rfind('/')); }

/// $ORIGIN in either spelling; "" for what has another variable in it or is relative: it would be to whatever directory
/// the program is started in.
std::string expand(std::string_view entry, std::string_view origin) {
  std::string out(entry);
  for (const std::string_view spelling : {"${ORIGIN}", "$ORIGIN"}) {
    for (std::size_t at = out.find(spelling); at != std::string::npos; at = out.find(spelling, at + origin.size())) {
      out.replace(at, spelling.size(), origin);
      if (out.size() > kLongestPath) return {};  // a text of nothing but $ORIGIN would become megabytes
    }
  }
  return out.starts_with('/') && out.find('$') == std::string::npos ? out : std::string();
}

}  // namespace

/// One program and all that it needs.
class LibrarySearch {
 public:
  LibrarySearch(Libraries& known, std::string_view library_path) : known_(known), library_path_(library_path) {}

  plan::LibraryFact run(const std::string& program) {
    fact_.asked = program;
    Resolver::Found found = known_.resolver_.find(program, Keep::kIfRoom);
    if (found.node == nullptr || !found.node->is_file()) {
      fact_.whole = false;
      return std::move(fact_);
    }
    main_ = known_.needs_of(*found.node);
    fact_.whole = main_.has_value();
    if (main_) follow(*main_, directory_of(found.fact.real));
    // Each pass takes what the one before it found.
    for (std::size_t next = 0; next < queue_.size(); ++next) {
      const auto [needs, origin] = queue_[next];
      follow(*needs, origin);
    }
    fact_.whole = fact_.whole && known_.left_ != 0;
    fact_.searched.assign(searched_.begin(), searched_.end());
    return std::move(fact_);
  }

 private:
  struct Waiting {
    const ElfNeeds* needs;
    std::string origin;
  };

  void follow(const ElfNeeds& needs, std::string_view origin) {
    if (origin_.empty()) origin_ = origin;
    for (const std::string& name : needs.names) {
      if (!seen_.insert(name).second) continue;
      const bool spent = !known_.spend(1 + name.size() / kTextOfOneLookUp);
      if (spent || fact_.files.size() == kMostLibraries || fact_.missing.size() == kMostLibraries) {
        fact_.whole = false;
        return;
      }
      if (!find(name, needs, origin)) fact_.missing.push_back(name);
    }
  }

  bool find(const std::string& name, const ElfNeeds& needs, std::string_view origin) {
    if (name.find('/') != std::string::npos) return name.starts_with('/') && take(name);
    if (needs.runpath.empty()) {
      if (in_list(needs.rpath, origin, name)) return true;
      if (main_->runpath.empty() && in_list(main_->rpath, origin_, name)) return true;
    }
    if (in_list(library_path_, origin_, name) || in_list(needs.runpath, origin, name)) return true;
    const LoaderCache& cache = known_.cache();
    searched_.emplace(directory_of(known_.cache_file_));
    bool any = false;  // of several (for newer processors) any may be taken
    for (auto [at, end] = cache.equal_range(name); at != end; ++at) any = take(at->second) || any;
    if (any) return true;
    for (const std::string_view directory : kDefaults) {
      if (take(std::string(directory) + "/" + name)) return true;
    }
    return false;
  }

  bool in_list(std::string_view list, std::string_view origin, const std::string& name) {
    if (list.empty()) return false;
    std::size_t directories = 0;
    for (const std::string_view entry : base::split(list, ':')) {
      if (++directories > kMostDirectories || !known_.spend(1)) return fact_.whole = false;
      const std::string directory = expand(entry, origin);
      if (!directory.empty() && take(directory + "/" + name)) return true;
    }
    return false;
  }

  /// A file that the loader would not map is passed over, as the loader does.
  bool take(const std::string& path) {
    if (path.size() > kLongestPath || !known_.spend(1)) return false;
    const std::string_view directory = directory_of(path);
    searched_.emplace(directory.empty() ? "/" : directory);
    Resolver::Found found = known_.resolver_.find(path, Keep::kIfRoom);
    if (found.node == nullptr || !found.node->is_file()) return false;
    const auto& needs = known_.needs_of(*found.node);
    if (!needs) return false;
    if (!taken_.insert(found.node).second) return true;
    queue_.push_back({&*needs, std::string(directory_of(path))});
    fact_.files.push_back(std::move(found.fact));
    return true;
  }

  Libraries& known_;
  std::string_view library_path_;
  plan::LibraryFact fact_;
  std::optional<ElfNeeds> main_;
  std::string origin_;  ///< of the program
  std::set<std::string> seen_;
  std::set<std::string> searched_;
  std::set<const Node*> taken_;
  std::vector<Waiting> queue_;
};

plan::LibraryFact Libraries::find(const std::string& program, const std::string& library_path) {
  return LibrarySearch(*this, library_path).run(program);
}

bool Libraries::spend(std::size_t look_ups) {
  left_ -= std::min(left_, look_ups);
  return left_ != 0;
}

const std::optional<ElfNeeds>& Libraries::needs_of(Node& file) {
  const auto [at, fresh] = known_.try_emplace(&file);
  if (!fresh) return at->second;
  auto fd = tree_.open_file(file);
  if (!fd) return at->second;
  const FileReader reader(std::move(*fd));
  at->second = read_elf_needs([&](std::uint64_t from, std::span<std::byte> into) { return reader.fill(from, into); });
  if (!at->second) return at->second;
  std::size_t text = at->second->rpath.size() + at->second->runpath.size();
  for (const std::string& name : at->second->names) text += name.size();
  (void)spend(text / kTextOfOneLookUp);
  return at->second;
}

const LoaderCache& Libraries::cache() {
  if (cache_) return *cache_;
  cache_.emplace();
  Resolver::Found found = resolver_.find(cache_file_, Keep::kIfRoom);
  if (found.node == nullptr || !found.node->is_file()) return *cache_;
  auto fd = tree_.open_file(*found.node);
  if (!fd) return *cache_;
  std::string bytes;
  for (std::size_t have = 0; have <= kLargestLoaderCache;) {
    constexpr std::size_t kChunk = 262'144;
    bytes.resize(have + kChunk);
    const auto got = kernel::pread(*fd, std::as_writable_bytes(std::span(bytes)).subspan(have), have);
    bytes.resize(have + got.value_or(0));
    if (got.value_or(0) == 0) break;
    have += *got;
  }
  *cache_ = parse_loader_cache(bytes);
  return *cache_;
}

}  // namespace cordon::host
