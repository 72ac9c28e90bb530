// Embeddings of quantized and of tied tables, lowered by the pipeline and compared with the program
// as written.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/cpu_testing.h"
#include "exir/interpreter/interpreter.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"

namespace belay::cpu {
namespace {

using exir::OwnedValue;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr exir::Closeness kEqual = {.atol = 0, .rtol = 0};

class EmbeddingProgramsTest : public CpuTest {
 protected:
  // Lowers the program with the CPU backend.
  absl::StatusOr<exir::ProgramImage> LowerAll(const exir::ExportedProgram& program) {
    const auto partitioner = Aot().create_partitioner(compile_specs_);
    exir::PipelineOptions options;
    options.backends = &set_;
    options.partitioners.all = {partitioner.get()};
    options.after_to_backend = [&](const exir::MethodPrograms& methods) {
      operators_ = OperatorsOf(methods[0].second);
    };
    exir::MethodPrograms methods;
    methods.emplace_back("forward", program.Clone());
    return exir::LowerPrograms(std::move(methods), options);
  }

  // Expects that the lowered program computes the same bits in its embedding, the first result, and
  // close sums. `program` is in the ATEN dialect.
  void ExpectSameRows(const exir::ExportedProgram& program, const exir::CallSequence& calls) {
    auto edge = exir::ToEdge(program.Clone());
    ASSERT_OK(edge.status());
    auto interpreter = exir::Interpreter::Create(*edge, kernels_);
    ASSERT_OK(interpreter.status());
    auto image = LowerAll(program);
    ASSERT_OK(image.status());
    auto file = exir::OpenImage(*image);
    ASSERT_OK(file.status());
    auto method = Method::Load(*file, "forward", kernels_, registry_);
    ASSERT_OK(method.status());
    auto want = exir::RunCalls(*interpreter, calls);
    ASSERT_OK(want.back().status);
    auto got = exir::RunCalls(*method, calls);
    ASSERT_OK(got.back().status);
    EXPECT_EQ(exir::FirstDifference(want, got, kClose), "");
    for (size_t i = 0; i < calls.size(); ++i) {
      want[i].outputs.resize(1);
      got[i].outputs.resize(1);
    }
    EXPECT_EQ(exir::FirstDifference(want, got, kEqual), "");
  }

  OwnedValue Indices(const std::vector<int64_t>& rows) {
    OwnedValue indices = Tensor(DType::kInt64, {static_cast<int64_t>(rows.size())});
    for (size_t i = 0; i < rows.size(); ++i) indices.tensor()->as<int64_t>()[i] = rows[i];
    return indices;
  }

