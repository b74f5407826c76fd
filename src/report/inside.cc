#include "report/inside.h"

#include <linux/landlock.h>

#include <algorithm>

#include "base/abs_path.h"

namespace cordon::report {
namespace {

namespace step = plan::step;

Sight sight_of(const plan::MountAttributes& attributes, const plan::Step& of) {
  if (of.at.line == 0) return Sight::kOwn;  // no line asked for it: every run has it
  // What a program needs to be started, which is the system's as it is without a list.
  if (of.reason == "interpreter" || of.reason.starts_with("exec: ")) return Sight::kOwn;
  return attributes.read_only ? Sight::kReadable : Sight::kWritable;
}

Sight sight_of(step::Shield shield) { return shield == step::Shield::kHidden ? Sight::kHidden : Sight::kHeld; }

}  // namespace

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? std::string_view("/") : path.substr(0, slash);
}

Inside::Inside(const plan::Plan& plan) {
  for (const plan::Step& step : plan.steps) put(step);
  const bool requested = std::ranges::find(plan.requested, plan::Layer::kExec) != plan.requested.end();
  lists_programs_ = requested && !plan.exec_closed && !startable_.empty();
}

bool Inside::starts(std::string_view real) const {
  return std::ranges::any_of(startable_, [&](const std::string& one) {
    return real == one || (real.starts_with(one) && real.substr(one.size()).starts_with('/'));
  });
}

bool Inside::is_partial(std::string_view directory) const {
  const auto place = places_.find(directory);
  return place != places_.end() && place->second.sight == Sight::kOwn && !place->second.covers;
}

void Inside::put(const plan::Step& planned) {
  const auto place = [this](const std::string& target, Sight sight, bool covers = true) {
    if (covers) places_.insert_or_assign(target, Place{.sight = sight});
    places_.try_emplace(target, Place{.sight = sight, .covers = covers});
    for (std::string_view above = parent_of(target);; above = parent_of(above)) {
      // Below a grant it is the grant's, whatever a shield holds in it.
      if (at(above) == Sight::kAbsent)
        places_.try_emplace(std::string(above), Place{.sight = Sight::kOwn, .covers = false});
      if (above == "/") break;
    }
  };
  if (const auto* bind = std::get_if<step::Bind>(&planned.act)) {
    place(bind->target, sight_of(bind->attributes, planned));
  } else if (const auto* overlay = std::get_if<step::StubOverlay>(&planned.act)) {
    place(overlay->target, sight_of(overlay->attributes, planned));
    for (const step::Stub& stub : overlay->stubs) place(overlay->target + "/" + stub.path, sight_of(stub.shield));
  } else if (const auto* tmpfs = std::get_if<step::MountTmpfs>(&planned.act)) {
    place(tmpfs->target, tmpfs->attributes.read_only ? Sight::kOwn : Sight::kScratch);
  } else if (const auto* mask = std::get_if<step::Mask>(&planned.act)) {
    place(mask->target, Sight::kHidden);
  } else if (const auto* hold = std::get_if<step::HoldPoint>(&planned.act)) {
    place(hold->target, sight_of(hold->shield));
  } else if (const auto* pin = std::get_if<step::Pin>(&planned.act)) {
    if (pin->read_only && at(pin->target) != Sight::kReadable) place(pin->target, Sight::kHeld);
  } else if (const auto* proc = std::get_if<step::MountProc>(&planned.act)) {
    place(proc->target, Sight::kOwn);
  } else if (const auto* dev = std::get_if<step::MountDev>(&planned.act)) {
    place(dev->target, Sight::kOwn);
  } else if (const auto* device = std::get_if<step::Device>(&planned.act)) {
    place(device->path, Sight::kOwn);
  } else if (const auto* file = std::get_if<step::MakeFile>(&planned.act)) {
    place(file->target, Sight::kOwn);
  } else if (const auto* directory = std::get_if<step::MakeDirectory>(&planned.act)) {
    place(directory->target, Sight::kOwn, false);
  } else if (const auto* link = std::get_if<step::MakeSymlink>(&planned.act)) {
    place(link->target, Sight::kOwn);
    links_.insert_or_assign(link->target, link->text);
  } else if (const auto* landlock = std::get_if<step::Landlock>(&planned.act)) {
    for (const step::LandlockRule& rule : landlock->rules)
      if ((rule.access & LANDLOCK_ACCESS_FS_EXECUTE) != 0) startable_.push_back(rule.target);
  }
}

std::string Inside::resolved(std::string_view path) const {
  std::string out(path);
  for (int hops = 0; hops < 40; ++hops) {
    bool followed = false;
    for (std::string_view above = out; !followed; above = parent_of(above)) {
      if (const auto link = links_.find(above); link != links_.end()) {
        const auto from = base::AbsPath::parse(parent_of(above));
        const auto to = from ? from->join(link->second) : std::nullopt;
        if (!to) return out;
        out = (to->is_root() ? std::string() : to->str()) + out.substr(above.size());
        if (out.empty()) out = "/";
        followed = true;
      }
      if (above == "/") break;
    }
    if (!followed) break;
  }
  return out;
}

bool Inside::shields_below(std::string_view directory) const {
  const std::string prefix = std::string(directory) + "/";
  return std::ranges::any_of(places_, [&](const auto& one) {
    return (one.second.sight == Sight::kHidden || one.second.sight == Sight::kHeld) && one.first.starts_with(prefix);
  });
}

Sight Inside::at(std::string_view path) const {
  for (std::string_view above = path;; above = parent_of(above)) {
    const auto place = places_.find(above);
    if (place != places_.end()) {
      if (above == path || place->second.covers) return place->second.sight;
      return Sight::kAbsent;
    }
    if (above == "/") return Sight::kAbsent;
  }
}

}  // namespace cordon::report
