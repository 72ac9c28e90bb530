// `belay stress`: mutations of a file are errors, or execute within limits.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/runtime_backends.h"
#include "exir/import/import.h"
#include "exir/ops/standard_ops.h"
#include "fuzz/mutate/mutator.h"
#include "google/protobuf/stubs/common.h"
#include "nlohmann/json.hpp"
#include "runtime/core/arena.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"
#include "tools/belay/command.h"
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include "google/protobuf/stubs/logging.h"
#endif

// Sanitizers call this instead of leaving by a signal; absent without them.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace belay::tools {
namespace {

// --- What to say when a mutation ends the process ---

// The only state of the process that handlers see. Written before the first mutation.
constinit char crash_message[128] = {};
constinit std::atomic<uint64_t> current_mutation = 0;

// Async-signal-safe.
void ReportCrash() {
  char digits[24];
  size_t at = sizeof(digits);
  digits[--at] = '\n';
  uint64_t value = current_mutation.load(std::memory_order_relaxed);
  do {
    digits[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value > 0);
  [[maybe_unused]] ssize_t ignored =
      ::write(STDERR_FILENO, crash_message, std::char_traits<char>::length(crash_message));
  ignored = ::write(STDERR_FILENO, digits + at, sizeof(digits) - at);
}

void OnSignal(int signal) {
  ReportCrash();
  ::raise(signal);  // the handler is the default again
}

void InstallCrashReport(uint64_t seed) {
  const std::string message =
      absl::StrCat("belay: a mutation ended the process; to reproduce it: --seed ", seed,
                   " --mutations 1 --first ");
  crash_message[message.copy(crash_message, sizeof(crash_message) - 1)] = '\0';
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(&ReportCrash);
    return;
  }
  struct sigaction action = {};
  action.sa_handler = &OnSignal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    ::sigaction(signal, &action, nullptr);
  }
}

// --- Trying one mutation ---

// How far it got, and why not further.
struct Outcome {
  std::string_view stage;
  absl::Status status;
};

class Target {
 public:
  virtual ~Target() = default;
  virtual Outcome Try(const std::string& bytes) const = 0;
};

absl::Span<const std::byte> Bytes(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

class ProgramTarget final : public Target {
 public:
  static absl::StatusOr<std::unique_ptr<Target>> Create(const std::string& path) {
    auto target = std::make_unique<ProgramTarget>();
    ABSL_RETURN_IF_ERROR(AddStandardKernels(target->kernels_));
    const size_t slash = path.rfind('/');
    target->options_.companion_root = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    Limits& limits = target->options_.limits;
    limits.arena_bytes = kMaxMemory;
    limits.scratch_bytes = kMaxMemory;
    limits.executed_instructions = 100'000;
    return target;
  }

  Outcome Try(const std::string& bytes) const override {
    // In place where the file is aligned, as when it is mapped.
    absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Create(bytes.size());
    if (!buffer.ok()) return {"open", buffer.status()};
    std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(),
                buffer->span().data());
    const absl::StatusOr<Program> program = Program::OpenBytes(
        nullptr, absl::MakeConstSpan(buffer->span().data(), bytes.size()), options_);
    if (!program.ok()) return {"open", program.status()};
    Outcome outcome = {"open", absl::OkStatus()};
    for (const MethodPlan& plan : program->methods()) {
      outcome = TryMethod(*program, plan);
      if (!outcome.status.ok()) break;
    }
    return outcome;
  }

 private:
  static constexpr uint64_t kMaxMemory = uint64_t{1} << 28;

  Outcome TryMethod(const Program& program, const MethodPlan& plan) const {
    absl::StatusOr<Method> method = Method::Load(program, plan.name, kernels_, RuntimeBackends());
    if (!method.ok()) return {"load", method.status()};
    std::vector<NpyArray> arrays(plan.inputs.size());
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      absl::Status status = SetInput(plan, i, arrays[i], *method);
      if (!status.ok()) return {"input", std::move(status)};
    }
    for (int call = 0; call < 2; ++call) {  // state is changed by the first
      absl::Status status =
          method->Execute({.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2)});
      if (!status.ok()) return {"execute", std::move(status)};
    }
    for (size_t i = 0; i < method->num_outputs(); ++i) method->GetOutput(i).KindName();
    return {"execute", absl::OkStatus()};
  }

  static absl::Status SetInput(const MethodPlan& plan, size_t i, NpyArray& array, Method& method) {
    EValue value = ConstantInput(plan, i);
    if (InputTakesArray(plan, i)) {
      const auto* tensor = std::get_if<TensorPlan>(&plan.values[plan.inputs[i].value]);
      if (tensor != nullptr && tensor->bytes() > kMaxMemory) {
        return absl::ResourceExhaustedError("an input of more bytes than are tried");
      }
      ABSL_ASSIGN_OR_RETURN(array, RandomInput(plan, i, /*seed=*/1, /*dynamic_size=*/2));
      ABSL_ASSIGN_OR_RETURN(value, InputFromNpy(plan, i, array));
    }
    return method.SetInput(i, value);
  }

  KernelRegistry kernels_;
  Program::Options options_;
};

