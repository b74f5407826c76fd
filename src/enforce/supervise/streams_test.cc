#include "enforce/supervise/streams.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "kernel/file.h"
#include "kernel/socket.h"

namespace cordon::enforce::supervise {
namespace {

OnChunk into(std::string& text) {
  return [&text](std::span<const std::byte> chunk) {
    text.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
  };
}
void write(base::FdView fd, std::string_view text) {
  ASSERT_TRUE(kernel::write_all(fd, std::as_bytes(std::span(text))));
}

struct Piped {
  std::string text;
  base::Fd write_end;
  Output output;
};
void open(Piped& piped) {
  auto pipe = kernel::pipe();
  ASSERT_TRUE(pipe);
  ASSERT_TRUE(kernel::set_nonblocking(pipe->read_end));
  piped.write_end = std::move(pipe->write_end);
  piped.output = Output(std::move(pipe->read_end), into(piped.text));
}

TEST(Output, HandsOnWhatIsThereAndTellsTheEnd) {
  Piped piped;
  open(piped);
  EXPECT_EQ(piped.output.hand_on(), Output::State::kOpen);
  write(piped.write_end, "one\n");
  EXPECT_EQ(piped.output.hand_on(), Output::State::kOpen);
  EXPECT_EQ(piped.text, "one\n");
  piped.write_end.reset();
  EXPECT_EQ(piped.output.hand_on(), Output::State::kEnded);
}

TEST(Output, DrainsWithoutWaitingForAWriterOutside) {
  Piped piped;
  open(piped);
  write(piped.write_end, "last words");
  piped.output.drain();
  EXPECT_EQ(piped.text, "last words");
  EXPECT_FALSE(piped.output.is_open());
}

TEST(Output, DropsTheBytesOfAStreamThatNobodyListensTo) {
  auto pipe = kernel::pipe();
  ASSERT_TRUE(pipe);
  ASSERT_TRUE(kernel::set_nonblocking(pipe->read_end));
  Output output(std::move(pipe->read_end), {});
  write(pipe->write_end, "unheard");
  EXPECT_EQ(output.hand_on(), Output::State::kOpen);
}

TEST(MakeStreams, InheritsByDefault) {
  Options options;
  const auto streams = make_streams(options);
  ASSERT_TRUE(streams);
  EXPECT_EQ(streams->views.in.get(), 0);
  EXPECT_EQ(streams->views.out.get(), 1);
  EXPECT_EQ(streams->views.error.get(), 2);
  EXPECT_FALSE(streams->out.is_open());
}

TEST(MakeStreams, GivesTwoPipesAndAnEmptyInput) {
  std::string out;
  std::string error;
  Options options;
  options.streams = StreamMode::kCallbacks;
  options.on_stdout = into(out);
  options.on_stderr = into(error);
  options.stdin_mode = StdinMode::kNull;
  auto streams = make_streams(options);
  ASSERT_TRUE(streams);
  write(streams->views.out, "o");
  write(streams->views.error, "e");
  streams->out.drain();
  streams->error.drain();
  EXPECT_EQ(out, "o");
  EXPECT_EQ(error, "e");
  std::byte byte{};
  EXPECT_EQ(kernel::read(streams->views.in, std::span(&byte, 1)).value(), 0U);
}

}  // namespace
}  // namespace cordon::enforce::supervise
