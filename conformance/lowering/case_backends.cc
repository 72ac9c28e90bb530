#include "conformance/lowering/case_backends.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "backends/demo/executorch_backends.h"
#include "conformance/lowering/normal_form.h"
#include "conformance/lowering/recording_text.h"
#include "exir/backend/delegate_mapping_builder.h"
#include "exir/backend/introspection.h"
#include "exir/backend/named_data_store.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::CompileSpec;
using exir::ExportedProgram;
using exir::Graph;
using exir::NodeId;
using exir::PreprocessResult;
using Specs = absl::Span<const CompileSpec>;

exir::Storage Text(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return exir::Storage::Own({bytes, bytes + text.size()});
}

std::string SpecOr(Specs specs, std::string_view key, std::string fallback) {
  for (const CompileSpec& spec : specs) {
    if (spec.key == key) return spec.value;
  }
  return fallback;
}

std::vector<std::string> Split(const std::string& text) { return absl::StrSplit(text, ','); }

// Everything but the id and what a program becomes.
class CaseBackend : public exir::Backend {
 public:
  CaseBackend(std::string id, const CaseBackends* owner) : id_(std::move(id)), owner_(owner) {}
  std::string_view id() const override { return id_; }
  absl::StatusOr<PreprocessResult> Preprocess(ExportedProgram program, Specs specs) const override {
    ABSL_ASSIGN_OR_RETURN(PreprocessResult result, Compile(program, specs));
    Number(result);
    return result;
  }

 protected:
  virtual absl::StatusOr<PreprocessResult> Compile(ExportedProgram& program, Specs specs) const = 0;
  void Number(PreprocessResult& result) const {
    result.delegate_info = absl::StrCat(owner_->made++);
  }
  const std::set<std::string>& fqns() const { return owner_->fqns; }

 private:
  std::string id_;
  const CaseBackends* owner_;
};

class RecordingBackend final : public CaseBackend {
 public:
  using CaseBackend::CaseBackend;
  absl::StatusOr<PreprocessResult> Compile(ExportedProgram& program, Specs) const override {
    exir::DelegateMappingBuilder builder(exir::DelegateMappingBuilder::Identifiers::kGenerated);
    for (NodeId node : NodesOf(program.top())) {
      if (program.top().node(node).debug_handle == 0) continue;
      ABSL_RETURN_IF_ERROR(builder.InsertNodes(program.top(), {node}).status());
    }
    PreprocessResult result;
    result.processed = Text(RecordingText(program, fqns()));
    result.debug_handle_map = builder.mapping();
    return result;
  }
};

class NamedIdBackend final : public CaseBackend {
 public:
  using CaseBackend::CaseBackend;
  absl::StatusOr<PreprocessResult> Compile(ExportedProgram& program, Specs) const override {
    std::vector<std::string> ops;
    std::map<std::string, std::vector<NodeId>> nodes;
    for (NodeId node : NodesOf(program.top())) {
      if (program.top().node(node).debug_handle == 0) continue;
      const std::string op = OpName(program.top().node(node));
      if (nodes[op].empty()) ops.push_back(op);
      nodes[op].push_back(node);
    }
    exir::DelegateMappingBuilder builder;
    for (const std::string& op : ops) {
      ABSL_RETURN_IF_ERROR(
          builder.InsertNodes(program.top(), nodes[op], exir::DelegateId(absl::StrCat("op:", op)))
              .status());
    }
    PreprocessResult result;
    result.processed = Text(absl::StrJoin(ops, ","));
    result.debug_handle_map = builder.mapping();
    return result;
  }
};

// Text per partition, made of everything that came with one call.
class TogetherBackend final : public CaseBackend {
 public:
  TogetherBackend(std::string id, const CaseBackends* owner, bool echo)
      : CaseBackend(std::move(id), owner), echo_(echo) {}
  absl::StatusOr<PreprocessResult> Compile(ExportedProgram&, Specs) const override {
    PreprocessResult result;
    result.processed = Text(echo_ ? "whole" : "single");
    return result;
  }
  absl::StatusOr<exir::MethodResults> PreprocessMultimethod(exir::MethodPartitions methods,
                                                            int) const override {
    std::string seen;
    for (const auto& [method, partitions] : methods) {
      std::vector<std::string> texts;
      for (const exir::PartitionInput& partition : partitions) {
        const Graph& graph = partition.program.top();
        std::vector<std::string> ops, specs;
        for (NodeId node : NodesOf(graph)) ops.push_back(OpName(graph.node(node)));
        for (const CompileSpec& spec : partition.compile_specs) {
          specs.push_back(absl::StrCat(spec.key, "=", absl::BytesToHexString(spec.value)));
        }
        texts.push_back(absl::StrCat(absl::StrJoin(ops, "+"), "(", absl::StrJoin(specs, ","), ")"));
      }
      absl::StrAppend(&seen, seen.empty() ? "" : "|", method, "=", absl::StrJoin(texts, ";"));
    }
    exir::MethodResults results;
    for (const auto& [method, partitions] : methods) {
      std::vector<PreprocessResult> replies(partitions.size());
      for (size_t i = 0; i < replies.size(); ++i) {
        replies[i].processed =
            Text(absl::StrCat(echo_ ? "" : seen, echo_ ? "" : "#", method, ":", i));
        Number(replies[i]);
      }
      results.emplace_back(method, std::move(replies));
    }
    return results;
  }

