#include "tools/belay/progress.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::tools {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Redirects standard error to this file during its lifetime.
class StandardError {
 public:
  explicit StandardError(int file) : before_(dup(2)) { dup2(file, 2); }
  ~StandardError() {
    dup2(before_, 2);
    close(before_);
  }

 private:
  int before_;
};

// Returns all available output.
std::string ReadAll(int file) {
  fcntl(file, F_SETFL, O_NONBLOCK);
  std::string all;
  char buffer[1024];
  for (ssize_t n = 0; (n = read(file, buffer, sizeof(buffer))) > 0;) {
    all.append(buffer, static_cast<size_t>(n));
  }
  return all;
}

class ProgressTest : public ::testing::Test {
 protected:
  void SetUp() override {
    terminal_ = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal_ < 0 || grantpt(terminal_) != 0 || unlockpt(terminal_) != 0) {
      GTEST_SKIP() << "this system has no terminals";
    }
    screen_ = open(ptsname(terminal_), O_RDWR | O_NOCTTY);
    ASSERT_GE(screen_, 0);
  }
  void TearDown() override {
    if (screen_ >= 0) close(screen_);
    if (terminal_ >= 0) close(terminal_);
  }
  int terminal_ = -1, screen_ = -1;
};

TEST_F(ProgressTest, ShowsLongPhasesOnTerminal) {
  {
    const StandardError error(screen_);
    Progress progress;
    progress.Update("read", 0.1);
    EXPECT_THAT(ReadAll(terminal_), IsEmpty());
    absl::SleepFor(absl::Milliseconds(2100));
    progress.Update("read", 0.5);
    // The remaining time equals that of the first half.
    EXPECT_THAT(ReadAll(terminal_), AllOf(HasSubstr("read   50 %"), HasSubstr("ETA 2 s")));
    progress.Update("lower", 0.001);
    EXPECT_THAT(ReadAll(terminal_), AllOf(HasSubstr("lower    0 %"), HasSubstr("ETA 0 s")));
  }
  EXPECT_THAT(ReadAll(terminal_), EndsWith("\r\033[K"));  // the line is cleared
}

TEST_F(ProgressTest, ShowsNothingForShortPhases) {
  {
    const StandardError error(screen_);
    Progress progress;
    progress.Update("read", 1);
  }
  EXPECT_THAT(ReadAll(terminal_), IsEmpty());
}

TEST_F(ProgressTest, WritesNothingToFile) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    const StandardError error(ends[1]);
    Progress progress;
    progress.Update("read", 0.1);
    absl::SleepFor(absl::Milliseconds(2100));
    progress.Update("read", 0.5);
  }
  EXPECT_THAT(ReadAll(ends[0]), IsEmpty());
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace belay::tools