  std::vector<std::string> operators_;  // of the first delegate
};

TEST_F(EmbeddingProgramsTest, QuantizedTablesAreNotDequantized) {
  const struct {
    std::string_view block, parameters, range, table, op;
  } kCases[] = {
      {"[1,32]", "48,1", "-128, 127", "eight", "quantized_decomposed.embedding_byte.default"},
      {"[1,32]", "48,1", "-8, 7", "four", "quantized_decomposed.embedding_4bit.default"},
      {"[1,8]", "48,4", "-128, 127", "eight", "quantized_decomposed.embedding_byte.default"},
      {"[1,8]", "48,4", "-8, 7", "four", "quantized_decomposed.embedding_4bit.default"},
  };
  for (const auto& c : kCases) {
    for (const bool convert : {false, true}) {
      SCOPED_TRACE(absl::StrCat(c.block, " ", c.range, convert ? " converted" : ""));
      const std::string type = convert ? "bf16" : "f32";
      const exir::ExportedProgram program = ParseWithNumbers(
          absl::StrCat(
              "program aten {\n constants { state \"", c.table,
              "\": i8[48,32] state \"scale\": f32[", c.parameters, "] state \"four_zero\": i8[",
              c.parameters, "] state \"w\": f32[32,16] }\n graph(%q: i8[48,32] buffer \"", c.table,
              "\", %s: f32[", c.parameters, "] buffer \"scale\", %z: i8[", c.parameters,
              "] buffer \"four_zero\", %w: f32[32,16] parameter \"w\", %i: i64[5] user_input) {\n",
              "%d: f32[48,32] = torchao.dequantize_affine.default(%q, ", c.block,
              ", %s, %z, dtype:i8, ", c.range, ")\n",
              convert ? "%t: bf16[48,32] = aten._to_copy.default(%d, dtype=dtype:bf16)\n" : "",
              "%e: ", type, "[5,32] = aten.embedding.default(", convert ? "%t" : "%d", ", %i)\n",
              "%f: f32[5,32] = aten._to_copy.default(%e, dtype=dtype:f32)\n"
              "%m: f32[5,16] = aten.mm.default(%f, %w)\n"
              "return (%f user_output, %m user_output) } }"),
          *ops_);
      ExpectSameRows(program, {{Indices({0, 47, 5, 5, 31})}, {Indices({46, 1, 2, 3, 4})}});
      EXPECT_THAT(operators_, Contains(std::string(c.op)));
      EXPECT_THAT(operators_, Not(Contains(HasSubstr("dequantize"))));
    }
  }
}

// A language model's head and, if `embeds`, an embedding with the same table of 1024 rows of 48
// elements. `table` computes the embedding's table %t and the head's matrix %m.
std::string Tied(std::string_view constants, std::string_view inputs, std::string_view table,
                 std::string_view type, bool embeds) {
  const std::string rows = absl::StrCat(std::string(type), "[5,48]");
  return absl::StrCat(
      "program aten {\n constants { ", std::string(constants), " }\n graph(", std::string(inputs),
      embeds ? ", %i: i64[5] user_input) {\n" : absl::StrCat(", %e: ", rows, " user_input) {\n"),
      std::string(table), "%h: ", std::string(type),
      "[48,1024] = aten.permute.default(%m, [1,0])\n",
      embeds ? absl::StrCat("%e: ", rows, " = aten.embedding.default(%t, %i)\n") : "", "%x: ", rows,
      " = aten.tanh.default(%e)\n%y: ", std::string(type),
      "[5,1024] = aten.mm.default(%x, %h)\nreturn (", embeds ? "%e user_output, " : "",
      "%y user_output) } }");
}

TEST_F(EmbeddingProgramsTest, TiedTablesAreStoredOnce) {
  // Each use dequantizes the table.
  const std::string_view eight =
      "%t: f32[1024,48] = torchao.dequantize_affine.default(%q, [1,48], %s, %z, dtype:i8, -128, "
      "127)\n%m: f32[1024,48] = torchao.dequantize_affine.default(%q, [1,48], %s, %z, dtype:i8, "
      "-128, 127)\n";
  const struct {
    std::string_view name, type, constants, inputs, table;
    uint64_t table_bytes;
  } kCases[] = {
      {"f32", "f32", "state \"w\": f32[1024,48]", "%w: f32[1024,48] parameter \"w\"",
       "%t: f32[1024,48] = aten.alias.default(%w)\n%m: f32[1024,48] = aten.alias.default(%w)\n",
       1024 * 48 * 4},
      {"bf16", "bf16", "state \"w\": bf16[1024,48]", "%w: bf16[1024,48] parameter \"w\"",
       "%t: bf16[1024,48] = aten.alias.default(%w)\n%m: bf16[1024,48] = aten.alias.default(%w)\n",
       1024 * 48 * 2},
      {"int8", "f32",
       "state \"eight\": i8[1024,48] state \"scale\": f32[1024,1] state \"four\": i8[1024,1]",
       "%q: i8[1024,48] buffer \"eight\", %s: f32[1024,1] buffer \"scale\", %z: i8[1024,1] buffer "
       "\"four\"",
       eight, 1024 * 48},
      {"int4", "f32",
       "state \"four\": i8[1024,48] state \"scale\": f32[1024,1] state \"four_z\": i8[1024,1]",
       "%q: i8[1024,48] buffer \"four\", %s: f32[1024,1] buffer \"scale\", %z: i8[1024,1] buffer "
       "\"four_z\"",
       eight, 1024 * 48 / 2},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto size = [&](bool embeds) {
      auto image =
          LowerAll(ParseWithNumbers(Tied(c.constants, c.inputs, c.table, c.type, embeds), *ops_));
      EXPECT_OK(image.status());
      auto file = exir::SerializeProgram(*image);
      EXPECT_OK(file.status());
      return file->size;
    };
    const uint64_t head = size(false), both = size(true);
    EXPECT_GT(head, c.table_bytes);
    // Only instructions are added.
    EXPECT_LT(both, head + 2048);
    ExpectSameRows(ParseWithNumbers(Tied(c.constants, c.inputs, c.table, c.type, true), *ops_),
                   {{Indices({0, 1023, 5, 5, 31})}, {Indices({46, 1, 32, 33, 64})}});
    EXPECT_THAT(operators_, Contains("belay_cpu.packed_embedding.default"));
  }
}

// The nodes that torchao emits for models of float16 and bfloat16.
TEST_F(EmbeddingProgramsTest, NarrowQuantizedTablesAreNotDequantized) {
  for (const std::string type : {"bf16", "f16"}) {
    for (const auto& [block, groups] : {std::pair("[1,32]", "48,1"), {"[1,8]", "48,4"}}) {
      for (const std::string zero : {"%z", "none"}) {
        SCOPED_TRACE(absl::StrCat(type, " ", block, " ", zero));
        const exir::ExportedProgram program = ParseWithNumbers(
            absl::StrCat(
                "program aten {\n constants { state \"eight\": i8[48,32] state \"s\": ", type, "[",
                groups, "] state \"four_zero\": i8[", groups,
                "] state \"w\": f32[32,16] }\n graph(%q: i8[48,32] buffer \"eight\", %s: ", type,
                "[", groups, "] buffer \"s\", %z: i8[", groups,
                "] buffer \"four_zero\", %w: f32[32,16] parameter \"w\", %i: i64[5] "
                "user_input) {\n%d: ",
                type, "[48,32] = torchao.dequantize_affine.default(%q, ", block, ", %s, ", zero,
                ", dtype:i8, -128, 127, output_dtype=dtype:", type, ")\n%e: ", type,
                "[5,32] = aten.embedding.default(%d, %i)\n",
                "%f: f32[5,32] = aten._to_copy.default(%e, dtype=dtype:f32)\n"
                "%m: f32[5,16] = aten.mm.default(%f, %w)\n"
                "return (%f user_output, %m user_output) } }"),
            *ops_);
        ExpectSameRows(program, {{Indices({0, 47, 5, 5, 31})}, {Indices({46, 1, 2, 3, 4})}});
        EXPECT_THAT(operators_, Contains("quantized_decomposed.embedding_byte.default"));
      }
    }
  }
}

TEST_F(EmbeddingProgramsTest, TablesWithoutALinearLayerStayRowMajor) {
  const exir::ExportedProgram program = ParseWithNumbers(
      R"(program aten {
        constants { state "w": f32[1024,48] state "v": f32[48,64] }
        graph(%w: f32[1024,48] parameter "w", %v: f32[48,64] parameter "v", %i: i64[5] user_input) {
          %e: f32[5,48] = aten.embedding.default(%w, %i)
          %y: f32[5,64] = aten.mm.default(%e, %v)
          return (%e user_output, %y user_output) } })",
      *ops_);
  ExpectSameRows(program, {{Indices({0, 1023, 5, 5, 31})}});
  EXPECT_THAT(operators_, Contains("aten.embedding.default"));
}

}  // namespace
}  // namespace belay::cpu
