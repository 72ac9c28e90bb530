#include "backends/xnnpack/library_threads.h"

#include <algorithm>
#include <cstddef>

#include "runtime/core/flush_subnormals.h"

namespace belay::xnnpack {
namespace {

// Number of parts per thread, for load balancing by work stealing.
constexpr size_t kPartsPerThread = 8;

thread_local LibraryCalls calls_of_this_thread;

ThreadPool* PoolOf(pthreadpool_t pool) { return reinterpret_cast<ThreadPool*>(pool); }

template <size_t kDims>
struct Tile {
  size_t start[kDims];
  size_t size[kDims];  // smaller at the end of a range
};

// Calls visit(tile) for each tile of a grid, with the last dimension varying fastest. Threads get
// parts of consecutive tiles.
template <size_t kDims, class Visit>
void ForEachTile(pthreadpool_t pool, uint32_t flags, const size_t (&range)[kDims],
                 const size_t (&tile_size)[kDims], Visit visit) {
  ++calls_of_this_thread.all;
  size_t counts[kDims];
  size_t total = 1;
  for (size_t d = 0; d < kDims; ++d) {
    counts[d] = range[d] == 0 ? 0 : (range[d] - 1) / tile_size[d] + 1;
    total *= counts[d];  // at most the number of elements, which are in memory
  }
  if (total == 0) return;
  const auto visit_from_to = [&](size_t begin, size_t end) {
    // On every thread, or results would depend on the division of work.
    const FlushSubnormals flush((flags & PTHREADPOOL_FLAG_DISABLE_DENORMALS) != 0);
    size_t index[kDims];
    size_t rest = begin;
    for (size_t d = kDims; d-- > 0; rest /= counts[d]) index[d] = rest % counts[d];
    for (size_t i = begin; i < end; ++i) {
      Tile<kDims> tile;
      for (size_t d = 0; d < kDims; ++d) {
        tile.start[d] = index[d] * tile_size[d];
        tile.size[d] = std::min(tile_size[d], range[d] - tile.start[d]);
      }
      visit(tile);
      for (size_t d = kDims; d-- > 0;) {
        if (++index[d] < counts[d]) break;
        index[d] = 0;
      }
    }
  };
  ThreadPool* threads = PoolOf(pool);
  const size_t num_threads = pthreadpool_get_threads_count(pool);
  if (num_threads == 1 || total == 1) return visit_from_to(0, total);
  ++calls_of_this_thread.divided;
  const size_t parts = std::min(total, num_threads * kPartsPerThread);
  const size_t per_part = total / parts, longer = total % parts;
  threads->Run(static_cast<int>(parts), [&](int i) {
    const auto part = static_cast<size_t>(i);
    const size_t begin = part * per_part + std::min(part, longer);
    visit_from_to(begin, begin + per_part + (part < longer ? 1 : 0));
  });
}

}  // namespace

LibraryCalls LibraryCallsOfThisThread() { return calls_of_this_thread; }

}  // namespace belay::xnnpack

// --- Replacements for libpthreadpool; <pthreadpool.h> documents each ---

using belay::xnnpack::ForEachTile;
using belay::xnnpack::Tile;

