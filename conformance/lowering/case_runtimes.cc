#include "conformance/lowering/case_runtimes.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "exir/ir/lowered_backend_module.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

constexpr std::string_view kModuleSpec = "conformance_module";

}  // namespace

class CaseRuntimes::Handle final : public DelegateHandle {
 public:
  explicit Handle(std::shared_ptr<exir::Interpreter> interpreter)
      : interpreter_(std::move(interpreter)) {}

  absl::Status Execute(KernelContext& context) override {
    std::vector<EValue> inputs;
    for (int i = 0; i < context.num_arguments(); ++i) inputs.push_back(context.argument(i));
    ABSL_ASSIGN_OR_RETURN(const std::vector<exir::OwnedValue> results, interpreter_->Run(inputs));
    if (static_cast<int>(results.size()) != context.num_outputs()) {
      return absl::InternalError(absl::StrCat("the program gives ", results.size(),
                                              " results, the call has ", context.num_outputs()));
    }
    for (int i = 0; i < context.num_outputs(); ++i) {
      const TensorView* tensor = results[i].tensor();
      if (tensor == nullptr) {
        context.SetScalarOutput(i, results[i].value());
        continue;
      }
      ABSL_ASSIGN_OR_RETURN(const TensorView* output, context.Output(i, tensor->sizes));
      ABSL_RETURN_IF_ERROR(CopyElements(*tensor, *output));
    }
    return absl::OkStatus();
  }
  void ResetState() override { (void)interpreter_->ResetState(); }

 private:
  std::shared_ptr<exir::Interpreter> interpreter_;
};

class CaseRuntimes::Runtime final : public BackendRuntime {
 public:
  Runtime(std::string id, const CaseRuntimes* owner) : id_(std::move(id)), owner_(owner) {}
  std::string_view id() const override { return id_; }
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override {
    size_t index = owner_->modules_.size();
    for (const CompileSpecView& spec : context.compile_specs) {
      if (spec.key != kModuleSpec) continue;
      std::from_chars(spec.value.data(), spec.value.data() + spec.value.size(), index);
    }
    if (index >= owner_->modules_.size()) {
      return absl::InternalError("the delegate does not say which module it is");
    }
    const exir::LoweredBackendModule& module = *owner_->modules_[index];
    const absl::Span<const std::byte> processed = module.processed.bytes;
    if (!std::equal(blob.begin(), blob.end(), processed.begin(), processed.end())) {
      return absl::InternalError("the blob is not what the backend made");
    }
    if (context.compile_specs.size() != module.compile_specs.size() + 1) {
      return absl::InternalError("the compile specs are not those of the module");
    }
    for (size_t i = 0; i < module.compile_specs.size(); ++i) {
      if (context.compile_specs[i].key != module.compile_specs[i].key ||
          context.compile_specs[i].value != module.compile_specs[i].value) {
        return absl::InternalError(absl::StrCat("compile spec ", i, " is not that of the module"));
      }
    }
    for (const auto& [key, entry] : module.named_data.program_data) {
      ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> data, context.named_data->Find(key));
      const absl::Span<const std::byte> bytes = module.named_data.buffers[entry.buffer].bytes;
      if (!std::equal(data.begin(), data.end(), bytes.begin(), bytes.end())) {
        return absl::InternalError(absl::StrCat("named data '", key, "' has other bytes"));
      }
    }
    ABSL_ASSIGN_OR_RETURN(exir::Interpreter interpreter,
                          exir::Interpreter::Create(module.original, owner_->kernels_));
    owner_->loaded_.push_back(std::make_shared<exir::Interpreter>(std::move(interpreter)));
    return std::make_unique<Handle>(owner_->loaded_.back());
  }

 private:
  std::string id_;
  const CaseRuntimes* owner_;
};

exir::ExportedProgram CaseRuntimes::Prepare(const exir::ExportedProgram& lowered) {
  exir::ExportedProgram program = lowered.Clone();
  for (uint32_t m = 0; m < program.lowered_modules.size(); ++m) {
    std::shared_ptr<const exir::LoweredBackendModule>& module =
        program.lowered_modules[exir::ModuleId(m)];
    auto copy =
        std::make_shared<exir::LoweredBackendModule>(module->backend_id, module->original.Clone());
    copy->processed = module->processed;
    copy->compile_specs = module->compile_specs;
    copy->compile_specs.push_back({std::string(kModuleSpec), absl::StrCat(modules_.size())});
    copy->named_data = module->named_data;
    copy->debug_handle_map = module->debug_handle_map;
    copy->delegate_info = module->delegate_info;
    if (registry_.Find(module->backend_id) == nullptr) {
      runtimes_.push_back(std::make_unique<Runtime>(module->backend_id, this));
      ABSL_CHECK(registry_.Add(runtimes_.back().get()).ok());
    }
    modules_.push_back(module);
    module = std::move(copy);
  }
  return program;
}

absl::StatusOr<TensorView> CaseRuntimes::GetState(std::string_view name) const {
  for (const auto& interpreter : loaded_) {
    const absl::StatusOr<TensorView> state = interpreter->GetState(name);
    if (state.ok()) return state;
  }
  return absl::NotFoundError(absl::StrCat("no delegate has state '", name, "'"));
}

}  // namespace belay::conformance
