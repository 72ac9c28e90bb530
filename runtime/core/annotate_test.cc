#include "runtime/core/annotate.h"

#include "gtest/gtest.h"

namespace belay {
namespace {

TEST(AnnotateTest, PrefixesTheMessage) {
  EXPECT_EQ(Annotate(absl::DataLossError("it is cut off"), "model.belay"),
            absl::DataLossError("model.belay: it is cut off"));
}

TEST(AnnotateTest, KeepsOkStatus) {
  EXPECT_EQ(Annotate(absl::OkStatus(), "model.belay"), absl::OkStatus());
}

}  // namespace
}  // namespace belay
