#include "runtime/core/thread_pool.h"

#if defined(__linux__)
#include <dirent.h>
#include <sched.h>
#include <sys/types.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace belay {
namespace {

std::vector<int> CountsOf(ThreadPool& pool, int parts) {
  std::vector<std::atomic<int>> counts(static_cast<size_t>(parts));
  pool.Run(parts, [&](int part) { ++counts[static_cast<size_t>(part)]; });
  return {counts.begin(), counts.end()};
}

TEST(ThreadPoolTest, EveryPartRunsOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (int parts : {0, 1, 2, 3, 7, 100}) {
      EXPECT_EQ(CountsOf(pool, parts), std::vector<int>(static_cast<size_t>(parts), 1));
      const ThreadPool::Lease lease(&pool);
      EXPECT_EQ(CountsOf(pool, parts), std::vector<int>(static_cast<size_t>(parts), 1));
    }
  }
}

TEST(ThreadPoolTest, PartsRunConcurrently) {
  ThreadPool pool(2);
  const ThreadPool::Lease lease(&pool);
  // Each part waits for the other: run serially, it would wait forever.
  std::atomic<int> arrived = 0;
  pool.Run(2, [&](int) {
    ++arrived;
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

// Other threads are asleep or descheduled: the call does not wait for them.
TEST(ThreadPoolTest, OtherThreadsStealPartsOfMissingWorkers) {
  ThreadPool pool(3);
  std::atomic<int> waiting = 0, count = 0;
  std::atomic<bool> go = false;
  std::thread other([&] {
    pool.Run(3, [&](int part) {
      ++count;
      if (part == 0) return;  // the caller's own
      ++waiting;
      while (!go.load()) std::this_thread::yield();
    });
  });
  while (waiting.load() == 0) std::this_thread::yield();
  // The other thread holds the pool: this one runs serially, whatever the workers do.
  EXPECT_EQ(CountsOf(pool, 5), std::vector<int>(5, 1));
  go.store(true);
  other.join();
  EXPECT_EQ(count.load(), 3);
}

// Consecutive calls whose workers arrive early, late or not at all.
TEST(ThreadPoolTest, LateWorkersDoNotJoinTheNextCall) {
  ThreadPool pool(4);
  for (int i = 0; i < 20'000; ++i) {
    const int parts = 2 + i % 6;
    std::atomic<int> sum = 0;
    pool.Run(parts, [&](int part) { sum += part + 1; });
    ASSERT_EQ(sum.load(), parts * (parts + 1) / 2) << i;
  }
}

// Without a lease, the pool is reserved for one call.
TEST(ThreadPoolTest, CallReleasesThePool) {
  ThreadPool pool(2);
  pool.Run(2, [](int) {});
  std::atomic<int> arrived = 0, met = 0;
  std::thread other([&] {
    pool.Run(2, [&](int) {
      ++arrived;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (arrived.load() < 2 && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
      }
      if (arrived.load() == 2) ++met;
    });
  });
  other.join();
  EXPECT_EQ(met.load(), 2);  // run serially, the first part would have timed out
}

TEST(ThreadPoolTest, NestedCallsRunSerially) {
  ThreadPool pool(3);
  const ThreadPool::Lease lease(&pool);
  std::atomic<int> count = 0;
  pool.Run(3, [&](int) { pool.Run(5, [&](int) { ++count; }); });
  EXPECT_EQ(count.load(), 15);
}

TEST(ThreadPoolTest, CallerOfABusyPoolRunsSerially) {
  ThreadPool pool(2);
  std::atomic<int> count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const ThreadPool::Lease lease(&pool);
        pool.Run(3, [&](int) { ++count; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count.load(), 4 * 200 * 3);
}

#if defined(__linux__)
// Returns the threads of this process other than `known`.
std::vector<pid_t> OtherThreads(const std::vector<pid_t>& known) {
  std::vector<pid_t> threads;
  DIR* const directory = opendir("/proc/self/task");
  if (directory == nullptr) return threads;
  while (const dirent* entry = readdir(directory)) {
    const pid_t thread = static_cast<pid_t>(std::atoi(entry->d_name));
    if (thread > 0 && std::find(known.begin(), known.end(), thread) == known.end()) {
      threads.push_back(thread);
    }
  }
  closedir(directory);
  return threads;
}

// Both threads are real-time threads of one priority on one CPU, and the calling thread never
// waits: the pool moves the worker to another CPU, and gives it back the CPUs that it had.
TEST(ThreadPoolTest, RealTimeWorkerLeavesTheCallersCpu) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "needs two CPUs";
  const int cpu = sched_getcpu();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(cpu), &one);
  const sched_param priority = {.sched_priority = 1};
  bool real_time = true;
  // A thread of its own, since its policy and CPU change.
  std::thread([&] {
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    real_time = sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
    if (!real_time) return;
    std::vector<pid_t> before = OtherThreads({});
    ThreadPool pool(2);  // inherits the policy and the CPU
    const std::vector<pid_t> workers = OtherThreads(before);
    ASSERT_EQ(workers.size(), 1u);
    ASSERT_EQ(sched_setaffinity(workers[0], sizeof all, &all), 0);
    const ThreadPool::Lease lease(&pool);
    const auto mask = [&] {
      cpu_set_t allowed;
      EXPECT_EQ(sched_getaffinity(workers[0], sizeof allowed, &allowed), 0);
      return allowed;
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    bool moved = false, elsewhere = false;
    for (int i = 0; !elsewhere && std::chrono::steady_clock::now() < end; ++i) {
      pool.Run(2, [&](int part) {
        // Long enough for a worker on another CPU to come.
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
        while (std::chrono::steady_clock::now() < until) continue;
        if (part == 1 && sched_getcpu() != cpu) elsewhere = true;
      });
      const cpu_set_t allowed = mask();
      moved = moved || !CPU_ISSET(static_cast<size_t>(cpu), &allowed);
      ASSERT_TRUE(moved || elsewhere || i < 64);
    }
    EXPECT_TRUE(elsewhere);
    bool restored = false;
    while (!restored && std::chrono::steady_clock::now() < end) {
      const cpu_set_t allowed = mask();
      restored = CPU_EQUAL(&allowed, &all);
    }
    EXPECT_TRUE(restored);
  }).join();
  if (!real_time) GTEST_SKIP() << "this process may not use SCHED_FIFO";
}
#endif

// Returns the largest number of threads that work on a call at a time; each part waits a while for
// `expected` of them.
int Concurrency(ThreadPool& pool, int parts, int expected) {
  std::atomic<int> working = 0, most = 0;
  pool.Run(parts, [&](int) {
    const int now = ++working;
    for (int seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (most.load() < expected && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    --working;
  });
  return most.load();
}

TEST(ThreadPoolTest, ViewLimitsThreads) {
  ThreadPool pool(3);
  for (const int threads : {1, 2, 3, 9}) {
    ThreadPool view(pool, threads);
    const int expected = threads < 3 ? threads : 3;
    EXPECT_EQ(view.size(), expected);
    EXPECT_EQ(CountsOf(view, 7), std::vector<int>(7, 1));
    EXPECT_EQ(Concurrency(view, 12, expected), expected);
    const ThreadPool::Lease lease(&pool);
    EXPECT_EQ(Concurrency(view, 12, expected), expected);
  }
  EXPECT_EQ(Concurrency(pool, 12, 3), 3);
}

TEST(ThreadPoolTest, LimitsApplyToLaterCalls) {
  ThreadPool pool(3);
  ThreadPool view(pool, 2);
  view.Limit(1);
  EXPECT_EQ(view.size(), 2);
  EXPECT_EQ(Concurrency(view, 12, 1), 1);
  view.Limit(8);
  EXPECT_EQ(Concurrency(view, 12, 2), 2);
  EXPECT_EQ(Concurrency(pool, 12, 3), 3);
}

TEST(ThreadPoolTest, LeasesNestAndAcceptNull) {
  const ThreadPool::Lease none(nullptr);
  ThreadPool pool(2);
  const ThreadPool::Lease outer(&pool);
  {
    const ThreadPool::Lease inner(&pool);
    EXPECT_EQ(CountsOf(pool, 4), std::vector<int>(4, 1));
  }
  EXPECT_EQ(CountsOf(pool, 4), std::vector<int>(4, 1));
}

}  // namespace
}  // namespace belay
