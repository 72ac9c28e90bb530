#include "conformance/lowering/case_partitioner.h"

#include <memory>
#include <string>

#include "conformance/lowering/case_backends.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

using ::testing::HasSubstr;

class CasePartitionerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
    program_ = std::make_unique<exir::ExportedProgram>(exir::ParseOrDie(R"(program edge {
      graph(%x: f32[2] user_input, %y: f32[2] user_input) {
        %s: f32[2] = edge.aten.sin.default(%x)
        %a: f32[2] = edge.aten.add.Tensor(%s, %y)
        return (%a user_output)
      } })",
                                                                        *ops_));
  }

  // A round that tags the sine, with other fields.
  static Json Round(const Json& more = Json::object()) {
    Json round = Json::parse(R"({
      "kind": "tags", "constants": "none", "tag_order": ["t0"],
      "tags": [{"graph": [], "op": "aten.sin.default", "occurrence": 0, "tag": "t0"}],
      "specs": {"t0": {"backend_id": "RecordingBackend"}}})");
    round.update(more);
    return round;
  }
  absl::StatusOr<std::string> Lower(const Json& round) {
    Json partitions = Json::array();
    CaseBackends backends;
    ABSL_ASSIGN_OR_RETURN(const auto partitioner,
                          CreateCasePartitioner(round, "forward", partitions));
    ABSL_ASSIGN_OR_RETURN(const exir::ExportedProgram lowered,
                          exir::ToBackend(*program_, *partitioner, backends.set()));
    return exir::PrintProgram(lowered);
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  std::unique_ptr<exir::ExportedProgram> program_;
};

TEST_F(CasePartitionerTest, WhatItDoesToItsCopyHasNoEffect) {
  const std::string before = exir::PrintProgram(*program_);
  ASSERT_OK_AND_ASSIGN(const std::string expected, Lower(Round()));
  for (const char* action : {"retarget", "literal", "kwarg", "swap_args", "add_dead_node",
                             "rewire_output", "move_before", "meta"}) {
    const Json tamper = {{"action", action}, {"op", "aten.add.Tensor"}, {"occurrence", 0}};
    ASSERT_OK_AND_ASSIGN(const std::string actual, Lower(Round({{"tamper", tamper}})));
    EXPECT_EQ(actual, expected) << action;
    EXPECT_EQ(exir::PrintProgram(*program_), before) << action;
  }
}

TEST_F(CasePartitionerTest, TaggedOutputIsRefused) {
  Json round = Round();
  round["tags"].push_back({{"output", true}, {"tag", "t0"}});
  EXPECT_THAT(Lower(round), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tag 't0'")));
}

TEST_F(CasePartitionerTest, WhatTheProgramDoesNotHaveIsAnErrorOfTheCase) {
  const auto fails = [&](const char* more, const char* what) {
    const absl::Status status = Lower(Round(Json::parse(more))).status();
    EXPECT_TRUE(IsErrorOfCase(status)) << status;
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr(what)));
  };
  fails(R"({"no_copy": ["w"]})", "a constant (no_copy): \"w\"");
  fails(R"({"constants": [{"fqn": "w", "tag": "t0"}]})", "a constant: {\"fqn\":\"w\"");
  fails(R"({"tags": [{"user_input": 2, "tag": "t0"}]})", "a user input: {");
  fails(R"({"tags": [{"op": "aten.sin.default", "occurrence": 1, "tag": "t0"}]})", "a node: {");
  fails(R"({"tag_order": ["t1"]})", "the specs of a tag: \"t1\"");
  fails(R"({"kind": "demo", "name": "mystery"})", "a demo partitioner: {");
  fails(R"({"tamper": {"action": "meta", "op": "aten.cos.default", "occurrence": 0}})",
        "a node: {");
  EXPECT_FALSE(IsErrorOfCase(absl::NotFoundError("Backend X was not found.")));
}

}  // namespace
}  // namespace belay::conformance
