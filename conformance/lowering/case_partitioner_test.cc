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

  static Json Round(Json::Object more = {}) {
    more.insert(
        {{"kind", "tags"},
         {"constants", "none"},
         {"tags", Json::Array{Json::Object{{"graph", Json::Array()},
                                           {"op", "aten.sin.default"},
                                           {"occurrence", 0},
                                           {"tag", "t0"}}}},
         {"tag_order", Json::Array{"t0"}},
         {"specs", Json::Object{{"t0", Json::Object{{"backend_id", "RecordingBackend"}}}}}});
    return more;
  }
  absl::StatusOr<std::string> Lower(const Json& round) {
    Proposals proposals;
    CaseBackends backends;
    ABSL_ASSIGN_OR_RETURN(const auto partitioner,
                          CreateCasePartitioner(round, "forward", &proposals));
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
  const auto at_add = [](Json::Object more) {
    more["graph"] = Json::Array();
    more["op"] = "aten.add.Tensor";
    more["occurrence"] = 0;
    return Json(std::move(more));
  };
  for (const Json& tamper : {
           at_add({{"action", "retarget"}}),
           at_add({{"action", "literal"}, {"arg", 1}, {"value", 3}}),
           at_add({{"action", "kwarg"}, {"value", Json::Object{{"alpha", 2}}}}),
           at_add({{"action", "swap_args"}}),
           at_add({{"action", "add_dead_node"}}),
           at_add({{"action", "rewire_output"}}),
           at_add({{"action", "move_before"},
                   {"before_op", "aten.sin.default"},
                   {"before_occurrence", 0}}),
           at_add({{"action", "meta"}}),
       }) {
    ASSERT_OK_AND_ASSIGN(const std::string came, Lower(Round({{"tamper", tamper}})));
    EXPECT_EQ(came, expected) << tamper.Dump();
    EXPECT_EQ(exir::PrintProgram(*program_), before) << tamper.Dump();
  }
}

TEST_F(CasePartitionerTest, TaggedOutputIsRefused) {
  Json round = Round();
  round.get_if<Json::Object>()->at("tags").get_if<Json::Array>()->push_back(
      Json::Object{{"output", true}, {"tag", "t0"}});
  EXPECT_THAT(Lower(round), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tag 't0'")));
}

TEST_F(CasePartitionerTest, UnknownFieldsAndValuesAreRefused) {
  EXPECT_THAT(Lower(Round({{"mystery", 1}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'mystery'")));
  EXPECT_THAT(Lower(Json::Object{{"kind", "mystery"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'mystery'")));
  EXPECT_THAT(
      Lower(Json::Object{{"kind", "op_support"}, {"filter", Json::Object{{"kind", "mystery"}}}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'mystery'")));
  EXPECT_THAT(Lower(Json::Object{{"kind", "demo"}, {"name", "mystery"}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("mystery")));
}

TEST_F(CasePartitionerTest, WhatTheProgramDoesNotHaveIsAnErrorOfTheCase) {
  const auto fails = [&](const Json& round, const char* what) {
    const absl::Status status = Lower(round).status();
    EXPECT_TRUE(IsErrorOfCase(status)) << status;
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr(what)));
  };
  const auto tags = [](Json::Object tag) { return Round({{"tags", Json::Array{std::move(tag)}}}); };
  fails(Round({{"no_copy", Json::Array{"w"}}}), "a constant (no_copy): \"w\"");
  fails(Round({{"constants", Json::Array{Json::Object{{"fqn", "w"}, {"tag", "t0"}}}}}),
        "a constant: {\"fqn\":\"w\"");
  fails(tags({{"user_input", 2}, {"tag", "t0"}}), "a user input: {");
  fails(tags({{"op", "aten.sin.default"}, {"occurrence", 1}, {"tag", "t0"}}), "a node: {");
  EXPECT_FALSE(IsErrorOfCase(absl::NotFoundError("Backend X was not found.")));
}

}  // namespace
}  // namespace belay::conformance
