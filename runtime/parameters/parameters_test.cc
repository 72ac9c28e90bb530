#include "runtime/parameters/parameters.h"

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/test_kernels.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/metadata_path.h"

namespace belay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

struct TestTensor {
  std::string name;
  std::vector<float> elements;
  bool replaceable = true;
};

std::string BytesOf(const std::vector<float>& elements) {
  return std::string(reinterpret_cast<const char*>(elements.data()),
                     elements.size() * sizeof(float));
}

void AddTensor(const TestTensor& tensor, TestProgram& program) {
  program.AddNamedTensor(tensor.name, BytesOf(tensor.elements), DType::kFloat32,
                         {static_cast<int64_t>(tensor.elements.size())}, tensor.replaceable);
}

std::string ParameterFile(const std::vector<TestTensor>& tensors) {
  TestProgram program;
  for (const TestTensor& tensor : tensors) AddTensor(tensor, program);
  return program.Serialize();
}

// x + a + base, for replaceable "a" f32[2], fixed "base" f32[2].
std::string Model() {
  TestProgram program;
  AddTensor({"a", {1, 2}}, program);
  AddTensor({"base", {10, 20}, false}, program);
  AddTensor({"unused", {0}}, program);
  for (const char* name : {"a", "base"}) program.AddNamedConstant(name, 8);
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", DType::kFloat32, {2});
  const uint32_t a = method.Constant(0, DType::kFloat32, {2});
  const uint32_t base = method.Constant(1, DType::kFloat32, {2});
  const uint32_t y = method.Arena(DType::kFloat32, {2});
  const uint32_t z = method.Arena(DType::kFloat32, {2});
  method.Call("test.add.Tensor", {x, a}, {y});
  method.Call("test.add.Tensor", {y, base}, {z});
  method.Output(z);
  return program.Serialize();
}

std::vector<float> Result(const Program& program) {
  KernelRegistry kernels;
  EXPECT_OK(kernels.Add(TestKernels()));
  const BackendRegistry backends;
  auto method = Method::Load(program, "forward", kernels, backends);
  EXPECT_OK(method.status());
  std::vector<float> x = {100, 200};
  EXPECT_OK(method->SetInput(0, EValue(TensorView{DType::kFloat32, {2}, {1}, x.data()})));
  EXPECT_OK(method->Execute());
  const TensorView* out = method->GetOutput(0).get_if<TensorView>();
  return {out->as<float>()[0], out->as<float>()[1]};
}

class ParametersTest : public TestInDirectory {
 protected:
  ParametersTest() : model_(Write("model.belay", Model())) {}
  std::string model_;
};

TEST_F(ParametersTest, ReplaceTensorsOfAProgram) {
  ASSERT_OK_AND_ASSIGN(const Program plain, Program::Open(model_));
  EXPECT_EQ(Result(plain), (std::vector<float>{111, 222}));
  const auto parameters = std::make_shared<Parameters>();
  ASSERT_OK(parameters->AddFile(Write("a.belay", ParameterFile({{"a", {5, 6}}})), {}));
  ASSERT_OK_AND_ASSIGN(const Program replaced, parameters->Open(model_, {}));
  EXPECT_EQ(Result(replaced), (std::vector<float>{115, 226}));
}

// Two adapters on one copy of the program: the other weights exist once.
TEST_F(ParametersTest, ProgramsShareTheOtherWeights) {
  const auto file = std::make_shared<const std::vector<std::byte>>([] {
    const std::string model = Model();
    const auto* begin = reinterpret_cast<const std::byte*>(model.data());
    return std::vector<std::byte>(begin, begin + model.size());
  }());
  std::vector<Program> programs;
  for (const float first : {1.0f, 2.0f}) {
    const auto parameters = std::make_shared<Parameters>();
    const auto owner = std::make_shared<const std::string>(ParameterFile({{"a", {first, 0}}}));
    ASSERT_OK(parameters->AddFileBytes(
        owner,
        absl::MakeConstSpan(reinterpret_cast<const std::byte*>(owner->data()), owner->size()), {},
        "adapter"));
    ASSERT_OK_AND_ASSIGN(Program program, parameters->OpenBytes(file, *file, {}));
    programs.push_back(std::move(program));
  }
  // The parameters live as long as the programs.
  EXPECT_EQ(Result(programs[0]), (std::vector<float>{111, 220}));
  EXPECT_EQ(Result(programs[1]), (std::vector<float>{112, 220}));
  ASSERT_OK_AND_ASSIGN(const auto one, programs[0].FindNamedData("base"));
  ASSERT_OK_AND_ASSIGN(const auto other, programs[1].FindNamedData("base"));
  EXPECT_EQ(one.data(), other.data());
}

