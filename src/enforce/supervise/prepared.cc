#include "enforce/supervise/prepared.h"

#include "enforce/supervise/own_signals.h"

namespace cordon::enforce::supervise {

launch::Options Prepared::Parts::launch_options(std::vector<int> ignored) const {
  const bool foreground = options.terminal == Terminal::kForeground;
  return {.streams = streams->views,
          .session = foreground ? launch::Session::kCallers : launch::Session::kOwn,
          .keep_ignored = std::move(ignored)};
}

base::Result<launch::Started> Prepared::Parts::start(const plan::Plan& plan, const std::vector<int>& ignored,
                                                     const launch::OnBorn& on_born) {
  auto taken = std::exchange(early, std::nullopt);
  if (taken && keep_ignored == ignored) return std::move(*taken).start(plan, on_born);
  taken.reset();
  return launch::start(plan, options.launcher, launch_options(ignored), on_born);
}

Prepared::Prepared(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Prepared::Prepared(Prepared&&) noexcept = default;
Prepared& Prepared::operator=(Prepared&&) noexcept = default;
Prepared::~Prepared() = default;

Prepared Prepared::begin(Options options, const plan::step::EnterNamespaces& assumed) {
  auto parts = std::make_unique<Parts>(std::move(options));
  if (!parts->streams) return Prepared(std::move(parts));
  if (parts->options.terminal == Terminal::kForeground) parts->keep_ignored = OwnSignals::ignored_now();
  auto early = launch::Early::begin(assumed, parts->options.launcher, parts->launch_options(parts->keep_ignored));
  if (early) parts->early.emplace(std::move(*early));
  return Prepared(std::move(parts));
}

Prepared Prepared::without_launcher(Options options) { return Prepared(std::make_unique<Parts>(std::move(options))); }

void Prepared::begin_plan(std::vector<plan::Step> steps) {
  if (parts_->early) parts_->early->begin_plan(std::move(steps));
}
void Prepared::set_hold_registry(std::string path) { parts_->options.hold_registry = std::move(path); }
void Prepared::set_run_id(std::string id) { parts_->options.run_id = std::move(id); }
void Prepared::set_when_mounted(std::function<void()> call) { parts_->options.when_mounted = std::move(call); }
void Prepared::set_on_listening(std::function<void(std::uint16_t)> call) {
  parts_->options.on_listening = std::move(call);
}

}  // namespace cordon::enforce::supervise
