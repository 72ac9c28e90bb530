// Test helper: lowers a program in text form, opens it and loads it with a log, optionally with
// kernels preferred over the standard ones.
#ifndef BELAY_TOOLS_PROFILE_TESTING_LOGGED_METHOD_H_
#define BELAY_TOOLS_PROFILE_TESTING_LOGGED_METHOD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/emitter.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/serializer.h"
#include "exir/testing/programs.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"
#include "runtime/trace/event_log.h"

namespace belay::tools {

inline const exir::OpRegistry& TestOps() {
  static const exir::OpRegistry& ops = *exir::CreateStandardOps()->release();
  return ops;
}

// Delegates the nodes of `ops` to the backend; one delegation pass per element of `rounds`.
struct DelegationRound {
  std::string backend_id;
  std::vector<std::string> ops;
};

class LoggedMethod {
 public:
  static absl::StatusOr<std::unique_ptr<LoggedMethod>> Create(
      std::string_view text, const std::vector<DelegationRound>& rounds, bool debug_info = true,
      absl::Span<const Kernel> kernels = {}) {
    exir::ExportedProgram program = exir::ParseOrDie(text, TestOps());
    for (const DelegationRound& round : rounds) {
      const exir::CapabilityPartitioner partitioner({round.backend_id, {}},
                                                    exir::SupportOps(round.ops));
      ABSL_ASSIGN_OR_RETURN(program, exir::ToBackend(program, partitioner, AotBackends()));
    }
    exir::MethodPrograms methods;
    methods.emplace_back("forward", std::move(program));
    exir::EmitOptions options;
    options.debug_info = debug_info;
    ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram(methods, options));
    ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram file, exir::SerializeProgram(image));
    auto logged = std::make_unique<LoggedMethod>();
    logged->file_ = file.ToString();
    const auto* bytes = reinterpret_cast<const std::byte*>(logged->file_.data());
    ABSL_ASSIGN_OR_RETURN(Program opened,
                          Program::OpenBytes(nullptr, {bytes, logged->file_.size()}, {}));
    logged->program_.emplace(std::move(opened));
    ABSL_RETURN_IF_ERROR(AddStandardKernels(logged->kernels_));
    ABSL_RETURN_IF_ERROR(logged->kernels_.Add(kernels));
    ABSL_ASSIGN_OR_RETURN(logged->log_, EventLog::Create(10'000));
    ABSL_ASSIGN_OR_RETURN(Method method,
                          Method::Load(*logged->program_, "forward", logged->kernels_,
                                       RuntimeBackends(), {.events = {.log = logged->log_.get()}}));
    logged->method_.emplace(std::move(method));
    return logged;
  }

  Method& method() { return *method_; }
  EventLog& log() { return *log_; }
  const Program& program() const { return *program_; }

  // Executes one call with inputs of ones; afterwards the log has only its events.
  absl::Status Execute() {
    std::vector<TestTensor> tensors;
    for (size_t i = 0; i < method_->num_inputs(); ++i) {
      const auto& plan =
          std::get<TensorPlan>(method_->plan().values[method_->plan().inputs[i].value]);
      const Sizes sizes(plan.sizes);
      tensors.push_back(TestTensor::Of<float>(
          sizes, std::vector<float>(static_cast<size_t>(*NumElements(sizes)), 1)));
      ABSL_RETURN_IF_ERROR(method_->SetInput(i, tensors.back().view()));
    }
    log_->Clear();
    return method_->Execute();
  }

 private:
  std::string file_;
  std::optional<Program> program_;
  KernelRegistry kernels_;
  std::unique_ptr<EventLog> log_;
  std::optional<Method> method_;
};

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_TESTING_LOGGED_METHOD_H_
