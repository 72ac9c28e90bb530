#include "runtime/trace/hardware_counters.h"

#ifdef __linux__
#include <fcntl.h>
#include <unistd.h>
#endif

#include <map>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

// A system with the counters of a test, with values set by the test.
class FakeSystem final : public CounterSystem {
 public:
  int Open(HardwareCounter counter) override {
    if (!there.contains(counter)) return -1;
    open.insert(static_cast<int>(counter));
    return static_cast<int>(counter);
  }
  bool Read(int descriptor, Reading& reading) override {
    const auto at = stands.find(static_cast<HardwareCounter>(descriptor));
    if (!open.contains(descriptor) || at == stands.end()) return false;
    reading = at->second;
    return true;
  }
  void Close(int descriptor) override { open.erase(descriptor); }

  std::set<HardwareCounter> there;
  std::map<HardwareCounter, Reading> stands;
  std::set<int> open;
};

constexpr auto kCycles = HardwareCounter::kCycles;
constexpr auto kInstructions = HardwareCounter::kInstructions;
constexpr auto kCacheMisses = HardwareCounter::kCacheMisses;

TEST(HardwareCountersTest, CountsFromStartToStop) {
  FakeSystem system;
  system.there = {kCycles, kInstructions, kCacheMisses};
  {
    HardwareCounters counters(system);
    EXPECT_TRUE(counters.available());
    EXPECT_THAT(system.open, ElementsAre(0, 1, 2));
    for (const uint64_t base : {1000, 5000}) {
      for (const HardwareCounter counter : system.there)
        system.stands[counter] = {base, base, base};
      counters.Start();
      system.stands[kCycles] = {base + 300, base + 100, base + 100};
      system.stands[kInstructions] = {base + 600, base + 100, base + 100};
      system.stands[kCacheMisses] = {base, base + 100, base + 100};
      EXPECT_THAT(counters.Stop(), ElementsAre(Optional(300.0), Optional(600.0), Optional(0.0)));
    }
  }
  EXPECT_THAT(system.open, IsEmpty());
}

TEST(HardwareCountersTest, MultiplexedCounterIsScaled) {
  FakeSystem system;
  system.there = {kCycles, kInstructions};
  HardwareCounters counters(system);
  system.stands = {{kCycles, {10, 0, 0}}, {kInstructions, {10, 0, 0}}};
  counters.Start();
  system.stands = {{kCycles, {110, 400, 100}}, {kInstructions, {10, 400, 0}}};
  EXPECT_THAT(counters.Stop(), ElementsAre(Optional(400.0), std::nullopt, std::nullopt));
}

TEST(HardwareCountersTest, RejectedCounterIsAbsent) {
  FakeSystem system;
  {
    HardwareCounters counters(system);
    EXPECT_FALSE(counters.available());
    counters.Start();
    EXPECT_THAT(counters.Stop(), ElementsAre(std::nullopt, std::nullopt, std::nullopt));
  }
  system.there = {kInstructions};
  HardwareCounters one(system);
  EXPECT_TRUE(one.available());
  one.Start();  // it can't be read yet
  system.stands[kInstructions] = {7, 1, 1};
  EXPECT_THAT(one.Stop(), ElementsAre(std::nullopt, std::nullopt, std::nullopt));
  one.Start();
  system.stands[kInstructions] = {9, 2, 2};
  EXPECT_THAT(one.Stop(), ElementsAre(std::nullopt, Optional(2.0), std::nullopt));
}

TEST(HardwareCountersTest, UnreadableCounterHasNoCount) {
  FakeSystem system;
  system.there = {kCycles, kInstructions};
  HardwareCounters counters(system);
  system.stands = {{kCycles, {10, 10, 10}}, {kInstructions, {10, 10, 10}}};
  counters.Start();
  system.stands = {{kInstructions, {15, 20, 20}}};
  EXPECT_THAT(counters.Stop(), ElementsAre(std::nullopt, Optional(5.0), std::nullopt));
}

#ifdef __linux__
// The kernel writes three words; a pipe simulates it.
TEST(HardwareCountersTest, StandardSystemReadsWholeCounters) {
  CounterSystem::Reading reading;
  EXPECT_FALSE(StandardCounterSystem().Read(-1, reading));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const uint64_t words[] = {700, 20, 10};
  ASSERT_EQ(write(ends[1], words, sizeof(words)), static_cast<ssize_t>(sizeof(words)));
  EXPECT_TRUE(StandardCounterSystem().Read(ends[0], reading));
  EXPECT_EQ(reading.value, 700u);
  EXPECT_EQ(reading.enabled, 20u);
  EXPECT_EQ(reading.running, 10u);
  ASSERT_EQ(write(ends[1], words, sizeof(words) - 1), static_cast<ssize_t>(sizeof(words)) - 1);
  EXPECT_FALSE(StandardCounterSystem().Read(ends[0], reading));
  EXPECT_EQ(reading.value, 700u);
  StandardCounterSystem().Close(ends[0]);
  close(ends[1]);
  EXPECT_NE(fcntl(ends[0], F_GETFD), 0);
}
#endif

// This machine's counters, which may be unavailable.
TEST(HardwareCountersTest, StandardSystemCountsOrReportsNothing) {
  HardwareCounters counters;
  counters.Start();
  volatile uint64_t work = 0;
  for (int i = 0; i < 1'000'000; ++i) work = work + 1;
  const HardwareCounts counts = counters.Stop();
  if (!counters.available()) {
    EXPECT_THAT(counts, ElementsAre(std::nullopt, std::nullopt, std::nullopt));
  }
  const std::optional<double>& instructions = counts[static_cast<size_t>(kInstructions)];
  if (instructions.has_value()) EXPECT_GT(*instructions, 1e6);
}

TEST(HardwareCountersTest, HaveNames) {
  std::vector<std::string_view> names;
  for (size_t k = 0; k < kNumHardwareCounters; ++k) {
    names.push_back(HardwareCounterName(static_cast<HardwareCounter>(k)));
  }
  EXPECT_THAT(names, ElementsAre("cycles", "instructions", "cache_misses"));
}

}  // namespace
}  // namespace belay
