#include "exir/method_state.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/text.h"

namespace belay::exir {
namespace {

struct Buffer {
  std::string_view name;
  std::string type;
  const ConstantTensor* tensor = nullptr;  // initial content
  bool written = false;
};
struct MethodBuffers {
  std::string_view method;
  std::vector<Buffer> buffers;

  bool Has(std::string_view name) const {
    return std::any_of(buffers.begin(), buffers.end(),
                       [&](const Buffer& buffer) { return buffer.name == name; });
  }
};

// Returns the buffers and tensor constants that each method uses.
std::vector<MethodBuffers> BuffersOf(const MethodPrograms& methods) {
  std::vector<MethodBuffers> all;
  for (const auto& [method, program] : methods) {
    const absl::btree_set<std::string_view> written = MutatedState(program.signature);
    MethodBuffers& mine = all.emplace_back();
    mine.method = method;
    for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
      const InputSpec& spec = program.signature.inputs[i];
      if (!NamesTensor(spec.kind) || spec.kind == InputKind::kParameter) continue;
      const Graph& graph = program.top();
      const ValueId input = graph.inputs()[i];
      const bool is_written = written.contains(spec.target);
      const ConstantTensor* tensor = program.FindConstant(spec);
      if (tensor == nullptr || (graph.value(input).users.empty() && !is_written)) continue;
      mine.buffers.push_back({spec.target, PrintType(graph.value(input).type), tensor, is_written});
    }
  }
  return all;
}

// Whether the runtime could share the buffers: equal types of rank 2 or more, and equal initial
// contents.
bool Alike(const Buffer& a, const Buffer& b) {
  if (a.tensor->sizes().size() < 2 || a.type != b.type || a.tensor->dtype() != b.tensor->dtype() ||
      a.tensor->sizes() != b.tensor->sizes()) {
    return false;
  }
  const absl::StatusOr<Storage> x = a.tensor->Dense(), y = b.tensor->Dense();
  return x.ok() && y.ok() && x->bytes.size() == y->bytes.size() &&
         std::memcmp(x->bytes.data(), y->bytes.data(), x->bytes.size()) == 0;
}

}  // namespace

std::vector<StateReport> StateOf(const MethodPrograms& methods) {
  const std::vector<MethodBuffers> all = BuffersOf(methods);
  absl::btree_map<std::string_view, StateReport> state;
  for (const MethodBuffers& method : all) {
    for (const Buffer& buffer : method.buffers) {
      if (!buffer.written) continue;
      state.try_emplace(
          buffer.name,
          StateReport{std::string(buffer.name), buffer.type, buffer.tensor->view().nbytes(), {}});
    }
  }
  std::vector<StateReport> reports;
  for (auto& [name, report] : state) {
    for (const MethodBuffers& method : all) {
      if (method.Has(name)) report.methods.emplace_back(method.method);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

absl::Status CheckSharedState(const MethodPrograms& methods) {
  const std::vector<MethodBuffers> all = BuffersOf(methods);
  absl::btree_set<std::string_view> written;
  for (const MethodBuffers& method : all) {
    for (const Buffer& buffer : method.buffers) {
      if (buffer.written) written.insert(buffer.name);
    }
  }
  std::vector<std::string> problems;
  const auto describe = [](const MethodBuffers& method, std::string_view verb,
                           const Buffer& buffer) {
    return absl::StrCat("'", std::string(method.method), "' ", std::string(verb), " '",
                        std::string(buffer.name), "'");
  };
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      if (i == j) continue;
      const MethodBuffers &reader = all[i], &writer = all[j];
      absl::btree_set<std::string_view> paired;
      for (const Buffer& read : reader.buffers) {
        if (written.contains(read.name) || writer.Has(read.name)) continue;
        for (const Buffer& other : writer.buffers) {
          if (!other.written || reader.Has(other.name) || paired.contains(other.name)) continue;
          if (!Alike(read, other)) continue;
          paired.insert(other.name);
          problems.push_back(absl::StrCat(describe(reader, "only reads", read), ", ",
                                          describe(writer, "writes", other), ", both ", read.type));
          break;
        }
      }
    }
  }
  if (problems.empty()) return absl::OkStatus();
  constexpr size_t kMost = 4;
  const size_t count = problems.size();
  if (count > kMost) {
    problems.resize(kMost);
    problems.push_back(absl::StrCat("and ", count - kMost, " more"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "expected methods to share state under equal names, got buffers that only differ in name: ",
      absl::StrJoin(problems, "; "),
      "; give them one name (export all methods with the same `strict=`), or allow separate state "
      "(--allow-separate-state)"));
}

std::vector<std::string> NotesOnLogits(const MethodPrograms& methods) {
  constexpr int64_t kLeastVocabulary = 1024;
  std::vector<std::string> notes;
  for (const auto& [name, program] : methods) {
    if (MutatedState(program.signature).empty()) continue;
    const Graph& graph = program.top();
    const TensorMeta* logits = nullptr;
    for (size_t i = 0; i < program.signature.outputs.size() && logits == nullptr; ++i) {
      if (program.signature.outputs[i].kind != OutputKind::kUserOutput) continue;
      const ValueId* value = graph.outputs()[i].get_if<ValueId>();
      if (value == nullptr) break;
      logits = graph.value(*value).tensor();
      if (logits == nullptr) break;
    }
    if (logits == nullptr || !IsFloatingPoint(logits->dtype) || logits->sizes.size() != 3) continue;
    const SymExpr& tokens = logits->sizes[1];
    const std::optional<int64_t> vocabulary = logits->sizes[2].AsInt();
    if (logits->sizes[0].AsInt() != 1 || tokens.AsInt() == 1 ||
        vocabulary.value_or(0) < kLeastVocabulary) {
      continue;
    }
    for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
      if (program.signature.inputs[i].kind != InputKind::kUserInput) continue;
      const TensorMeta* ids = graph.value(graph.inputs()[i]).tensor();
      if (ids == nullptr || (ids->dtype != DType::kInt64 && ids->dtype != DType::kInt32) ||
          ids->sizes.size() != 2 || !(ids->sizes[1] == tokens)) {
        continue;
      }
      notes.push_back(absl::StrCat(
          "method '", name, "' returns logits of all tokens, ", PrintType(*logits),
          "; generation uses only those of the last token: export with logits_to_keep=1 "
          "(docs/language-models.md)"));
      break;
    }
  }
  return notes;
}

}  // namespace belay::exir
