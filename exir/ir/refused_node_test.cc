#include "exir/ir/refused_node.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/annotate.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RefusedNodeTest, AnnotatedErrorsKeepNodes) {
  const RefusedNode a = {"f", "add", "aten.add.Tensor", "m.py:3", "no uint32"};
  const RefusedNode b = {"", "input 'x'", "", "", ""};
  absl::Status status = absl::UnimplementedError("a");
  EXPECT_THAT(RefusedNodesOf(status), IsEmpty());
  AddRefusedNodes({a}, status);
  AddRefusedNodes({b}, status);
  AddRefusedNodes({}, status);
  EXPECT_THAT(RefusedNodesOf(Annotate(status, "emit")), ElementsAre(a, b));
  EXPECT_THAT(RefusedNodesOf(absl::OkStatus()), IsEmpty());
}

TEST(RefusedNodeTest, EscapesControlCharacters) {
  absl::Status status = absl::UnimplementedError("a");
  AddRefusedNodes({RefusedNode{"f", std::string("a\0b", 3), "", "", ""}}, status);
  EXPECT_THAT(RefusedNodesOf(status), ElementsAre(RefusedNode{"f", "a\\x00b", "", "", ""}));
}

TEST(RefusedNodeTest, InMethodNamesTheMethod) {
  EXPECT_OK(InMethod(absl::OkStatus(), "f"));
  EXPECT_THAT(InMethod(absl::NotFoundError("a"), "f"),
              StatusIs(absl::StatusCode::kNotFound, "method 'f': a"));
  absl::Status status = absl::UnimplementedError("a");
  AddRefusedNodes({RefusedNode{"", "x", "", "", ""}, RefusedNode{"g", "y", "", "", ""}}, status);
  status = InMethod(status, "f", "emit");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented, "emit: method 'f': a"));
  EXPECT_THAT(RefusedNodesOf(status),
              ElementsAre(RefusedNode{"f", "x", "", "", ""}, RefusedNode{"g", "y", "", "", ""}));
}

}  // namespace
}  // namespace belay::exir
