#include "executorch/reader/bundled_program.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "executorch/format/bundled_program_generated.h"
#include "executorch/reader/flat_file.h"
#include "executorch/reader/problems.h"
#include "executorch/reader/tensor_layout.h"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/first_bytes.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/utf8.h"
#include "runtime/program/header.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {
namespace {

constexpr size_t kIdentifierOffset = 4, kIdentifierSize = 4;

std::string_view Identifier(absl::Span<const std::byte> file) {
  if (file.size() < kIdentifierOffset + kIdentifierSize) return "";
  return AsString(file.subspan(kIdentifierOffset, kIdentifierSize));
}

absl::Status CheckIdentifier(absl::Span<const std::byte> file) {
  const std::string_view expected = bpte::BundledProgramIdentifier(), got = Identifier(file);
  if (got == expected) return absl::OkStatus();
  if (IsBundledProgram(file)) {
    return absl::UnimplementedError(absl::StrCat("the bundled program has the schema ", Quoted(got),
                                                 ", this reader reads ", Quoted(expected)));
  }
  return absl::DataLossError(
      absl::StrCat("not a bundled program (.bpte): ", DescribeFirstBytes(file)));
}

absl::StatusOr<EValue> ReadTensor(const bpte::Tensor& tensor) {
  ABSL_ASSIGN_OR_RETURN(const TensorLayout layout,
                        ReadLayout(tensor.scalar_type(), tensor.sizes(), tensor.dim_order()));
  const uint64_t bytes = tensor.data() == nullptr ? 0 : tensor.data()->size();
  if (layout.bytes > bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of ", layout.bytes, " bytes, its data has ", bytes));
  }
  TensorView view{.dtype = layout.dtype,
                  .sizes = layout.sizes,
                  .strides = DenseStrides(layout.sizes, layout.dim_order)};
  if (bytes == 0) return EValue(view);
  // The bytes are a copy that no one else reads; a view has no constant form.
  auto* data = const_cast<uint8_t*>(tensor.data()->Data());
  if (reinterpret_cast<uintptr_t>(data) % DTypeSize(layout.dtype) != 0) {
    return absl::InvalidArgumentError("the data of a tensor is not aligned to its dtype");
  }
  view.data = data;
  return EValue(view);
}

absl::StatusOr<EValue> ReadValue(const bpte::Value& value) {
  // The verifier accepts a type without a table, and unknown types.
  if (value.val() == nullptr) return absl::InvalidArgumentError("a value without content");
  switch (value.val_type()) {
    case bpte::AnyValue::Tensor:
      return ReadTensor(*value.val_as_Tensor());
    case bpte::AnyValue::Int:
      return EValue(value.val_as_Int()->value());
    case bpte::AnyValue::Bool:
      return EValue(value.val_as_Bool()->value());
    case bpte::AnyValue::Double:
      return EValue(value.val_as_Double()->value());
    case bpte::AnyValue::NONE:
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a value of the unknown kind ", static_cast<int>(value.val_type())));
}

using Values = flatbuffers::Vector<flatbuffers::Offset<bpte::Value>>;

std::vector<EValue> ReadValues(const Values* values, std::string_view place, Problems& problems) {
  std::vector<EValue> read;
  if (values == nullptr) return read;
  for (flatbuffers::uoffset_t i = 0; i < values->size(); ++i) {
    const absl::StatusOr<EValue> value = ReadValue(*values->Get(i));
    if (value.ok()) {
      read.push_back(*value);
    } else {
      problems.Add(Annotate(value.status(), absl::StrCat(place, "[", i, "]")));
    }
  }
  return read;
}

// Upper bound for the memory of the test cases and of the messages about them.
MemoryBound MemoryOf(const bpte::BundledProgram& root) {
  constexpr uint64_t kValue = 1024, kCase = 256;
  MemoryBound bound;
  if (root.method_test_suites() == nullptr) return bound;
  for (const bpte::TestSuite* suite : *root.method_test_suites()) {
    bound.Add(1, kCase);
    if (suite->method_name() != nullptr) bound.Add(2, suite->method_name()->size());
    if (suite->test_cases() == nullptr) continue;
    for (const bpte::TestCase* test : *suite->test_cases()) {
      bound.Add(1, kCase);
      for (const Values* values : {test->inputs(), test->expected_outputs()}) {
        if (values != nullptr) bound.Add(values->size(), kValue);
      }
    }
  }
  return bound;
}

std::vector<BundledMethod> ReadMethods(const bpte::BundledProgram& root, Problems& problems) {
  std::vector<BundledMethod> methods;
  if (root.method_test_suites() == nullptr) return methods;
  absl::flat_hash_set<std::string_view> names;
  for (const bpte::TestSuite* suite : *root.method_test_suites()) {
    const std::string_view name =
        suite->method_name() == nullptr ? "" : suite->method_name()->string_view();
    const std::string place = absl::StrCat("test cases of method ", Quoted(name));
    if (name.empty() || !IsUtf8(name)) {
      problems.Add(
          absl::InvalidArgumentError(absl::StrCat(place, ": the name is missing or not UTF-8")));
    } else if (!names.insert(name).second) {
      problems.Add(absl::InvalidArgumentError(
          absl::StrCat(place, ": the method has two lists of test cases")));
    }
    BundledMethod& method = methods.emplace_back();
    method.name = std::string(name);
    if (suite->test_cases() == nullptr) continue;
    for (const bpte::TestCase* test : *suite->test_cases()) {
      const std::string where = absl::StrCat(place, ", case ", method.cases.size());
      BundledCase& read = method.cases.emplace_back();
      read.inputs = ReadValues(test->inputs(), absl::StrCat(where, ", inputs"), problems);
      read.expected_outputs =
          ReadValues(test->expected_outputs(), absl::StrCat(where, ", expected_outputs"), problems);
    }
  }
  return methods;
}

}  // namespace

bool IsBundledProgram(absl::Span<const std::byte> file) {
  return Identifier(file).substr(0, 2) == "BP";
}

absl::StatusOr<BundledProgram> BundledProgram::Read(absl::Span<const std::byte> file,
                                                    const Limits& limits) {
  ABSL_RETURN_IF_ERROR(CheckFileBytes(file.size(), limits));
  ABSL_RETURN_IF_ERROR(CheckIdentifier(file));
  if (file.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return absl::ResourceExhaustedError(absl::StrCat("a bundled program has at most ",
                                                     FLATBUFFERS_MAX_BUFFER_SIZE - 1,
                                                     " bytes, this file has ", file.size()));
  }
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer copy, AlignedBuffer::Create(file.size()));
  std::copy_n(file.data(), file.size(), copy.data());
  BundledProgram bundled;
  bundled.bytes_ = std::make_shared<const AlignedBuffer>(std::move(copy));
  const FlatFile flat{
      .bytes = file, .tables = bundled.bytes_, .table_bytes = bundled.bytes_->size()};
  ABSL_ASSIGN_OR_RETURN(
      const bpte::BundledProgram* root,
      VerifiedRoot<bpte::BundledProgram>(flat, bpte::BundledProgramIdentifier(), limits));
  if (root->version() > kBundledProgramVersion) {
    return absl::UnimplementedError(absl::StrCat("the bundled program has version ",
                                                 root->version(), ", this reader reads ",
                                                 kBundledProgramVersion));
  }
  ABSL_RETURN_IF_ERROR(CheckMemory(MemoryOf(*root).bytes(), "the test cases"));
  Problems problems;
  if (root->program() == nullptr || root->program()->size() == 0) {
    problems.Add(absl::InvalidArgumentError("the bundled program has no program"));
  } else {
    bundled.program_ = absl::MakeConstSpan(
        reinterpret_cast<const std::byte*>(root->program()->Data()), root->program()->size());
  }
  bundled.methods_ = ReadMethods(*root, problems);
  ABSL_RETURN_IF_ERROR(problems.ToStatus());
  return bundled;
}

}  // namespace belay::pte
