#include "bindings/cpp/module.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime_backends.h"
#include "executorch/reader/open_any_program.h"
#include "executorch/reader/program_kernels.h"
#include "runtime/backend/backend_settings.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/thread_pool.h"
#include "runtime/executor/method.h"
#include "runtime/executor/shared_state.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay {

// Methods refer to the other members, so they are declared last.
struct Module::Loaded {
  explicit Loaded(Program opened) : program(std::move(opened)) {}

  KernelRegistry kernels;
  Program program;
  std::unique_ptr<ThreadPool> threads;
  std::optional<SharedState> state;  // unset if methods have different buffers of one name
  std::map<std::string, Method> methods;
};

Module::Module(std::string path, ModuleOptions options)
    : path_(std::move(path)), options_(std::move(options)) {}
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;
Module::~Module() = default;

absl::Status Module::load() {
  if (loaded_ != nullptr) return absl::OkStatus();
  if (options_.threads < 1 || options_.threads > ThreadPool::kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat(
        "threads: expected 1 to ", ThreadPool::kMaxThreads, ", got ", options_.threads));
  }
  ABSL_ASSIGN_OR_RETURN(Program program,
                        pte::OpenAnyProgram(path_, {options_.program, options_.data_files}));
  auto loaded = std::make_unique<Loaded>(std::move(program));
  ABSL_RETURN_IF_ERROR(pte::AddProgramKernels(loaded->program, loaded->kernels));
  if (options_.threads > 1) loaded->threads = std::make_unique<ThreadPool>(options_.threads);
  absl::StatusOr<SharedState> state = SharedState::Create(loaded->program, {}, options_.allocator);
  if (state.ok()) {
    loaded->state = *std::move(state);
  } else if (!absl::IsInvalidArgument(state.status())) {
    return state.status();
  }
  loaded_ = std::move(loaded);
  return absl::OkStatus();
}

absl::Status Module::load_method(const std::string& name) {
  ABSL_RETURN_IF_ERROR(load());
  if (loaded_->methods.find(name) != loaded_->methods.end()) return absl::OkStatus();
  MethodOptions options;
  options.threads = loaded_->threads.get();
  if (loaded_->state.has_value()) options.state = &*loaded_->state;
  ABSL_ASSIGN_OR_RETURN(const BackendSettings settings,
                        BackendSettings::Create(RuntimeBackends(), options_.backend_options));
  options.backend_options = &settings;
  const auto banks = options_.banks.find(name);
  if (banks != options_.banks.end()) options.banks = banks->second;
  options.allocator = options_.allocator;
  ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(loaded_->program, name, loaded_->kernels,
                                                    RuntimeBackends(), options));
  loaded_->methods.emplace(name, std::move(method));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Module::method_names() {
  ABSL_RETURN_IF_ERROR(load());
  std::vector<std::string> names;
  for (const MethodPlan& method : loaded_->program.methods()) names.push_back(method.name);
  return names;
}

absl::StatusOr<std::vector<EValue>> Module::execute(const std::string& name,
                                                    absl::Span<const EValue> inputs,
                                                    const ExecuteOptions& options) {
  ABSL_RETURN_IF_ERROR(load_method(name));
  Method& method = loaded_->methods.find(name)->second;
  if (inputs.size() != method.num_inputs()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "method '", name, "': expected ", method.num_inputs(), " inputs, got ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    ABSL_RETURN_IF_ERROR(method.SetInput(i, inputs[i]));
  }
  ABSL_RETURN_IF_ERROR(method.Execute(options));
  std::vector<EValue> outputs;
  for (size_t i = 0; i < method.num_outputs(); ++i) outputs.push_back(method.GetOutput(i));
  return outputs;
}

absl::StatusOr<std::vector<EValue>> Module::forward(absl::Span<const EValue> inputs,
                                                    const ExecuteOptions& options) {
  return execute("forward", inputs, options);
}

absl::StatusOr<OptionValue> Module::get_backend_option(const std::string& method,
                                                       const std::string& backend,
                                                       const std::string& name) {
  ABSL_RETURN_IF_ERROR(load_method(method));
  return loaded_->methods.find(method)->second.GetBackendOption(backend, name);
}

absl::Status Module::set_backend_option(const std::string& method, const std::string& backend,
                                        const std::string& name, const OptionValue& value) {
  ABSL_RETURN_IF_ERROR(load_method(method));
  return loaded_->methods.find(method)->second.SetBackendOption(backend, name, value);
}

void Module::reset_state() {
  if (loaded_ == nullptr) return;
  if (loaded_->state.has_value()) loaded_->state->Reset();
  for (auto& [name, method] : loaded_->methods) method.ResetState();
}

}  // namespace belay