extern "C" {

pthreadpool_t pthreadpool_create(size_t /*threads_count*/) { return nullptr; }

size_t pthreadpool_get_threads_count(pthreadpool_t pool) {
  return pool == nullptr ? 1 : static_cast<size_t>(belay::xnnpack::PoolOf(pool)->size());
}

void pthreadpool_parallelize_1d(pthreadpool_t pool, pthreadpool_task_1d_t task, void* context,
                                size_t range, uint32_t flags) {
  ForEachTile<1>(pool, flags, {range}, {1}, [&](const Tile<1>& t) { task(context, t.start[0]); });
}

void pthreadpool_parallelize_1d_tile_1d(pthreadpool_t pool, pthreadpool_task_1d_tile_1d_t task,
                                        void* context, size_t range, size_t tile, uint32_t flags) {
  ForEachTile<1>(pool, flags, {range}, {tile},
                 [&](const Tile<1>& t) { task(context, t.start[0], t.size[0]); });
}

void pthreadpool_parallelize_2d(pthreadpool_t pool, pthreadpool_task_2d_t task, void* context,
                                size_t range_i, size_t range_j, uint32_t flags) {
  ForEachTile<2>(pool, flags, {range_i, range_j}, {1, 1},
                 [&](const Tile<2>& t) { task(context, t.start[0], t.start[1]); });
}

void pthreadpool_parallelize_2d_tile_1d(pthreadpool_t pool, pthreadpool_task_2d_tile_1d_t task,
                                        void* context, size_t range_i, size_t range_j,
                                        size_t tile_j, uint32_t flags) {
  ForEachTile<2>(pool, flags, {range_i, range_j}, {1, tile_j},
                 [&](const Tile<2>& t) { task(context, t.start[0], t.start[1], t.size[1]); });
}

void pthreadpool_parallelize_2d_tile_2d(pthreadpool_t pool, pthreadpool_task_2d_tile_2d_t task,
                                        void* context, size_t range_i, size_t range_j,
                                        size_t tile_i, size_t tile_j, uint32_t flags) {
  ForEachTile<2>(pool, flags, {range_i, range_j}, {tile_i, tile_j}, [&](const Tile<2>& t) {
    task(context, t.start[0], t.start[1], t.size[0], t.size[1]);
  });
}

void pthreadpool_parallelize_3d(pthreadpool_t pool, pthreadpool_task_3d_t task, void* context,
                                size_t range_i, size_t range_j, size_t range_k, uint32_t flags) {
  ForEachTile<3>(pool, flags, {range_i, range_j, range_k}, {1, 1, 1},
                 [&](const Tile<3>& t) { task(context, t.start[0], t.start[1], t.start[2]); });
}

void pthreadpool_parallelize_3d_tile_2d(pthreadpool_t pool, pthreadpool_task_3d_tile_2d_t task,
                                        void* context, size_t range_i, size_t range_j,
                                        size_t range_k, size_t tile_j, size_t tile_k,
                                        uint32_t flags) {
  ForEachTile<3>(pool, flags, {range_i, range_j, range_k}, {1, tile_j, tile_k},
                 [&](const Tile<3>& t) {
                   task(context, t.start[0], t.start[1], t.start[2], t.size[1], t.size[2]);
                 });
}

void pthreadpool_parallelize_4d(pthreadpool_t pool, pthreadpool_task_4d_t task, void* context,
                                size_t range_i, size_t range_j, size_t range_k, size_t range_l,
                                uint32_t flags) {
  ForEachTile<4>(
      pool, flags, {range_i, range_j, range_k, range_l}, {1, 1, 1, 1},
      [&](const Tile<4>& t) { task(context, t.start[0], t.start[1], t.start[2], t.start[3]); });
}

void pthreadpool_parallelize_4d_tile_2d(pthreadpool_t pool, pthreadpool_task_4d_tile_2d_t task,
                                        void* context, size_t range_i, size_t range_j,
                                        size_t range_k, size_t range_l, size_t tile_k,
                                        size_t tile_l, uint32_t flags) {
  ForEachTile<4>(pool, flags, {range_i, range_j, range_k, range_l}, {1, 1, tile_k, tile_l},
                 [&](const Tile<4>& t) {
                   task(context, t.start[0], t.start[1], t.start[2], t.start[3], t.size[2],
                        t.size[3]);
                 });
}

void pthreadpool_parallelize_5d(pthreadpool_t pool, pthreadpool_task_5d_t task, void* context,
                                size_t range_i, size_t range_j, size_t range_k, size_t range_l,
                                size_t range_m, uint32_t flags) {
  ForEachTile<5>(pool, flags, {range_i, range_j, range_k, range_l, range_m}, {1, 1, 1, 1, 1},
                 [&](const Tile<5>& t) {
                   task(context, t.start[0], t.start[1], t.start[2], t.start[3], t.start[4]);
                 });
}

void pthreadpool_parallelize_5d_tile_2d(pthreadpool_t pool, pthreadpool_task_5d_tile_2d_t task,
                                        void* context, size_t range_i, size_t range_j,
                                        size_t range_k, size_t range_l, size_t range_m,
                                        size_t tile_l, size_t tile_m, uint32_t flags) {
  ForEachTile<5>(pool, flags, {range_i, range_j, range_k, range_l, range_m},
                 {1, 1, 1, tile_l, tile_m}, [&](const Tile<5>& t) {
                   task(context, t.start[0], t.start[1], t.start[2], t.start[3], t.start[4],
                        t.size[3], t.size[4]);
                 });
}

void pthreadpool_parallelize_6d_tile_2d(pthreadpool_t pool, pthreadpool_task_6d_tile_2d_t task,
                                        void* context, size_t range_i, size_t range_j,
                                        size_t range_k, size_t range_l, size_t range_m,
                                        size_t range_n, size_t tile_m, size_t tile_n,
                                        uint32_t flags) {
  ForEachTile<6>(pool, flags, {range_i, range_j, range_k, range_l, range_m, range_n},
                 {1, 1, 1, 1, tile_m, tile_n}, [&](const Tile<6>& t) {
                   task(context, t.start[0], t.start[1], t.start[2], t.start[3], t.start[4],
                        t.start[5], t.size[4], t.size[5]);
                 });
}

}  // extern "C"
