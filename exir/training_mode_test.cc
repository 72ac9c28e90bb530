#include "exir/training_mode.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TrainingModeTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps()); }

  MethodPrograms Methods(const std::string& nodes) {
    MethodPrograms methods;
    methods.emplace_back(
        "forward",
        ParseOrDie(absl::StrCat("program aten { graph(%x: f32[2,3] user_input, %m: f32[3] "
                                "user_input, %v: f32[3] user_input) {\n",
                                nodes, "\nreturn (%y user_output) } }"),
                   *ops_));
    return methods;
  }
  std::vector<std::string> Notes(const std::string& nodes) {
    return NotesOnTraining(Methods(nodes));
  }

  std::unique_ptr<OpRegistry> ops_;
};

TEST_F(TrainingModeTest, NotesDropout) {
  EXPECT_THAT(Notes("%y: f32[2,3] = aten.dropout.default(%x, 0.5, true)"),
              ElementsAre(HasSubstr("method 'forward' was exported in training mode: 'y' change")));
  EXPECT_THAT(Notes("%z: f32[2,3] = aten.dropout.default(%x, 0.5, true)\n"
                    "%y: f32[2,3] = aten.dropout.default(%z, 0.5, true)"),
              ElementsAre(HasSubstr("'z' and 1 more change")));
  EXPECT_THAT(Notes("%y: f32[2,3] = aten.dropout.default(%x, 0.5, false)"), IsEmpty());
}

TEST_F(TrainingModeTest, NotesBatchNormsThatUpdateStatistics) {
  const auto notes = [&](const std::string& statistics, const std::string& training) {
    return Notes(absl::StrCat("%y: f32[2,3] = aten.batch_norm.default(%x, none, none, ", statistics,
                              ", ", training, ", 0.1, 1e-05, true)"));
  };
  EXPECT_THAT(notes("%m, %v", "true"), ElementsAre(HasSubstr("export model.eval()")));
  EXPECT_THAT(notes("%m, %v", "false"), IsEmpty());
  EXPECT_THAT(notes("none, none", "true"), IsEmpty());
}

TEST_F(TrainingModeTest, LoweringReportsTheNote) {
  PipelineReport report;
  ASSERT_OK(LowerToStage(Methods("%y: f32[2,3] = aten.dropout.default(%x, 0.5, true)"),
                         Stage::kEdge, {}, &report)
                .status());
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("training mode")));
}

}  // namespace
}  // namespace belay::exir