TEST_F(ParametersTest, FilesAreMergedByName) {
  const std::string first = Write("1.belay", ParameterFile({{"a", {5, 6}}}));
  const std::string second = Write("2.belay", ParameterFile({{"unused", {7}}}));
  const std::string both = Write("3.belay", ParameterFile({{"a", {1, 1}}, {"unused", {1}}}));
  const auto parameters = std::make_shared<Parameters>();
  ASSERT_OK(parameters->AddFile(first, {}));
  ASSERT_OK(parameters->AddFile(second, {}));
  EXPECT_OK(parameters->Open(model_, {}).status());
  EXPECT_THAT(parameters->AddFile(both, {}),
              StatusIs(kInvalid, HasSubstr("parameter 'a' is in " + first + " and in " + both)));
  EXPECT_EQ(parameters->tensors().size(), 2u);
}

TEST_F(ParametersTest, RejectsOtherShapesAndNames) {
  const auto refusal = [&](const std::vector<TestTensor>& tensors) {
    const auto parameters = std::make_shared<Parameters>();
    EXPECT_OK(parameters->AddFile(Write("p.belay", ParameterFile(tensors)), {}));
    return parameters->Open(model_, {}).status();
  };
  EXPECT_THAT(refusal({{"a", {1, 2, 3}}}),
              StatusIs(kInvalid,
                       AllOf(HasSubstr("p.belay: parameter 'a': expected float32 [2], got float32 "
                                       "[3]"),
                             HasSubstr(model_))));
  EXPECT_THAT(refusal({{"b", {1, 2}}}),
              StatusIs(kInvalid, AllOf(HasSubstr("unknown parameters 'b' ("),
                                       HasSubstr("replaceable are: 'a', 'unused'"))));
  EXPECT_THAT(refusal({{"base", {1, 2}}}),
              StatusIs(kInvalid, HasSubstr("parameter 'base': the program does not allow")));
}

TEST_F(ParametersTest, RejectsOtherDtypesAndOrders) {
  const std::vector<std::byte> bytes(8);
  for (const Parameters::Tensor& tensor :
       {Parameters::Tensor{DType::kInt32, {2}, {0}, bytes, "caller"},
        Parameters::Tensor{DType::kFloat32, {2, 1}, {0, 1}, bytes, "caller"},
        Parameters::Tensor{DType::kFloat32, {2, 1}, {1, 0}, bytes, "caller"}}) {
    const auto parameters = std::make_shared<Parameters>();
    ASSERT_OK(parameters->Add("a", tensor, nullptr));
    EXPECT_THAT(parameters->Open(model_, {}).status(),
                StatusIs(kInvalid, HasSubstr("expected float32 [2], got ")));
  }
}

TEST_F(ParametersTest, RejectsFilesThatAreNotParameterFiles) {
  const auto add = [&](const std::string& path) {
    Parameters parameters;
    const absl::Status status = parameters.AddFile(path, {});
    EXPECT_TRUE(parameters.tensors().empty());
    return status;
  };
  EXPECT_THAT(add(model_), StatusIs(kInvalid, HasSubstr("expected a parameter file, which has no "
                                                        "methods, got a program with the method "
                                                        "'forward'")));
  TestProgram blobs;
  blobs.AddNamedData("blob", "bytes");
  EXPECT_THAT(add(Write("b.belay", blobs.Serialize())),
              StatusIs(kInvalid, HasSubstr("named data 'blob' has no layout")));
  EXPECT_THAT(add(Write("d.belay", std::string(100, 'x'))),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("d.belay")));
  EXPECT_THAT(add(Path("missing")), StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing")));
}

// The verifier of a program also decides about its parameters.
TEST_F(ParametersTest, FilesAreVerified) {
  class Nothing final : public FileVerifier {
   public:
    absl::Status VerifyFile(const std::string& path, absl::Span<const std::byte>) const override {
      return absl::PermissionDeniedError(path);
    }
    absl::Status VerifyDigest(absl::Span<const std::byte>, std::string_view) const override {
      return absl::OkStatus();
    }
  };
  const Nothing nothing;
  Program::Options options;
  options.verifier = &nothing;
  const std::string file = Write("a.belay", ParameterFile({{"a", {5, 6}}}));
  Parameters parameters;
  EXPECT_THAT(parameters.AddFile(file, options),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(file)));
}

}  // namespace
}  // namespace belay
