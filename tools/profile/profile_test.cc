#include "tools/profile/profile.h"

#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "tools/profile/testing/logged_method.h"

namespace belay::tools {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

constexpr std::string_view kProgram = R"(program edge {
  graph(%x: f32[16,16] user_input) {
    %a: f32[16,16] = edge.aten.neg.default(%x)  handle=1
    %b: f32[16,16] = edge.aten.mm.default(%a, %x)  handle=2
    %c: f32[16,16] = edge.aten.relu.default(%b)  handle=3
    %d: f32[16,16] = edge.aten.neg.default(%c)  handle=4
    return (%d user_output)
  }
})";

// Of one call.
double SumOfOwn(const Profile& profile, size_t run) {
  double sum = profile.outside[run];
  for (const SiteTimes& times : profile.sites()) sum += times.own[run];
  return sum;
}

TEST(ProfileTest, TimesAddUpAndEventsNest) {
  for (const char* backend : {"demo", "cpu", "ExecutorBackend"}) {
    ASSERT_OK_AND_ASSIGN(const auto logged,
                         LoggedMethod::Create(kProgram, {{backend, {"aten.mm.default"}}}));
    ASSERT_OK(logged->Execute());
    CodeMap code(logged->method());
    Profile profile(code);
    for (int run = 0; run < 5; ++run) {
      ASSERT_OK(logged->Execute());
      profile.AddRun(logged->log().events());
    }
    ASSERT_EQ(profile.runs(), 5u);
    for (size_t run = 0; run < 5; ++run) {
      EXPECT_GT(profile.wall[run], 0);
      EXPECT_THAT(SumOfOwn(profile, run), DoubleEq(profile.wall[run]));
      EXPECT_GE(profile.outside[run], 0);
      for (size_t s = 0; s < profile.sites().size(); ++s) {
        EXPECT_GE(profile.sites()[s].own[run], 0);
        EXPECT_LE(profile.sites()[s].own[run], profile.sites()[s].total[run]);
        EXPECT_EQ(profile.sites()[s].count, 5u);
      }
    }
    // Instructions are contiguous, so the time outside of them is before the first and after the
    // last.
    const auto events = logged->log().events();
    int64_t covered = 0, first = 0, last = 0;
    for (const Event& event : events) {
      if (event.depth != 1) continue;
      covered += event.end - event.begin;
      if (first == 0) first = event.begin;
      last = event.end;
    }
    EXPECT_EQ(covered, last - first) << backend;
  }
}

// Events with given times.
class HandMadeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(
        logged_,
        LoggedMethod::Create(kProgram, {{"demo", {"aten.mm.default", "aten.relu.default"}}}));
    ASSERT_OK(logged_->Execute());
    code_.emplace(logged_->method());
    profile_.emplace(*code_);
    events_.assign(logged_->log().events().begin(), logged_->log().events().end());
    ASSERT_EQ(events_.size(), 6u);  // execute, neg, delegate call, two steps, neg
  }
  void SetTimes(const std::vector<std::pair<int64_t, int64_t>>& times) {
    ASSERT_EQ(times.size(), events_.size());
    for (size_t i = 0; i < times.size(); ++i) {
      events_[i].begin = times[i].first;
      events_[i].end = times[i].second;
    }
  }
  double Own(size_t event, size_t run) {
    return profile_->sites()[*code_->SiteOf(events_[event])].own[run];
  }

  std::unique_ptr<LoggedMethod> logged_;
  std::optional<CodeMap> code_;
  std::optional<Profile> profile_;
  std::vector<Event> events_;
};

TEST_F(HandMadeTest, UnloggedTimeIsDelegatesOwn) {
  SetTimes({{100, 200}, {110, 120}, {120, 180}, {125, 135}, {140, 170}, {180, 195}});
  profile_->AddRun(events_);
  EXPECT_THAT(profile_->wall, ElementsAre(100));
  EXPECT_THAT(profile_->outside, ElementsAre(15));
  EXPECT_EQ(Own(1, 0), 10);
  EXPECT_EQ(Own(2, 0), 60 - 10 - 30);
  EXPECT_EQ(Own(3, 0), 10);
  EXPECT_EQ(Own(4, 0), 30);
  EXPECT_EQ(Own(5, 0), 15);
}

TEST_F(HandMadeTest, IgnoresLoadEvents) {
  SetTimes({{100, 200}, {110, 120}, {120, 180}, {125, 135}, {140, 170}, {180, 195}});
  std::vector<Event> all = {{.begin = 1, .end = 50, .kind = EventKind::kLoad},
                            {.begin = 2, .end = 9, .depth = 1, .kind = EventKind::kResolve}};
  all.insert(all.end(), events_.begin(), events_.end());
  profile_->AddRun(all);
  EXPECT_THAT(profile_->wall, ElementsAre(100));
  EXPECT_EQ(SumOfOwn(*profile_, 0), 100);
}

TEST_F(HandMadeTest, ConcurrentStepsTakeAtMostCallTime) {
  SetTimes({{100, 200}, {110, 120}, {120, 180}, {125, 175}, {130, 175}, {180, 200}});
  profile_->AddRun(events_);
  EXPECT_EQ(Own(2, 0), 0);
}

TEST_F(HandMadeTest, HasEntryPerRun) {
  SetTimes({{100, 200}, {110, 120}, {120, 180}, {125, 135}, {140, 170}, {180, 195}});
  profile_->AddRun(events_);
  SetTimes({{100, 300}, {110, 130}, {130, 180}, {140, 145}, {150, 170}, {180, 295}});
  profile_->AddRun(absl::MakeConstSpan(events_).first(2));  // the others were dropped
  EXPECT_THAT(profile_->wall, ElementsAre(100, 200));
  EXPECT_THAT(profile_->outside, ElementsAre(15, 180));
  EXPECT_EQ(Own(1, 1), 20);
  EXPECT_EQ(Own(5, 1), 0);
}

TEST(PercentileTest, ReturnsQuantile) {
  EXPECT_EQ(Percentile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(Percentile({5}, 0.9), 5);
  std::vector<double> hundred(100);
  std::iota(hundred.rbegin(), hundred.rend(), 0);
  EXPECT_EQ(Percentile(hundred, 0.9), 90);
}

}  // namespace
}  // namespace belay::tools
