#include "runtime/backend/delegate_threads.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace belay {
namespace {

DelegateInitContext ContextOf(ThreadPool* pool, const OptionValues* options) {
  DelegateInitContext context = {};
  context.threads = pool;
  context.options = options;
  return context;
}

TEST(DelegateThreadsTest, UsesThreadsOfTheContext) {
  ThreadPool pool(3);
  DelegateThreads threads(ContextOf(&pool, nullptr));
  ASSERT_NE(threads.pool(), nullptr);
  EXPECT_EQ(threads.pool()->size(), 3);
}

TEST(DelegateThreadsTest, NoThreadsWithoutAPool) {
  const OptionValues four = {{"threads", int64_t{4}}};
  DelegateThreads threads(ContextOf(nullptr, &four));
  EXPECT_EQ(threads.pool(), nullptr);
  threads.SetOption("threads", int64_t{2});
  EXPECT_EQ(threads.pool(), nullptr);
  EXPECT_EQ(threads.GetOption("threads"), OptionValue(int64_t{2}));
}

TEST(DelegateThreadsTest, OptionLimitsThreads) {
  ThreadPool pool(3);
  for (const int64_t most : {1, 2, 256}) {
    const OptionValues options = {{"threads", most}};
    DelegateThreads threads(ContextOf(&pool, &options));
    EXPECT_EQ(threads.pool()->size(), most > 3 ? 3 : most);
    EXPECT_EQ(threads.GetOption("threads"), OptionValue(most));
  }
}

TEST(DelegateThreadsTest, DefaultOptionIsTheLargestPool) {
  const BackendOption& option = ThreadsOptionTable()[0];
  EXPECT_EQ(option.default_value, OptionValue(int64_t{256}));
  EXPECT_EQ(option.max, 256);
  EXPECT_TRUE(option.changeable);
}

}  // namespace
}  // namespace belay
