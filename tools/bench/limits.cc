// Measures the limits of the machine that kernels are compared with (docs/performance.md §1, §4),
// as JSON:
//
//   tools/bazel run --config=opt //tools/bench:limits [-- SECONDS]    per figure; 0.2
//   tools/bazel run --config=opt //tools/bench:limits -- --line       only line_round_trip_ns
//
// Each figure is measured in short repetitions: "best" is the hardware limit, "median" shows how
// disturbed the machine was. "_t2": two threads at once, if the process may use two CPUs. null: the
// CPU has no such instruction.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "runtime/core/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/bench/limits.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/aligned_allocator.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Independent accumulators: enough to hide the latency (4 or 5 cycles) of all pipes, but not more
// than there are registers.
constexpr int kAccumulators = (HWY_TARGET <= HWY_AVX3 || HWY_TARGET_IS_NEON) ? 24 : 12;

// Executes `rounds` times kAccumulators multiply-adds of vectors; returns the operations, two per
// multiply-add.
double FusedMultiplyAdds(int64_t rounds) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> accumulators[kAccumulators];
  for (auto& sum : accumulators) sum = hn::Zero(d);
  const auto x = hn::Set(d, 0.5f + 0.25f * (rounds & 1));
  for (int64_t r = 0; r < rounds; ++r) {
    HWY_UNROLL(kAccumulators)
    for (auto& sum : accumulators) sum = hn::MulAdd(sum, x, x);
  }
  auto all = accumulators[0];
  for (const auto& sum : accumulators) all = hn::Add(all, sum);
  hwy::PreventElision(hn::GetLane(all));
  return 2.0 * rounds * kAccumulators * hn::Lanes(d);
}

// The same for dot products of four bytes. Returns 0 without a native instruction: the compiler
// would hoist the loop-invariant parts of an emulation.
double ByteDots(int64_t rounds) {
#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL) || \
    (HWY_ARCH_ARM && defined(HWY_NATIVE_I8_I8_SUMOFMULQUADACCUMULATE))
  const hn::ScalableTag<int32_t> d;
  // Arm's basic dot-product instruction has two signed operands.
  const hn::Repartition<std::conditional_t<HWY_ARCH_X86 != 0, uint8_t, int8_t>, decltype(d)> du;
  const hn::Repartition<int8_t, decltype(d)> di;
  hn::Vec<decltype(d)> accumulators[kAccumulators];
  for (auto& sum : accumulators) sum = hn::Zero(d);
  const auto x = hn::Set(du, rounds & 1);
  const auto y = hn::Set(di, rounds & 1);
  for (int64_t r = 0; r < rounds; ++r) {
    HWY_UNROLL(kAccumulators)
    for (auto& sum : accumulators) sum = hn::SumOfMulQuadAccumulate(d, x, y, sum);
  }
  auto all = accumulators[0];
  for (const auto& sum : accumulators) all = hn::Add(all, sum);
  hwy::PreventElision(hn::GetLane(all));
  return 8.0 * rounds * kAccumulators * hn::Lanes(d);
#else
  return 0;
#endif
}

// The same for dot products of two bfloat16.
double Bfloat16Dots(int64_t rounds) {
#if HWY_NATIVE_DOT_BF16
  const hn::ScalableTag<float> d;
  const hn::Repartition<hwy::bfloat16_t, decltype(d)> d16;
  hn::Vec<decltype(d)> accumulators[kAccumulators];
  for (auto& sum : accumulators) sum = hn::Zero(d);
  auto unused = hn::Zero(d);
  const auto x = hn::Set(d16, hwy::ConvertScalarTo<hwy::bfloat16_t>(0.5f * (rounds & 1)));
  for (int64_t r = 0; r < rounds; ++r) {
    HWY_UNROLL(kAccumulators)
    for (auto& sum : accumulators) sum = hn::ReorderWidenMulAccumulate(d, x, x, sum, unused);
  }
  auto all = unused;
  for (const auto& sum : accumulators) all = hn::Add(all, sum);
  hwy::PreventElision(hn::GetLane(all));
  return 4.0 * rounds * kAccumulators * hn::Lanes(d);
#else
  return 0;
#endif
}