 private:
  bool echo_;
};

class NamedDataBackend final : public CaseBackend {
 public:
  using CaseBackend::CaseBackend;
  absl::StatusOr<PreprocessResult> Compile(ExportedProgram& program, Specs specs) const override {
    exir::NamedDataStore store;
    std::vector<std::string> keys;
    for (const exir::InputSpec& spec : program.signature.inputs) {
      if (!exir::NamesTensor(spec.kind)) continue;
      const exir::ConstantTensor* tensor = program.FindConstant(spec);
      if (tensor == nullptr) return absl::InternalError("a constant is missing");
      const std::string key =
          SpecOr(specs, "prefix", "") +
          SpecOr(specs, "key", fqns().contains(spec.target) ? spec.target : "lifted");
      exir::NamedDataOptions options;
      options.external_tag = SpecOr(specs, "external", "");
      const std::string alignment = SpecOr(specs, "alignment", "1");
      int64_t number = 0;
      const auto parsed =
          std::from_chars(alignment.data(), alignment.data() + alignment.size(), number);
      if (parsed.ec != std::errc() || parsed.ptr != alignment.data() + alignment.size()) {
        return absl::InvalidArgumentError(absl::StrCat("alignment '", alignment, "' is no number"));
      }
      options.alignment = number;
      ABSL_ASSIGN_OR_RETURN(exir::Storage bytes, tensor->Dense());
      ABSL_RETURN_IF_ERROR(store.Add(key, std::move(bytes), options));
      keys.push_back(key);
    }
    PreprocessResult result;
    result.processed = Text(absl::StrJoin(keys, "\n"));
    result.named_data = store.output();
    return result;
  }
};

class FailingBackend final : public CaseBackend {
 public:
  using CaseBackend::CaseBackend;
  absl::StatusOr<PreprocessResult> Compile(ExportedProgram&, Specs) const override {
    return absl::InternalError("FailingBackend: cannot compile this program");
  }
};

class RejectingBackend final : public CaseBackend {
 public:
  using CaseBackend::CaseBackend;
  absl::StatusOr<PreprocessResult> Compile(ExportedProgram& program, Specs specs) const override {
    const std::vector<std::string> supported = Split(SpecOr(specs, "supported", ""));
    for (NodeId node : NodesOf(program.top())) {
      const std::string op = OpName(program.top().node(node));
      if (std::find(supported.begin(), supported.end(), op) != supported.end()) continue;
      return absl::UnimplementedError(
          absl::StrCat("call_function ", op, " is not supported in backend RejectingBackend"));
    }
    PreprocessResult result;
    result.processed = Text("accepted");
    return result;
  }
};

class MutatingBackend final : public CaseBackend {
 public:
  using CaseBackend::CaseBackend;
  absl::StatusOr<PreprocessResult> Compile(ExportedProgram& program, Specs) const override {
    exir::GraphEditor editor(program.top());
    for (NodeId node : program.top().NodeList()) {
      if (OpName(program.top().node(node)) == "aten.add.Tensor") {
        editor.SetTarget(node, program.ops->FindText("edge.aten.sub.Tensor"));
      }
    }
    PreprocessResult result;
    result.processed = Text(RecordingText(program, fqns()));
    return result;
  }
};

