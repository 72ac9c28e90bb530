#include "runtime/core/file_descriptor.h"

#include <pthread.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "runtime/core/test_in_directory.h"

namespace belay {
namespace {

class FileDescriptorTest : public TestInDirectory {};

TEST_F(FileDescriptorTest, CloseReturnsErrno) {
  FileDescriptor file(OpenRetrying(AT_FDCWD, Write("f", "x").c_str(), O_RDONLY));
  ASSERT_GE(file.get(), 0);
  FileDescriptor same(file.get());
  EXPECT_EQ(file.Close(), 0);
  EXPECT_LT(file.get(), 0);
  EXPECT_EQ(same.Close(), EBADF);
}

TEST_F(FileDescriptorTest, MissingFileIsNotRetried) {
  EXPECT_LT(OpenRetrying(AT_FDCWD, Path("none").c_str(), O_RDONLY), 0);
  EXPECT_EQ(errno, ENOENT);
}

// Opening a pipe blocks until there is a writer; a signal interrupts it.
TEST_F(FileDescriptorTest, OpenRetriesAfterSignal) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  struct sigaction action = {}, before;
  action.sa_handler = [](int) {};  // without SA_RESTART
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  const pthread_t waiting = ::pthread_self();
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ::pthread_kill(waiting, SIGUSR1);
    }
    const FileDescriptor out(OpenRetrying(AT_FDCWD, Path("pipe").c_str(), O_WRONLY));
    EXPECT_GE(out.get(), 0);
  });
  const FileDescriptor in(OpenRetrying(AT_FDCWD, Path("pipe").c_str(), O_RDONLY));
  EXPECT_GE(in.get(), 0);
  writer.join();
  ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
}

}  // namespace
}  // namespace belay
