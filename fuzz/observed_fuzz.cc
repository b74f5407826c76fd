// observed_fuzz: any bytes as what a watched process shows of itself: the files of its directory in /proc, the paths
// and the addresses that its calls name. A joined path is absolute and normal, nothing is longer than its bound, and
// what is kept is kept once.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "observe/address.h"
#include "observe/lexical.h"
#include "observe/process_text.h"
#include "observe/store.h"
#include "plan/path_calls.h"

namespace {

using namespace cordon;

void check_path(std::string_view path, std::string_view above) {
  CORDON_CHECK(path.starts_with('/') && path.starts_with(above));
  CORDON_CHECK(path == "/" || !path.ends_with('/'));
  CORDON_CHECK(!path.contains("//") && !path.contains("/./") && !path.ends_with("/."));
  // Behind a name ".." stays: where that leads the host's links say (cli/climbing.h). At the root it is nothing.
  CORDON_CHECK(!path.starts_with("/../") && path != "/..");
}

void read_process(std::string_view text, std::span<const std::byte> bytes) {
  const auto image = observe::parse_image(text);
  CORDON_CHECK(image == observe::parse_image(text));
  (void)observe::parse_process(text);
  const std::uint64_t loader = observe::loader_address(bytes);
  const std::string_view mapped = observe::mapped_at(text, loader);
  CORDON_CHECK(mapped.empty() || (mapped.starts_with('/') && !mapped.contains('\n')));
  const observe::Arguments arguments = observe::parse_arguments(text);
  CORDON_CHECK(arguments.list.size() <= observe::kMostArguments);
  std::size_t size = 0;
  for (const std::string& one : arguments.list) size += one.size();
  CORDON_CHECK(size <= observe::kMostArgumentBytes);
  for (const std::string& named : arguments.list) {
    const auto through = observe::interpreters(named, arguments.list);
    CORDON_CHECK(through.empty() || through.front() == named);
    for (std::size_t i = 1; i < through.size(); ++i) CORDON_CHECK(through[i].starts_with('/'));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto bytes = std::as_bytes(std::span(data, size));
  read_process(text, bytes);
  const auto address = observe::parse_address(bytes);
  if (address) {
    CORDON_CHECK(address->port != 0 && !observe::address_text(*address).empty());
    (void)observe::is_own(*address);
  }
  // The first line is where a path starts from, the rest the path; neither has a NUL.
  const std::string_view until = text.substr(0, text.find('\0'));
  const std::size_t line = until.find('\n');
  const std::string_view from = until.substr(0, line);
  const std::string_view path = line == until.npos ? std::string_view() : until.substr(line + 1);
  std::string out, anchor;
  observe::join({}, from, observe::Root::kOfTheTarget, anchor);
  check_path(anchor, "/");
  observe::join(anchor, path, observe::Root::kOfTheTarget, out);
  check_path(out, "/");
  observe::join(anchor, path, observe::Root::kDirectory, out);
  check_path(out, anchor);
  observe::Store store({.paths = 4, .programs = 2, .addresses = 2, .bytes = 256});
  for (const std::string& one : {out, anchor, out}) {
    const auto program = store.program(one);
    store.add(one, plan::kActRead, program, 0);
    if (address) store.add(*address, program, 0);
  }
  CORDON_CHECK(store.addresses().size() <= 1);
  const plan::Observations kept = store.take(plan::Watching::kPaths);
  CORDON_CHECK(kept.paths.size() <= 2);
  std::uint64_t count = kept.lost;
  for (const plan::ObservedPath& one : kept.paths) count += one.count;
  CORDON_CHECK(count == 3);
  return 0;
}