class NestingBackend final : public CaseBackend {
 public:
  NestingBackend(std::string id, const CaseBackends* owner)
      : CaseBackend(std::move(id), owner), owner_(owner) {}
  absl::StatusOr<PreprocessResult> Compile(ExportedProgram& program, Specs specs) const override {
    exir::CapabilityPartitionerOptions options;
    options.tag_constants = false;
    const std::vector<std::string> ops = Split(SpecOr(specs, "inner_ops", ""));
    const bool results = std::find(ops.begin(), ops.end(), "getitem") != ops.end();
    options.proposal.supports_result = [results](exir::ValueId) { return results; };
    const exir::CapabilityPartitioner partitioner({"RecordingBackend", {}}, exir::SupportOps(ops),
                                                  options);
    ABSL_ASSIGN_OR_RETURN(const ExportedProgram inner,
                          exir::ToBackend(program, partitioner, owner_->set()));
    std::vector<std::string> parts;
    for (const auto& [path, graph] : PathsOf(inner)) {
      for (const exir::DelegateCall& call : exir::DelegateCalls(inner, graph)) {
        const auto bytes = call.module->processed.bytes;
        parts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      }
    }
    PreprocessResult result;
    result.processed = Text(absl::StrCat("outer{", absl::StrJoin(parts, "}{"), "}"));
    return result;
  }

 private:
  const CaseBackends* owner_;
};

class ReplyBackend final : public CaseBackend {
 public:
  using CaseBackend::CaseBackend;
  absl::StatusOr<PreprocessResult> Compile(ExportedProgram&, Specs) const override {
    PreprocessResult result;
    result.processed = Text("single");
    return result;
  }
  absl::StatusOr<exir::MethodResults> PreprocessMultimethod(exir::MethodPartitions methods,
                                                            int) const override {
    std::string mode;
    exir::MethodResults results;
    for (const auto& [method, partitions] : methods) {
      std::vector<PreprocessResult> replies(partitions.size());
      for (size_t i = 0; i < replies.size(); ++i) {
        if (mode.empty()) mode = SpecOr(partitions[i].compile_specs, "reply", "");
        replies[i].processed = Text(absl::StrCat(method, ":", i));
      }
      results.emplace_back(method, std::move(replies));
    }
    if (mode == "missing_method") {
      results.pop_back();
    } else if (mode == "extra_method") {
      results.emplace_back("not_a_method", std::vector<PreprocessResult>(1));
    } else if (mode == "short_list") {
      results.back().second.pop_back();
    } else if (mode == "long_list") {
      results.back().second.emplace_back();
    } else if (mode == "reordered_methods") {
      std::reverse(results.begin(), results.end());
    } else if (mode == "empty_bytes") {
      for (auto& [method, replies] : results) {
        for (PreprocessResult& reply : replies) reply.processed = exir::Storage();
      }
    } else if (mode == "none_entry") {
      // Results are values, so none can be missing in the middle of a list.
      return absl::UnimplementedError("ReplyBackend: there is no empty result");
    }
    // ExecuTorch makes the modules in the order of the reply.
    for (auto& [method, replies] : results) {
      for (PreprocessResult& reply : replies) Number(reply);
    }
    return results;
  }
};

// A backend of the demo folder.
template <class Demo>
class DemoCaseBackend final : public CaseBackend {
 public:
  explicit DemoCaseBackend(const CaseBackends* owner)
      : CaseBackend(std::string(Demo().id()), owner) {}
  absl::StatusOr<PreprocessResult> Compile(ExportedProgram& program, Specs specs) const override {
    return Demo().Preprocess(std::move(program), specs);
  }
};

}  // namespace

CaseBackends::CaseBackends() {
  const auto add = [&](std::unique_ptr<exir::Backend> backend) {
    ABSL_CHECK(set_.Add(backend.get()).ok());
    backends_.push_back(std::move(backend));
  };
  add(std::make_unique<RecordingBackend>("RecordingBackend", this));
  add(std::make_unique<NamedIdBackend>("NamedIdBackend", this));
  add(std::make_unique<TogetherBackend>("EchoBackend", this, /*echo=*/true));
  add(std::make_unique<TogetherBackend>("PreprocessAllBackend", this, /*echo=*/false));
  add(std::make_unique<TogetherBackend>("OtherPreprocessAllBackend", this, /*echo=*/false));
  add(std::make_unique<NamedDataBackend>("NamedDataBackend", this));
  add(std::make_unique<FailingBackend>("FailingBackend", this));
  add(std::make_unique<RejectingBackend>("RejectingBackend", this));
  add(std::make_unique<MutatingBackend>("MutatingBackend", this));
  add(std::make_unique<NestingBackend>("NestingBackend", this));
  add(std::make_unique<ReplyBackend>("ReplyBackend", this));
  add(std::make_unique<DemoCaseBackend<demo::CompilerDemoBackend>>(this));
  add(std::make_unique<DemoCaseBackend<demo::DelegateMappingDemoBackend>>(this));
}

CaseBackends::~CaseBackends() = default;

}  // namespace belay::conformance
