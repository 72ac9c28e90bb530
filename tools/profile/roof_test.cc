#include "tools/profile/roof.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::tools {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Best(double figure) { return {{"best", figure}, {"median", figure / 2}}; }

// 100 operations a nanosecond, bytes 400, 200, 100 and 10.
json Limits() {
  return {{"cache_bytes", {{"l1", 1000}, {"l2", 10'000}, {"l3", 100'000}}},
          {"f32_fma_gflops_t1", Best(100)},
          {"f32_fma_gflops_t2", Best(200)},
          {"int8_dot_gops_t1", Best(400)},
          {"bf16_dot_gflops_t1", nullptr},
          {"read_l1_gbs_t1", Best(400)},
          {"read_l2_gbs_t1", Best(200)},
          {"read_l3_gbs_t1", Best(100)},
          {"read_memory_gbs_t1", Best(10)},
          {"read_l1_gbs_t2", Best(800)},
          {"read_l2_gbs_t2", Best(400)},
          {"read_l3_gbs_t2", Best(200)},
          {"read_memory_gbs_t2", Best(20)}};
}

// A call that took 1 microsecond.
json Row(double operations, double bytes, const char* operands = "f32[1] -> f32[1]") {
  return {{"p50_ms", 1e-3},      {"count", 1.0},         {"operations", operations},
          {"bytes_read", bytes}, {"bytes_written", 0.0}, {"operands", operands}};
}

double RoofOf(const json& row, int threads = 1) {
  json profile{{"instructions", {row}}};
  EXPECT_OK(AddRoofs(Limits(), threads, profile));
  return profile["instructions"][0].value("roof", -1.0);
}

TEST(RoofTest, UsesSlowerOfComputeAndMemory) {
  EXPECT_DOUBLE_EQ(RoofOf(Row(50'000, 400)), 0.5);
  EXPECT_DOUBLE_EQ(RoofOf(Row(10'000, 100'000)), 1.0);
}

TEST(RoofTest, UsesNearestCacheThatHoldsOperands) {
  EXPECT_DOUBLE_EQ(RoofOf(Row(0, 1000)), 1000 / 400.0 / 1000);
  EXPECT_DOUBLE_EQ(RoofOf(Row(0, 1001)), 1001 / 200.0 / 1000);
  EXPECT_DOUBLE_EQ(RoofOf(Row(0, 50'000)), 50'000 / 100.0 / 1000);
  EXPECT_DOUBLE_EQ(RoofOf(Row(0, 200'000)), 200'000 / 10.0 / 1000);
}

TEST(RoofTest, RatesDependOnDtypeAndThreads) {
  EXPECT_DOUBLE_EQ(RoofOf(Row(50'000, 4, "i8[1] -> i8[1]")), 0.125);
  EXPECT_DOUBLE_EQ(RoofOf(Row(50'000, 4, "bf16[1] -> bf16[1]")), 0.5);  // no instruction for it
  EXPECT_DOUBLE_EQ(RoofOf(Row(50'000, 4), /*threads=*/2), 0.25);
}

TEST(RoofTest, RowWithoutTimeHasNoRoof) {
  EXPECT_EQ(RoofOf(Row(0, 0)), -1);
  EXPECT_EQ(RoofOf({{"p50_ms", 0.0}, {"count", 1.0}, {"operations", 5.0}}), -1);
  EXPECT_EQ(RoofOf({{"p50_ms", 1.0}, {"count", 1.0}}), -1);  // a delegate's call
}

TEST(RoofTest, ReportsMissingFigures) {
  json profile{{"instructions", {Row(1, 1)}}};
  for (const char* name :
       {"f32_fma_gflops_t1", "cache_bytes", "read_l2_gbs_t1", "read_memory_gbs_t1"}) {
    json limits = Limits();
    limits.erase(name);
    EXPECT_THAT(AddRoofs(limits, 1, profile),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name)));
    limits[name] = 3;
    EXPECT_THAT(AddRoofs(limits, 1, profile),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name)));
  }
  // Figures that are not numbers, or not positive.
  for (const char* name : {"f32_fma_gflops_t1", "read_l1_gbs_t1"}) {
    for (const json& best : {json("fast"), json(-1.0), json(0.0), json()}) {
      json limits = Limits();
      limits[name] = {{"best", best}};
      EXPECT_THAT(AddRoofs(limits, 1, profile),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           HasSubstr(std::string(name, std::string(name).size() - 3))));
    }
  }
  for (const char* bad : {"1", "null", "[]", "{}"}) {
    EXPECT_THAT(AddRoofs(json::parse(bad), 1, profile),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("//tools/bench:limits")));
  }
  EXPECT_FALSE(profile["instructions"][0].contains("roof"));
}

TEST(RoofTest, SkipsMissingCache) {
  json limits = Limits();
  limits["cache_bytes"]["l3"] = 0;
  limits.erase("read_l3_gbs_t1");
  json profile{{"instructions", {Row(0, 50'000)}}};
  ASSERT_OK(AddRoofs(limits, 1, profile));
  EXPECT_DOUBLE_EQ(profile["instructions"][0]["roof"], 50'000 / 10.0 / 1000);
}

TEST(RoofTest, SingleCpuMachine) {
  json limits = Limits();
  limits.erase("f32_fma_gflops_t2");
  json profile{{"instructions", {Row(50'000, 4), Row(50'000, 4, "u8[1] -> u8[1]")}}};
  ASSERT_OK(AddRoofs(limits, 2, profile));
  EXPECT_DOUBLE_EQ(profile["instructions"][0]["roof"], 0.5);
  EXPECT_DOUBLE_EQ(profile["instructions"][1]["roof"], 0.125);
}

}  // namespace
}  // namespace belay::tools
