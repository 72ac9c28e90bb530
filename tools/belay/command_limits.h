// What a command may take: --timeout and --limit-…, and what holds them where nothing asks.
#ifndef BELAY_TOOLS_BELAY_COMMAND_LIMITS_H_
#define BELAY_TOOLS_BELAY_COMMAND_LIMITS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "exir/pipeline.h"
#include "runtime/core/budget.h"
#include "runtime/core/mapped_file.h"
#include "runtime/program/program.h"
#include "tools/belay/command_line.h"

namespace belay::tools {

// As given. Without a value: in proportion to the command's files (docs/hardening.md §5).
struct CommandLimits {
  double timeout = -1;  // seconds; 0 for none, negative when not given
  std::optional<uint64_t> memory, work, nodes;

  // Of programs, and of lowering.
  Program::Options ForPrograms(FileAccess access = FileAccess::kMap) const;
  exir::LoweringLimits ForLowering() const;
};

// Appends --timeout, --limit-memory and --limit-work, and --limit-nodes for commands that lower.
std::vector<Option> WithLimits(std::vector<Option> options, CommandLimits* limits,
                               bool lowers = false);

// While it lives the command works within its limits: its thread has a Budget, and another thread
// watches. Where the time or the memory of the process is over and the command goes on, because some
// loop asks nobody, the watching thread says so on standard error and ends the process with
// kBadInput. Files are written whole or not at all (WriteFileAtomically), so nothing half done is
// left behind. One at a time.
class WithinLimits {
 public:
  // `files` are those that the command reads; who is not there counts as empty.
  WithinLimits(const CommandLimits& limits, const std::vector<std::string>& files);
  WithinLimits(const WithinLimits&) = delete;
  WithinLimits& operator=(const WithinLimits&) = delete;
  ~WithinLimits();

  // Companions of a program that was opened count as files.
  void Add(const Program& program);

 private:
  struct Bounds {
    std::optional<std::chrono::steady_clock::time_point> deadline;
    double seconds = 0;
    uint64_t memory_bytes = 0;
  };
  void Update();
  void Watch();

  const CommandLimits limits_;
  const std::chrono::steady_clock::time_point start_;
  uint64_t file_bytes_ = 0;
  Budget budget_;
  Budget::Scope scope_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Bounds bounds_;      // guarded by mutex_
  bool done_ = false;  // guarded by mutex_
  std::thread watcher_;
};

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_COMMAND_LIMITS_H_