class ArchiveTarget final : public Target {
 public:
  static absl::StatusOr<std::unique_ptr<Target>> Create() {
    auto target = std::make_unique<ArchiveTarget>();
    ABSL_ASSIGN_OR_RETURN(target->ops_, exir::CreateStandardOps());
    // As a damaged entry is refused by its checksum otherwise.
    target->options_.verify_checksums = false;
    return target;
  }

  Outcome Try(const std::string& bytes) const override {
    const auto copy = std::make_shared<const std::string>(bytes);
    return {"import", exir::ImportBytes(copy, Bytes(*copy), *ops_, options_).status()};
  }

 private:
  std::unique_ptr<exir::OpRegistry> ops_;
  exir::ImportOptions options_;
};

absl::StatusOr<int> StressFile(const StressOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(options.file));
  std::string valid(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  const bool is_program = fuzz::IsProgramFile(valid);
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<Target> target,
                        is_program ? ProgramTarget::Create(options.file) : ArchiveTarget::Create());
  const Outcome whole = target->Try(valid);
  if (!whole.status.ok()) {
    return absl::Status(whole.status.code(),
                        absl::StrCat(options.file, ": the file itself fails (", whole.stage,
                                     "): ", whole.status.message()));
  }
  const fuzz::Mutator mutator({std::move(valid)});
  if (!options.write.empty()) {
    const std::string bytes = mutator.Mutate(options.seed, options.first).bytes;
    const std::string_view piece = bytes;
    ABSL_RETURN_IF_ERROR(WriteFileAtomically(options.write, absl::MakeConstSpan(&piece, 1)));
  }
  InstallCrashReport(options.seed);
#if GOOGLE_PROTOBUF_VERSION < 4022000
  const google::protobuf::LogSilencer quiet;  // it reports strings that are not UTF-8
#endif
  std::map<std::pair<std::string_view, std::string>, uint64_t> counts;
  std::map<std::string_view, uint64_t> kinds;
  double slowest_seconds = 0;
  uint64_t slowest = options.first;
  for (uint64_t k = 0; k < options.mutations; ++k) {
    const uint64_t index = options.first + k;
    current_mutation.store(index, std::memory_order_relaxed);
    const fuzz::Mutation mutation = mutator.Mutate(options.seed, index);
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = target->Try(mutation.bytes);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds > slowest_seconds) {
      slowest_seconds = seconds;
      slowest = index;
    }
    ++counts[{outcome.stage, absl::StatusCodeToString(outcome.status.code())}];
    ++kinds[fuzz::MutationKindName(mutation.kind)];
    if (options.mutations == 1) {
      std::cerr << fuzz::MutationKindName(mutation.kind) << ", " << outcome.stage << ": "
                << outcome.status.ToString() << "\n";
    }
  }
  if (options.json) {
    nlohmann::json out{{"file", options.file},
                       {"seed", options.seed},
                       {"first", options.first},
                       {"mutations", options.mutations},
                       {"slowest", slowest},
                       {"slowest_seconds", slowest_seconds},
                       {"outcomes", nlohmann::json::array()},
                       {"kinds", kinds}};
    for (const auto& [outcome, count] : counts) {
      out["outcomes"].push_back(
          {{"stage", outcome.first}, {"code", outcome.second}, {"count", count}});
    }
    std::cout << out.dump(2) << "\n";
    return kDone;
  }
  std::cout << options.file << ": " << options.mutations << " mutations of seed " << options.seed
            << "\n";
  for (const auto& [outcome, count] : counts) {
    std::cout << "  " << count << " " << outcome.first << ": " << outcome.second << "\n";
  }
  std::cout << "  slowest: " << 1e3 * slowest_seconds << " ms (--seed " << options.seed
            << " --mutations 1 --first " << slowest << ")\n";
  return kDone;
}

}  // namespace

int Stress(const StressOptions& options) {
  const absl::StatusOr<int> status = StressFile(options);
  return status.ok() ? *status : Report(status.status());
}

}  // namespace belay::tools
