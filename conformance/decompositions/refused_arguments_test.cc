// Decomposes calls with invalid or unusual arguments: returns a status in bounded time. The calls
// are those of the vectors with a few random changes: empty, short and long lists; operands of rank
// 0 or with huge dimensions; dimensions out of range; huge and negative numbers.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "conformance/decompositions/case_program.h"
#include "conformance/differential/call_corpus.h"
#include "conformance/ops/op_case.h"
#include "exir/decompositions/decompose.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::BaseType;
using exir::SchemaType;
using exir::ValueId;

constexpr int kChangedCalls = 40;  // per vector

class Changes {
 public:
  explicit Changes(uint64_t seed) : random_(seed) {}

  void Apply(const exir::FunctionSchema& schema, SampleCall& call) {
    for (size_t n = 1 + Below(3); n > 0; --n) {
      if (call.arguments.empty() || (!call.tensors.empty() && Below(3) == 0)) {
        if (!call.tensors.empty()) Change(call.tensors[Below(call.tensors.size())]);
      } else {
        const size_t i = Below(call.arguments.size());
        Change(schema.arguments[i].type, call.arguments[i]);
      }
    }
  }

 private:
  size_t Below(size_t n) { return static_cast<size_t>(random_() % n); }

  int64_t Int() {
    static constexpr int64_t kInts[] = {0,
                                        1,
                                        -1,
                                        2,
                                        -2,
                                        3,
                                        7,
                                        -100,
                                        100,
                                        int64_t{1} << 31,
                                        -(int64_t{1} << 31),
                                        int64_t{1} << 40,
                                        int64_t{1} << 62,
                                        std::numeric_limits<int64_t>::max(),
                                        std::numeric_limits<int64_t>::min()};
    return kInts[Below(std::size(kInts))];
  }
  double Double() {
    static constexpr double kDoubles[] = {0,
                                          -0.0,
                                          1,
                                          -1,
                                          0.5,
                                          2.5,
                                          1e300,
                                          -1e300,
                                          1e-300,
                                          65520,
                                          1e10,
                                          1e19,
                                          -1e19,
                                          std::numeric_limits<double>::infinity(),
                                          -std::numeric_limits<double>::infinity(),
                                          std::numeric_limits<double>::quiet_NaN()};
    return kDoubles[Below(std::size(kDoubles))];
  }
  // Returns an element of the type; None if no other value can be created.
  Argument Element(const SchemaType& type) {
    static constexpr const char* kTexts[] = {"",      "sum",    "same",   "fro",  "nuc",
                                             "ii",    "..",     "a,,->b", "mean", "left",
                                             "trunc", "linear", "a->",    "...a"};
    switch (type.base) {
      case BaseType::kInt:
        return Argument(Int());
      case BaseType::kFloat:
        return Argument(Double());
      case BaseType::kBool:
        return Argument(Below(2) == 0);
      case BaseType::kScalar:
        return Below(2) == 0 ? Argument(Int()) : Argument(Double());
      case BaseType::kString:
        return Argument(kTexts[Below(std::size(kTexts))]);
      case BaseType::kScalarType:
        return Argument(Dtype());
      default:
        return Argument();
    }
  }
  DType Dtype() {
    static constexpr DType kDtypes[] = {DType::kFloat32, DType::kFloat64,  DType::kFloat16,
                                        DType::kInt8,    DType::kUint8,    DType::kInt64,
                                        DType::kBool,    DType::kComplex64};
    return kDtypes[Below(std::size(kDtypes))];
  }

  void Change(const SchemaType& type, Argument& argument) {
    if (type.optional && !argument.is_none() && Below(3) == 0) {
      argument = Argument();
      return;
    }
    if (Argument::List* list = argument.get_if<Argument::List>()) {
      switch (list->empty() ? 2 : Below(4)) {
        case 0:
          list->clear();
          break;
        case 1:
          list->pop_back();
          break;
        case 2:
          list->push_back(list->empty() || Below(2) == 0 ? Element(type) : list->back());
          if (list->back().is_none() && !type.element_optional) list->pop_back();
          break;
        default: {
          const Argument element = Element(type);
          if (!element.is_none()) (*list)[Below(list->size())] = element;
        }
      }
      return;
    }
    if (argument.is<ValueId>()) return;  // tensors are changed elsewhere
    const Argument element = Element(type);
    if (element.is_none()) return;
    argument = type.list ? Argument(Argument::List(Below(4), element)) : element;
  }

  void Change(SampleTensor& tensor) {
    static constexpr int64_t kSizes[] = {0, 1, 2, 3, 17, int64_t{1} << 40};
    const int64_t size = kSizes[Below(std::size(kSizes))];
    std::vector<int64_t> sizes(tensor.sizes.begin(), tensor.sizes.end());
    const size_t place = Below(sizes.size() + 1);
    switch (Below(5)) {
      case 0:
        sizes.clear();
        break;
      case 1:
        if (!sizes.empty())
          sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(Below(sizes.size())));
        break;
      case 2:
        sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(place), size);
        break;
      case 3:
        if (place < sizes.size()) sizes[place] = size;
        break;
      default:
        tensor.dtype = Dtype();
    }
    tensor.sizes = Sizes();
    for (int64_t s : sizes) tensor.sizes.push_back(s);
  }

  std::mt19937_64 random_;
};

class RefusedArgumentsTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    ops_ = exir::CreateStandardOps().value().release();
    seed_ = TestSeed();
  }
  static void TearDownTestSuite() { delete ops_; }
  static exir::OpRegistry* ops_;
  static uint64_t seed_;
};
exir::OpRegistry* RefusedArgumentsTest::ops_;
uint64_t RefusedArgumentsTest::seed_;

TEST_P(RefusedArgumentsTest, ReturnStatus) {
  ASSERT_OK_AND_ASSIGN(const OpCaseFile file, ReadOpCaseFile(std::string(kDecompositionCases) +
                                                             "/" + GetParam() + ".json"));
  const exir::OpOverload* op = ops_->Find(file.op);
  ASSERT_NE(op, nullptr) << file.op;
  const bool prints = std::getenv("BELAY_TEST_PRINT") != nullptr;  // shows the crashing call
  Changes changes(seed_);
  for (const OpCase& op_case : file.cases) {
    const absl::StatusOr<SampleCall> call = ToSampleCall(*op, op_case);
    if (!call.ok() || !op_case.expect.has_value()) continue;
    for (int i = 0; i < kChangedCalls; ++i) {
      SampleCall changed = *call;
      changes.Apply(*op->schema(), changed);
      absl::StatusOr<exir::ExportedProgram> program = ProgramOf(*op, changed, op_case, *ops_);
      if (!program.ok() || !exir::Verify(*program).ok()) continue;
      if (prints) {
        std::printf("%s\n", exir::PrintProgram(*program).c_str());
        std::fflush(stdout);
      }
      if (exir::Decompose().run(*program).ok()) EXPECT_OK(exir::Verify(*program));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, RefusedArgumentsTest, ::testing::ValuesIn(DecompositionCaseFiles()),
                         [](const auto& info) { return TestNameOf(info.param); });

}  // namespace
}  // namespace belay::conformance
