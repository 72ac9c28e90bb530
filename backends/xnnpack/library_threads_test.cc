#include "backends/xnnpack/library_threads.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::xnnpack {
namespace {

// Arguments of a task: positions, then tile sizes.
using Arguments = std::vector<size_t>;

// Calls of a task by all threads.
struct Record {
  std::mutex mutex;
  std::vector<Arguments> calls;

  template <class... Numbers>
  static void Add(void* context, Numbers... numbers) {
    auto& record = *static_cast<Record*>(context);
    const std::lock_guard<std::mutex> lock(record.mutex);
    record.calls.push_back({numbers...});
  }
};

// Calls of plain loops, with the last dimensions tiled.
std::vector<Arguments> Loop(const std::vector<size_t>& ranges, const std::vector<size_t>& tiles) {
  std::vector<Arguments> calls = {{}};
  const size_t untiled = ranges.size() - tiles.size();
  for (size_t d = 0; d < ranges.size(); ++d) {
    std::vector<Arguments> next;
    const size_t step = d < untiled ? 1 : tiles[d - untiled];
    for (const Arguments& call : calls) {
      for (size_t i = 0; i < ranges[d]; i += step) {
        next.push_back(call);
        next.back().push_back(i);
      }
    }
    calls = next;
  }
  for (Arguments& call : calls) {
    for (size_t t = 0; t < tiles.size(); ++t) {
      call.push_back(std::min(tiles[t], ranges[untiled + t] - call[untiled + t]));
    }
  }
  return calls;
}

// Calls one of the functions with a recording task.
using Function = void (*)(pthreadpool_t pool, Record* record, const size_t* ranges,
                          const size_t* tiles);

struct Case {
  size_t dims;
  size_t tiled;
  Function function;
};

const Case kCases[] = {
    {1, 0,
     [](pthreadpool_t pool, Record* record, const size_t* r, const size_t*) {
       pthreadpool_parallelize_1d(pool, Record::Add<size_t>, record, r[0], 0);
     }},
    {1, 1,
     [](pthreadpool_t pool, Record* record, const size_t* r, const size_t* t) {
       pthreadpool_parallelize_1d_tile_1d(pool, Record::Add<size_t, size_t>, record, r[0], t[0], 0);
     }},
    {2, 0,
     [](pthreadpool_t pool, Record* record, const size_t* r, const size_t*) {
       pthreadpool_parallelize_2d(pool, Record::Add<size_t, size_t>, record, r[0], r[1], 0);
     }},
    {2, 1,
     [](pthreadpool_t pool, Record* record, const size_t* r, const size_t* t) {
       pthreadpool_parallelize_2d_tile_1d(pool, Record::Add<size_t, size_t, size_t>, record, r[0],
                                          r[1], t[0], 0);
     }},
    {2, 2,
     [](pthreadpool_t pool, Record* record, const size_t* r, const size_t* t) {
       pthreadpool_parallelize_2d_tile_2d(pool, Record::Add<size_t, size_t, size_t, size_t>, record,
                                          r[0], r[1], t[0], t[1], 0);
     }},
    {3, 0,
     [](pthreadpool_t pool, Record* record, const size_t* r, const size_t*) {
       pthreadpool_parallelize_3d(pool, Record::Add<size_t, size_t, size_t>, record, r[0], r[1],
                                  r[2], 0);
     }},
    {3, 2,
     [](pthreadpool_t pool, Record* record, const size_t* r, const size_t* t) {
       pthreadpool_parallelize_3d_tile_2d(pool, Record::Add<size_t, size_t, size_t, size_t, size_t>,
                                          record, r[0], r[1], r[2], t[0], t[1], 0);
     }},
    {4, 0,
     [](pthreadpool_t pool, Record* record, const size_t* r, const size_t*) {
       pthreadpool_parallelize_4d(pool, Record::Add<size_t, size_t, size_t, size_t>, record, r[0],
                                  r[1], r[2], r[3], 0);
     }},
    {4, 2,
     [](pthreadpool_t pool, Record* record, const size_t* r, const size_t* t) {
       pthreadpool_parallelize_4d_tile_2d(
           pool, Record::Add<size_t, size_t, size_t, size_t, size_t, size_t>, record, r[0], r[1],
           r[2], r[3], t[0], t[1], 0);
     }},
    {5, 0,
     [](pthreadpool_t pool, Record* record, const size_t* r, const size_t*) {
       pthreadpool_parallelize_5d(pool, Record::Add<size_t, size_t, size_t, size_t, size_t>, record,
                                  r[0], r[1], r[2], r[3], r[4], 0);
     }},
    {5, 2,
     [](pthreadpool_t pool, Record* record, const size_t* r, const size_t* t) {
       pthreadpool_parallelize_5d_tile_2d(
           pool, Record::Add<size_t, size_t, size_t, size_t, size_t, size_t, size_t>, record, r[0],
           r[1], r[2], r[3], r[4], t[0], t[1], 0);
     }},
    {6, 2,
     [](pthreadpool_t pool, Record* record, const size_t* r, const size_t* t) {
       pthreadpool_parallelize_6d_tile_2d(
           pool, Record::Add<size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t>,
           record, r[0], r[1], r[2], r[3], r[4], r[5], t[0], t[1], 0);
     }},
};

TEST(LibraryThreadsTest, EachFunctionMatchesPlainLoops) {
  // Ranges for each dimension: empty, one, multiples of the tile size and others.
  constexpr size_t kRanges[] = {3, 1, 4, 7, 2, 5, 0};
  for (int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    for (const Case& function : kCases) {
      for (size_t shift = 0; shift < std::size(kRanges); ++shift) {
        for (size_t tile : {1, 2, 3, 8}) {
          std::vector<size_t> ranges;
          for (size_t d = 0; d < function.dims; ++d) {
            ranges.push_back(kRanges[(d + shift) % std::size(kRanges)]);
          }
          const std::vector<size_t> both = {tile, 3};
          const std::vector<size_t> tiles(both.end() - static_cast<ptrdiff_t>(function.tiled),
                                          both.end());
          Record record;
          function.function(LibraryPool(&pool), &record, ranges.data(), tiles.data());
          std::sort(record.calls.begin(), record.calls.end());
          EXPECT_EQ(record.calls, Loop(ranges, tiles))
              << function.dims << " dimensions, " << function.tiled << " in tiles, " << threads
              << " threads, range " << shift;
        }
      }
    }
  }
}

TEST(LibraryThreadsTest, RunsInOrderWithoutAPool) {
  Record record;
  pthreadpool_parallelize_2d_tile_2d(nullptr, Record::Add<size_t, size_t, size_t, size_t>, &record,
                                     5, 7, 2, 3, 0);
  EXPECT_EQ(record.calls, Loop({5, 7}, {2, 3}));
  EXPECT_EQ(pthreadpool_get_threads_count(nullptr), 1u);
}

TEST(LibraryThreadsTest, UsesTheThreadsOfThePool) {
  ThreadPool pool(3);
  EXPECT_EQ(pthreadpool_get_threads_count(LibraryPool(&pool)), 3u);
  // Two calls wait for each other: a single thread would time out.
  struct Meeting {
    std::atomic<int> there = 0;
    std::atomic<bool> met = true;
  } meeting;
  const LibraryCalls before = LibraryCallsOfThisThread();
  pthreadpool_parallelize_1d(
      LibraryPool(&pool),
      [](void* context, size_t) {
        auto& meeting = *static_cast<Meeting*>(context);
        ++meeting.there;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (meeting.there < 2) {
          if (std::chrono::steady_clock::now() < end) continue;
          meeting.met = false;
          return;
        }
      },
      &meeting, 2, 0);
  EXPECT_TRUE(meeting.met);
  EXPECT_EQ(LibraryCallsOfThisThread().all, before.all + 1);
  EXPECT_EQ(LibraryCallsOfThisThread().divided, before.divided + 1);
}

TEST(LibraryThreadsTest, SupportsNestedAndConcurrentWork) {
  ThreadPool pool(3);
  struct Work {
    ThreadPool& pool;
    std::atomic<size_t> sum = 0;
  } work{pool};
  const auto inside = [](void* context, size_t i) { static_cast<Work*>(context)->sum += i; };
  const auto outside = [](void* context, size_t) {
    pthreadpool_parallelize_1d(
        LibraryPool(&static_cast<Work*>(context)->pool),
        [](void* same, size_t i) { static_cast<Work*>(same)->sum += i; }, context, 100, 0);
  };
  pthreadpool_parallelize_1d(LibraryPool(&pool), outside, &work, 10, 0);
  EXPECT_EQ(work.sum, 10u * 4950);
  work.sum = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int n = 0; n < 50; ++n) {
        pthreadpool_parallelize_1d(LibraryPool(&pool), inside, &work, 100, 0);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(work.sum, 4u * 50 * 4950);
}

TEST(LibraryThreadsTest, FlushesDenormalsOnAllThreadsIfRequested) {
  ThreadPool pool(3);
  struct Numbers {
    volatile float smallest = std::numeric_limits<float>::min();
    std::array<float, 64> halves;
  } numbers;
  const auto halve = [](void* context, size_t i) {
    auto& numbers = *static_cast<Numbers*>(context);
    numbers.halves[i] = numbers.smallest / 2;
  };
  pthreadpool_parallelize_1d(LibraryPool(&pool), halve, &numbers, 64,
                             PTHREADPOOL_FLAG_DISABLE_DENORMALS);
  EXPECT_EQ(std::count(numbers.halves.begin(), numbers.halves.end(), 0.0f), 64);
  pthreadpool_parallelize_1d(LibraryPool(&pool), halve, &numbers, 64, 0);
  EXPECT_EQ(std::count(numbers.halves.begin(), numbers.halves.end(), 0.0f), 0);
  EXPECT_NE(numbers.smallest / 2, 0.0f) << "the calling thread's mode is what it was";
}

TEST(LibraryThreadsTest, PthreadpoolCreateReturnsNull) {
  EXPECT_EQ(pthreadpool_create(2), nullptr);
}

}  // namespace
}  // namespace belay::xnnpack
