#include "enforce/supervise/streams.h"

#include <cerrno>

#include "kernel/file.h"
#include "kernel/socket.h"

namespace cordon::enforce::supervise {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr int kChunksAtOnce = 4;

base::Result<base::FdView> give_pipe(ChildStreams& streams, Output& output, OnChunk on_chunk) {
  auto pipe = kernel::pipe();
  if (!pipe) return base::fail(kernel::error_at(pipe.error(), "an output pipe"));
  if (const auto set = kernel::set_nonblocking(pipe->read_end); !set) {
    return base::fail(kernel::error_at(set.error(), "an output pipe"));
  }
  output = Output(std::move(pipe->read_end), std::move(on_chunk));
  return streams.held.emplace_back(std::move(pipe->write_end)).view();
}

base::Result<base::FdView> give_stdin(ChildStreams& streams, Options& options) {
  switch (options.stdin_mode) {
    case StdinMode::kInherit:
      return base::FdView(0);
    case StdinMode::kGiven:
      return streams.held.emplace_back(std::move(options.stdin_fd)).view();
    case StdinMode::kNull:
      break;
  }
  auto null = kernel::openat(kernel::kHere, "/dev/null", O_RDONLY);
  if (!null) return base::fail(kernel::error_at(null.error(), "/dev/null"));
  return streams.held.emplace_back(std::move(*null)).view();
}

}  // namespace

std::size_t Output::one_chunk(bool& ended) {
  buffer_.resize(kChunk);
  const auto got = kernel::read(pipe_, buffer_);
  ended = got ? *got == 0 : got.error().code != EAGAIN;
  if (!got || *got == 0) return 0;
  if (on_chunk_) on_chunk_(std::span(buffer_).first(*got));
  return *got;
}

Output::State Output::hand_on() {
  bool ended = false;
  for (int i = 0; i < kChunksAtOnce && one_chunk(ended) != 0; ++i) {
  }
  return ended ? State::kEnded : State::kOpen;
}

void Output::drain() {
  bool ended = false;
  while (pipe_.valid() && one_chunk(ended) != 0) {
  }
  close();
}

base::Result<ChildStreams> make_streams(Options& options) {
  ChildStreams out;
  CORDON_TRY(out.views.in, give_stdin(out, options));
  if (options.streams == StreamMode::kCallbacks) {
    CORDON_TRY(out.views.out, give_pipe(out, out.out, std::move(options.on_stdout)));
    CORDON_TRY(out.views.error, give_pipe(out, out.error, std::move(options.on_stderr)));
  }
  return out;
}

}  // namespace cordon::enforce::supervise
