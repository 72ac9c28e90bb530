#include "executorch/writer/bundled_program_writer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "executorch/format/bundled_program_generated.h"
#include "executorch/format/scalar_type.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {
namespace {

// ExecuTorch has its dtype, and its sizes have 32 bits.
bool IsTensorOfExecuTorch(const EValue& value) {
  const TensorView* tensor = value.get_if<TensorView>();
  return tensor != nullptr && ToScalarType(tensor->dtype).has_value() &&
         absl::c_all_of(tensor->sizes, [](int64_t size) { return size <= INT32_MAX; });
}

absl::Status CheckValues(absl::Span<const BundledMethod> methods) {
  std::vector<std::string> problems;
  const auto check = [&](const std::vector<EValue>& values, std::string_view place,
                         bool tensors_only) {
    for (size_t i = 0; i < values.size(); ++i) {
      const EValue& value = values[i];
      const bool is_number = value.is<int64_t>() || value.is<bool>() || value.is<double>();
      if (IsTensorOfExecuTorch(value) || (is_number && !tensors_only)) continue;
      problems.push_back(absl::StrCat(
          place, "[", i, "]: ", value.KindName(), ", expected ",
          tensors_only ? "a tensor that ExecuTorch supports"
                       : "a tensor that ExecuTorch supports, an int, a bool or a float"));
    }
  };
  for (const BundledMethod& method : methods) {
    for (size_t i = 0; i < method.cases.size(); ++i) {
      const std::string place = absl::StrCat("method ", Quoted(method.name), ", case ", i);
      check(method.cases[i].inputs, place + ", inputs", /*tensors_only=*/false);
      check(method.cases[i].expected_outputs, place + ", expected_outputs", /*tensors_only=*/true);
    }
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::UnimplementedError(ListFirst(problems, "; ", problems.size()));
}

// Upper bound of the file's bytes.
uint64_t FileBytes(absl::Span<const std::byte> program, absl::Span<const BundledMethod> methods) {
  constexpr uint64_t kTable = 256;
  uint64_t bytes = program.size() + kTable;
  for (const BundledMethod& method : methods) {
    bytes += method.name.size() + kTable;
    for (const BundledCase& test : method.cases) {
      bytes += kTable;
      for (const std::vector<EValue>* values : {&test.inputs, &test.expected_outputs}) {
        for (const EValue& value : *values) {
          const TensorView* tensor = value.get_if<TensorView>();
          bytes += kTable + (tensor == nullptr ? 0 : tensor->nbytes());
        }
      }
    }
  }
  return bytes;
}

absl::StatusOr<std::unique_ptr<bpte::ValueT>> ToTable(const EValue& value) {
  auto table = std::make_unique<bpte::ValueT>();
  if (const auto* number = value.get_if<int64_t>()) {
    table->val.Set(bpte::IntT());
    table->val.AsInt()->value = *number;
  } else if (const auto* flag = value.get_if<bool>()) {
    table->val.Set(bpte::BoolT());
    table->val.AsBool()->value = *flag;
  } else if (const auto* real = value.get_if<double>()) {
    table->val.Set(bpte::DoubleT());
    table->val.AsDouble()->value = *real;
  } else {
    const TensorView& tensor = *value.get_if<TensorView>();
    table->val.Set(bpte::TensorT());
    bpte::TensorT& out = *table->val.AsTensor();
    out.scalar_type = *ToScalarType(tensor.dtype);
    for (const int64_t size : tensor.sizes) {
      out.dim_order.push_back(static_cast<uint8_t>(out.sizes.size()));
      out.sizes.push_back(static_cast<int32_t>(size));
    }
    out.data.resize(tensor.nbytes());
    ABSL_RETURN_IF_ERROR(
        CopyElements(tensor, TensorView::Contiguous(tensor.dtype, tensor.sizes, out.data.data())));
  }
  return table;
}

absl::Status AddValues(const std::vector<EValue>& values,
                       std::vector<std::unique_ptr<bpte::ValueT>>& tables) {
  for (const EValue& value : values) {
    ABSL_ASSIGN_OR_RETURN(auto table, ToTable(value));
    tables.push_back(std::move(table));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> SerializeBundledProgram(absl::Span<const std::byte> program,
                                                    absl::Span<const BundledMethod> methods) {
  ABSL_RETURN_IF_ERROR(CheckValues(methods));
  const uint64_t bytes = FileBytes(program, methods);
  if (bytes >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the program and its test cases have about ", bytes,
                     " bytes, a bundled program has at most ", FLATBUFFERS_MAX_BUFFER_SIZE - 1));
  }
  bpte::BundledProgramT root;
  root.version = kBundledProgramVersion;
  const auto* first = reinterpret_cast<const uint8_t*>(program.data());
  root.program.assign(first, first + program.size());
  std::vector<const BundledMethod*> sorted;
  for (const BundledMethod& method : methods) sorted.push_back(&method);
  absl::c_sort(sorted, [](const BundledMethod* a, const BundledMethod* b) {
    return std::tie(a->name, a) < std::tie(b->name, b);
  });
  for (const BundledMethod* method : sorted) {
    auto suite = std::make_unique<bpte::TestSuiteT>();
    suite->method_name = method->name;
    for (const BundledCase& test : method->cases) {
      auto table = std::make_unique<bpte::TestCaseT>();
      ABSL_RETURN_IF_ERROR(AddValues(test.inputs, table->inputs));
      ABSL_RETURN_IF_ERROR(AddValues(test.expected_outputs, table->expected_outputs));
      suite->test_cases.push_back(std::move(table));
    }
    root.method_test_suites.push_back(std::move(suite));
  }
  flatbuffers::FlatBufferBuilder builder;
  bpte::FinishBundledProgramBuffer(builder, bpte::CreateBundledProgram(builder, &root));
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

}  // namespace belay::pte
