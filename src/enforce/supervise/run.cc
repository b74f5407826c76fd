#include "enforce/supervise/loop.h"
#include "enforce/supervise/supervise.h"

namespace cordon::enforce::supervise {

Run::Run(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;
Run::~Run() = default;

base::Result<Run> Run::start(const plan::Plan& plan, Options options) {
  return start(plan, Prepared(std::make_unique<Prepared::Parts>(std::move(options))));
}

base::Result<Run> Run::start(const plan::Plan& plan, Prepared prepared) {
  CORDON_TRY(auto loop, Loop::start(plan, *prepared.parts_));
  return Run(std::move(loop));
}

base::Result<plan::Outcome> Run::wait() {
  while (true) {
    const auto over = loop_->pass(Loop::Block::kYes);
    if (!over) {
      loop_->abandon();
      return base::fail(over.error());
    }
    if (*over) return loop_->take_outcome();
  }
}

base::FdView Run::poll_fd() const { return loop_->poll_fd(); }

base::Result<bool> Run::service() {
  auto over = loop_->pass(Loop::Block::kNo);
  if (!over) loop_->abandon();
  return over;
}

base::Result<void> Run::take_output(Taking taking) { return loop_->take_output(taking); }

void Run::cancel() { loop_->cancel(); }

base::Result<plan::Outcome> run(const plan::Plan& plan, Options options, std::function<void()> when_mounted) {
  if (!options.when_mounted) options.when_mounted = std::move(when_mounted);
  CORDON_TRY(Run started, Run::start(plan, std::move(options)));
  return started.wait();
}

}  // namespace cordon::enforce::supervise