// Reads `bytes`, a multiple of 4 KiB, from aligned memory.
void Read(const uint8_t* data, size_t bytes) {
  const hn::ScalableTag<uint64_t> d;
  constexpr int kVectors = 8;
  const size_t step = kVectors * hn::Lanes(d);
  hn::Vec<decltype(d)> accumulators[kVectors];
  for (auto& sum : accumulators) sum = hn::Zero(d);
  const auto* words = reinterpret_cast<const uint64_t*>(data);
  for (size_t i = 0; i < bytes / sizeof(uint64_t); i += step) {
    HWY_UNROLL(kVectors)
    for (int v = 0; v < kVectors; ++v)
      accumulators[v] = hn::Add(accumulators[v], hn::Load(d, words + i + v * hn::Lanes(d)));
  }
  auto all = accumulators[0];
  for (const auto& sum : accumulators) all = hn::Add(all, sum);
  hwy::PreventElision(hn::GetLane(all));
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {
namespace {

HWY_EXPORT(FusedMultiplyAdds);
HWY_EXPORT(ByteDots);
HWY_EXPORT(Bfloat16Dots);
HWY_EXPORT(Read);

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Dependent additions: latency-bound, one cycle each on every CPU.
double Additions(int64_t count) {
  uint64_t x = 0;
  constexpr int kUnrolled = 32;
  for (int64_t i = 0; i < count; i += kUnrolled) {
    HWY_UNROLL(kUnrolled)
    for (int j = 0; j < kUnrolled; ++j) {
      x += 1;
      asm volatile("" : "+r"(x));
    }
  }
  return static_cast<double>(count);
}

// Seconds per repetition: shorter than a scheduler's time slice on a shared CPU.
constexpr double kRepetition = 1e-3;

// work(count) does about `count` units of work and returns the amount in the measured unit.
using Work = absl::FunctionRef<double(int64_t)>;

nlohmann::json Summary(std::vector<double> figures) {
  std::sort(figures.begin(), figures.end());
  return {{"best", figures.back()}, {"median", figures[figures.size() / 2]}};
}

class Meter {
 public:
  explicit Meter(double seconds) : seconds_(seconds) {}

  // Work per nanosecond of `threads` concurrent threads.
  nlohmann::json Rate(int threads, Work work) const {
    const int64_t count = CountFor(kRepetition, work);
    ThreadPool pool(threads);
    const ThreadPool::Lease lease(&pool);
    std::vector<double> rates;
    for (const double end = Now() + seconds_; Now() < end || rates.empty();) {
      std::vector<double> done(threads);
      const double start = Now();
      pool.Run(threads, [&](int part) { done[part] = work(count); });
      const double ns = 1e9 * (Now() - start);
      double all = 0;
      for (const double d : done) all += d;
      rates.push_back(all / ns);
    }
    return Summary(std::move(rates));
  }

  // Nanoseconds for a cache line written by one thread to be rewritten by another and read back. On
  // machines with several last-level caches, it shows whether both threads share one. A hypervisor
  // may separate them; then all programs whose threads share data are slower.
  nlohmann::json LineRoundTrip() const {
    constexpr int kTrips = 200;
    struct alignas(128) Line {
      std::atomic<int64_t> value = 0;
    };
    Line there, back;
    // The line's next value. Its writer may have to wait for this thread's CPU.
    const auto next_of = [](const Line& line, int64_t value) {
      int64_t next;
      for (int i = 1; (next = line.value.load(std::memory_order_acquire)) == value; ++i) {
        hwy::Pause();
        if (i % 10000 == 0) std::this_thread::yield();
      }
      return next;
    };
    constexpr int64_t kEnd = -1;
    std::thread other([&] {
      for (int64_t value = 0; (value = next_of(there, value)) != kEnd;) {
        back.value.store(value, std::memory_order_release);
      }
    });
    std::vector<double> ns;
    int64_t value = 0;
    for (const double end = Now() + seconds_; Now() < end || ns.empty();) {
      const double start = Now();
      for (int trip = 0; trip < kTrips; ++trip) {
        there.value.store(value + 1, std::memory_order_release);
        value = next_of(back, value);
      }
      ns.push_back(1e9 * (Now() - start) / kTrips);
    }
    there.value.store(kEnd, std::memory_order_release);
    other.join();
    std::sort(ns.begin(), ns.end());
    return {{"best", ns.front()}, {"median", ns[ns.size() / 2]}};
  }

  // Nanoseconds for handing a part to a second thread and waiting for it.
  nlohmann::json ForkJoin(bool spinning) const {
    ThreadPool pool(2);
    std::optional<ThreadPool::Lease> lease;
    if (spinning) lease.emplace(&pool);
    std::vector<double> ns;
    for (const double end = Now() + seconds_; Now() < end;) {
      const double start = Now();
      pool.Run(2, [](int) {});
      ns.push_back(1e9 * (Now() - start));
    }
    std::sort(ns.begin(), ns.end());
    return {{"best", ns.front()}, {"median", ns[ns.size() / 2]}};
  }

 private:
  static int64_t CountFor(double seconds, Work work) {
    for (int64_t count = 1;; count *= 4) {
      const double start = Now();
      work(count);
      const double took = Now() - start;
      if (took > seconds / 8) return std::max<int64_t>(1, count * seconds / took);
    }
  }

  double seconds_;
};

// Bytes of CPU 0's data cache of this level as reported by Linux; else nullopt.
std::optional<int64_t> CacheBytes(int level) {
  for (int index = 0;; ++index) {
    const std::string folder = absl::StrCat("/sys/devices/system/cpu/cpu0/cache/index", index, "/");
    int its_level = 0;
    if (!(std::ifstream(folder + "level") >> its_level)) return std::nullopt;
    std::string type;
    std::ifstream(folder + "type") >> type;
    int64_t kilobytes = 0;
    if (its_level != level || type == "Instruction") continue;
    if (std::ifstream(folder + "size") >> kilobytes) return kilobytes << 10;
  }
}

nlohmann::json Limits(double seconds) {
  const Meter meter(seconds);
  const int cpus = static_cast<int>(std::thread::hardware_concurrency());
  const std::vector<int> teams = cpus < 2 ? std::vector<int>{1} : std::vector<int>{1, 2};
  const int64_t l1 = CacheBytes(1).value_or(32 << 10);
  const int64_t l2 = CacheBytes(2).value_or(1 << 20);
  const int64_t l3 = CacheBytes(3).value_or(0);

  nlohmann::json out;
  out["instruction_set"] = hwy::TargetName(hwy::DispatchedTarget());
  out["cpus"] = cpus;
  out["cache_bytes"] = {{"l1", l1}, {"l2", l2}, {"l3", l3}};
  out["clock_ghz"] = meter.Rate(1, Additions);
  const auto rates = [&](const std::string& name, Work work) {
    for (const int threads : teams)
      out[absl::StrCat(name, "_t", threads)] =
          work(1) > 0 ? meter.Rate(threads, work) : nlohmann::json(nullptr);
  };
  rates("f32_fma_gflops", [](int64_t n) { return HWY_DYNAMIC_DISPATCH(FusedMultiplyAdds)(n); });
  rates("int8_dot_gops", [](int64_t n) { return HWY_DYNAMIC_DISPATCH(ByteDots)(n); });
  rates("bf16_dot_gflops", [](int64_t n) { return HWY_DYNAMIC_DISPATCH(Bfloat16Dots)(n); });
  out["clock_ghz_after"] = meter.Rate(1, Additions);

  // Uses half of a cache, since the rest holds other data; of a shared L3, at most 8 MiB. For
  // memory, uses at least four times the L3.
  constexpr int64_t kPiece = 4096;
  const int64_t memory = std::clamp<int64_t>(4 * l3, 256 << 20, 1 << 30);
  const auto data = hwy::AllocateAligned<uint8_t>(memory);
  std::fill_n(data.get(), memory, 1);
  const auto read = [&](const std::string& name, int64_t bytes) {
    const int64_t pieces = bytes / kPiece;
    // Shared read position: the threads alternate, so that each one's cache holds its part.
    std::atomic<int64_t> next = 0;
    rates(absl::StrCat("read_", name, "_gbs"), [&](int64_t n) {
      for (int64_t i = next.fetch_add(n), end = i + n; i < end;) {
        const int64_t run = std::min(end - i, pieces - i % pieces);
        HWY_DYNAMIC_DISPATCH(Read)(data.get() + i % pieces * kPiece, run * kPiece);
        i += run;
      }
      return static_cast<double>(n) * kPiece;
    });
  };
  read("l1", l1 / 2);
  read("l2", l2 / 2);
  if (l3 > 0) read("l3", std::min<int64_t>(std::max(l3 / 2, l2), 8 << 20));
  read("memory", memory);

  out["line_round_trip_ns"] = cpus < 2 ? nlohmann::json(nullptr) : meter.LineRoundTrip();
  for (const bool spinning : {true, false})
    out[spinning ? "fork_join_ns" : "fork_join_asleep_ns"] =
        cpus < 2 ? nlohmann::json(nullptr) : meter.ForkJoin(spinning);
  return out;
}

}  // namespace
}  // namespace belay

int main(int argc, char** argv) {
  double seconds = 0.2;
  if (argc == 2 && absl::string_view(argv[1]) == "--line") {
    std::cout << belay::Meter(seconds / 10).LineRoundTrip().dump(1) << "\n";
    return 0;
  }
  if (argc > 2 || (argc == 2 && (!absl::SimpleAtod(argv[1], &seconds) || !(seconds > 0)))) {
    std::cerr << "usage: limits [SECONDS per figure, above 0 | --line]\n";
    return 2;
  }
  std::cout << belay::Limits(seconds).dump(1) << "\n";
  return 0;
}
#endif  // HWY_ONCE
