// `lower --format=pte`.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/test_in_directory.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kMlp[] = "conformance/models/zoo/mlp/model.pt2";

class LowerPteTest : public TestInDirectory {
 protected:
  LowerOptions Options(const std::string& archive = kMlp) const {
    return {.input = archive, .output = Path("m.pte"), .format = "pte"};
  }
};

TEST_F(LowerPteTest, WritesExecuTorchProgram) {
  const Outcome outcome = Capture([&] { return Lower(Options()); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_EQ(Read(Path("m.pte")).substr(4, 8), "ET12eh00");
  EXPECT_THAT(Files(), ElementsAre("m.pte"));
}

TEST_F(LowerPteTest, WritesExternalConstantsToSeparateFile) {
  LowerOptions options = Options();
  options.external_constants = {"weights"};
  const Outcome outcome = Capture([&] { return Lower(options); });
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(Files(), ElementsAre("m.pte", "weights.ptd"));
  EXPECT_EQ(Read(Path("weights.ptd")).substr(4, 8), "FT01FH01");
}

TEST_F(LowerPteTest, NamesUnsupportedFeaturesAndWritesNothing) {
  const Outcome outcome =
      Capture([&] { return Lower(Options("conformance/models/more/svd_values/model.pt2")); });
  EXPECT_EQ(outcome.status, kUnsupported);
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr("aten._linalg_svd.default"), HasSubstr("aten.linalg_qr.default"),
                    HasSubstr("make_more_models.py:")));
  EXPECT_THAT(Files(), ElementsAre());
}

TEST_F(LowerPteTest, NamesUnsupportedBackends) {
  LowerOptions options = Options();
  options.backends = {"demo"};
  const Outcome outcome = Capture([&] { return Lower(options); });
  EXPECT_EQ(outcome.status, kUnsupported);
  EXPECT_THAT(outcome.errors, HasSubstr("ExecuTorch has no backend"));
  EXPECT_THAT(Files(), ElementsAre());
}

TEST_F(LowerPteTest, SuffixOfTheOutputDecidesTheFormat) {
  LowerOptions options = Options();
  options.format = "";
  EXPECT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  EXPECT_EQ(Read(options.output).substr(4, 4), "ET12");
  options.format = "belay";
  EXPECT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  EXPECT_EQ(Read(options.output).substr(0, 5), "BELAY");
  options.format = "";
  options.output = Path("m.belay");
  EXPECT_EQ(Capture([&] { return Lower(options); }).status, kDone);
  EXPECT_EQ(Read(options.output).substr(0, 5), "BELAY");
}

TEST_F(LowerPteTest, UnknownFormatIsBadUsage) {
  LowerOptions options = Options();
  options.format = "onnx";
  const Outcome outcome = Capture([&] { return Lower(options); });
  EXPECT_EQ(outcome.status, kBadUsage);
  EXPECT_THAT(outcome.errors, HasSubstr("--format: expected 'belay' or 'pte', got 'onnx'"));
}

}  // namespace
}  // namespace belay::tools
