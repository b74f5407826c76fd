#include "enforce/promote/names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace cordon::enforce::promote {
namespace {

/// What full case folding (Unicode, CaseFolding.txt, C and F) turns into ASCII letters.
constexpr std::array<std::pair<char32_t, std::string_view>, 11> kIntoAscii{{
    {U'\u017f', "s"},   // long s
    {U'\u212a', "k"},   // Kelvin
    {U'\u00df', "ss"},  // sharp s
    {U'\u1e9e', "ss"},  // its capital
    {U'\ufb00', "ff"},
    {U'\ufb01', "fi"},
    {U'\ufb02', "fl"},
    {U'\ufb03', "ffi"},
    {U'\ufb04', "ffl"},
    {U'\ufb05', "st"},
    {U'\ufb06', "st"},
}};

char small(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

}  // namespace

std::string fold(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (std::size_t at = 0; at < name.size();) {
    if (static_cast<unsigned char>(name[at]) < 0x80) {
      out += small(name[at++]);
      continue;
    }
    const base::Rune rune = base::decode_rune(name.substr(at));
    const auto* found = std::ranges::find(kIntoAscii, rune.value, &std::pair<char32_t, std::string_view>::first);
    if (rune.valid && found != kIntoAscii.end())
      out += found->second;
    else if (!rune.valid || !base::is_unsafe_rune(rune.value))
      out += name.substr(at, rune.length);
    at += rune.length;
  }
  return out;
}

ProtectedNames::ProtectedNames(const std::vector<std::string>& shields) {
  for (const std::string& shield : shields) {
    const std::string folded = fold(shield);
    const std::size_t slash = folded.rfind('/');
    if (slash == std::string::npos)
      names_.insert(folded);
    else
      tails_[folded.substr(slash + 1)].push_back(folded);
  }
}

std::optional<Reason> ProtectedNames::why_not(std::string_view path) const {
  const std::string name = fold(path.substr(path.rfind('/') + 1));
  if (name == ".git" || name == "git~1") return Reason::kGitRepository;  // the second is its DOS name
  if (names_.contains(name)) return Reason::kShielded;
  const auto tails = tails_.find(name);
  if (tails == tails_.end()) return std::nullopt;
  const std::string whole = fold(path);
  for (const std::string& tail : tails->second)
    if (whole == tail || whole.ends_with("/" + tail)) return Reason::kShielded;
  return std::nullopt;
}

void BareRepository::add(std::string_view name) {
  const std::size_t size = name.size();
  if (size < 4 || size > 40) return;  // long enough for every disguise of these
  const std::string folded = fold(name);
  head_ = head_ || folded == "head";
  objects_ = objects_ || folded == "objects";
  refs_ = refs_ || folded == "refs";
  common_ = common_ || folded == "commondir";
}

}  // namespace cordon::enforce::promote
