#include "runtime/core/annotate.h"

#include "gtest/gtest.h"

namespace belay {
namespace {

TEST(AnnotateTest, PutsWhatAnErrorIsAboutBeforeItsMessage) {
  EXPECT_EQ(Annotate(absl::DataLossError("it is cut off"), "model.belay"),
            absl::DataLossError("model.belay: it is cut off"));
}

TEST(AnnotateTest, SuccessStaysSuccess) {
  EXPECT_EQ(Annotate(absl::OkStatus(), "model.belay"), absl::OkStatus());
}

}  // namespace
}  // namespace belay
