// Text models of programs that are opened with other parameters.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exir/import/import.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/llm/llm_testing.h"
#include "runtime/llm/session.h"
#include "runtime/llm/text_model.h"
#include "runtime/parameters/parameters.h"

namespace belay::llm {
namespace {

using ::testing::HasSubstr;

constexpr char kPattern[] = "*.attention.*.weight";

class AdapterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(AddStandardKernels(kernels_));
    ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
    ASSERT_OK_AND_ASSIGN(
        exir::ExportedProgram base,
        exir::ImportFile(std::string("conformance/models/zoo/") + kDynamicModel + "/model.pt2",
                         *ops_));
    exir::ExportedProgram tuned = base.Clone();
    parameters_ = std::make_shared<Parameters>();
    for (auto& [name, tensor] : tuned.state_dict) {
      if (!name.ends_with(".weight") || name.find(".attention.") == name.npos) continue;
      ASSERT_OK_AND_ASSIGN(tensor, Tuned(tensor));
      const TensorView view = tensor.view();
      ASSERT_OK(
          parameters_->Add(name,
                           {.dtype = view.dtype,
                            .sizes = view.sizes,
                            .dim_order = {0, 1},
                            .bytes = {static_cast<const std::byte*>(view.data), view.nbytes()},
                            .source = "tuned"},
                           std::make_shared<exir::ConstantTensor>(tensor)));
    }
    EXPECT_EQ(parameters_->tensors().size(), 8u);
    ASSERT_OK_AND_ASSIGN(file_, Lower(std::move(base), {.files = {}, .replaceable = {kPattern}}));
    ASSERT_OK_AND_ASSIGN(tuned_file_, Lower(std::move(tuned), {}));
  }

  // 3 w, with the elements reversed.
  static absl::StatusOr<exir::ConstantTensor> Tuned(const exir::ConstantTensor& tensor) {
    const TensorView view = tensor.view();
    std::vector<std::byte> bytes(view.nbytes());
    auto* to = reinterpret_cast<float*>(bytes.data());
    for (int64_t i = 0; i < view.numel(); ++i) {
      to[i] = 3 * view.as<const float>()[view.numel() - 1 - i];
    }
    return exir::ConstantTensor::Contiguous(view.dtype, tensor.sizes(),
                                            exir::Storage::Own(std::move(bytes)));
  }
  static absl::StatusOr<exir::Storage> Lower(exir::ExportedProgram program,
                                             exir::ConstantRules constants) {
    exir::PipelineOptions options;
    options.constants = std::move(constants);
    exir::MethodPrograms methods;
    methods.emplace_back("forward", std::move(program));
    ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                          exir::LowerPrograms(std::move(methods), options));
    ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram file, exir::SerializeProgram(image));
    return file.ToStorage();
  }
  absl::StatusOr<TextModel> ModelOf(const Program& program) const {
    return TextModel::Create(program, kernels_, backends_, {.context_length = kTestContext});
  }
  static std::vector<int32_t> Generate(Session& session) {
    EXPECT_OK(session.Append({5, 90, 1}));
    const absl::StatusOr<Generation> generation = session.Generate({.max_tokens = 10});
    EXPECT_OK(generation.status());
    return generation.ok() ? generation->tokens : std::vector<int32_t>();
  }

  KernelRegistry kernels_;
  BackendRegistry backends_;
  std::unique_ptr<exir::OpRegistry> ops_;
  std::shared_ptr<Parameters> parameters_;
  exir::Storage file_, tuned_file_;
};

TEST_F(AdapterTest, GivesTheTokensOfAProgramWithTheseParameters) {
  ASSERT_OK_AND_ASSIGN(const Program base, Program::OpenBytes(file_.owner, file_.bytes, {}));
  ASSERT_OK_AND_ASSIGN(const Program adapted, parameters_->OpenBytes(file_.owner, file_.bytes, {}));
  ASSERT_OK_AND_ASSIGN(const Program tuned,
                       Program::OpenBytes(tuned_file_.owner, tuned_file_.bytes, {}));
  ASSERT_OK_AND_ASSIGN(const TextModel base_model, ModelOf(base));
  ASSERT_OK_AND_ASSIGN(const TextModel adapted_model, ModelOf(adapted));
  ASSERT_OK_AND_ASSIGN(const TextModel tuned_model, ModelOf(tuned));
  ASSERT_OK_AND_ASSIGN(Session base_session, Session::Create(base_model));
  ASSERT_OK_AND_ASSIGN(Session adapted_session, Session::Create(adapted_model));
  ASSERT_OK_AND_ASSIGN(Session tuned_session, Session::Create(tuned_model));
  const std::vector<int32_t> base_tokens = Generate(base_session);
  const std::vector<int32_t> tuned_tokens = Generate(tuned_session);
  EXPECT_EQ(tuned_tokens.size(), 10u);
  EXPECT_EQ(Generate(adapted_session), tuned_tokens);
  EXPECT_NE(base_tokens, tuned_tokens);
  // Sessions with and without the adapter work side by side.
  ASSERT_OK(base_session.Cut(0));
  EXPECT_EQ(Generate(base_session), base_tokens);
}

TEST_F(AdapterTest, SavedSessionsAreOfOneAdapter) {
  ASSERT_OK_AND_ASSIGN(const Program base, Program::OpenBytes(file_.owner, file_.bytes, {}));
  ASSERT_OK_AND_ASSIGN(const Program adapted, parameters_->OpenBytes(file_.owner, file_.bytes, {}));
  ASSERT_OK_AND_ASSIGN(const Program again, parameters_->OpenBytes(file_.owner, file_.bytes, {}));
  ASSERT_OK_AND_ASSIGN(const TextModel base_model, ModelOf(base));
  ASSERT_OK_AND_ASSIGN(const TextModel adapted_model, ModelOf(adapted));
  ASSERT_OK_AND_ASSIGN(const TextModel same_model, ModelOf(again));
  EXPECT_NE(base_model.digest(), adapted_model.digest());
  ASSERT_OK_AND_ASSIGN(Session session, Session::Create(adapted_model));
  ASSERT_OK(session.Append({5, 90}));
  const std::string saved = session.Save();
  ASSERT_OK_AND_ASSIGN(Session same, Session::Create(same_model));
  ASSERT_OK(same.Restore(saved));
  EXPECT_EQ(same.tokens(), session.tokens());
  ASSERT_OK_AND_ASSIGN(Session other, Session::Create(base_model));
  EXPECT_THAT(other.Restore(saved),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("of another model")));
}

}  // namespace
}  // namespace belay::llm
