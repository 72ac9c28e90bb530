#include "exir/backend/backend.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <thread>

#include "absl/strings/str_join.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

absl::Status AnnotatePartition(const absl::Status& status, std::string_view method, size_t index,
                               std::string_view tag) {
  return Annotate(status,
                  absl::StrCat("method '", method, "', partition ", index, " (tag '", tag, "')"));
}

}  // namespace

absl::StatusOr<MethodResults> Backend::PreprocessMultimethod(MethodPartitions methods,
                                                             int threads) const {
  size_t count = 0;
  for (const auto& [method, partitions] : methods) count += partitions.size();
  return PreprocessInRounds(std::move(methods), std::vector<int>(count), threads, [] {});
}

absl::StatusOr<MethodResults> Backend::PreprocessInRounds(
    MethodPartitions methods, absl::Span<const int> rounds, int threads,
    absl::FunctionRef<void()> end_round) const {
  struct Job {
    PartitionInput* input;
    std::string_view method;
    size_t index;
    std::optional<absl::StatusOr<PreprocessResult>> result;
  };
  std::vector<Job> jobs;
  for (auto& [method, partitions] : methods) {
    for (size_t i = 0; i < partitions.size(); ++i) {
      jobs.push_back({&partitions[i], method, i, std::nullopt});
    }
  }
  std::map<int, std::vector<Job*>> by_round;
  for (size_t i = 0; i < jobs.size(); ++i) by_round[rounds[i]].push_back(&jobs[i]);
  for (const auto& [round, round_jobs] : by_round) {
    // Jobs start in order, so all jobs before a failed one run, and the first error does not depend
    // on the number of threads.
    std::atomic<size_t> next = 0;
    std::atomic<bool> failed = false;
    const auto work = [&, &round_jobs = round_jobs] {
      while (!failed) {
        const size_t i = next++;
        if (i >= round_jobs.size()) return;
        Job& job = *round_jobs[i];
        job.result = Preprocess(std::move(job.input->program), job.input->compile_specs);
        if (!job.result->ok()) failed = true;
      }
    };
    std::vector<std::thread> workers;
    const size_t helpers = std::min<size_t>(std::max(threads, 1), round_jobs.size()) - 1;
    for (size_t i = 0; i < helpers; ++i) workers.emplace_back(work);
    work();
    for (std::thread& worker : workers) worker.join();
    // Only jobs after the first failed one have no result.
    for (const Job* job : round_jobs) {
      if (job->result->ok()) continue;
      return AnnotatePartition(job->result->status(), job->method, job->index, job->input->tag);
    }
    end_round();
  }

  MethodResults results;
  size_t next_job = 0;
  for (const auto& [method, partitions] : methods) {
    std::vector<PreprocessResult> done;
    for (size_t i = 0; i < partitions.size(); ++i) {
      done.push_back(*std::move(*jobs[next_job++].result));
    }
    results.emplace_back(method, std::move(done));
  }
  return results;
}

absl::Status BackendSet::Add(const Backend* backend) {
  for (const Backend* known : backends_) {
    if (known->id() == backend->id()) {
      return absl::AlreadyExistsError(
          absl::StrCat("there are two backends with the id '", backend->id(), "'"));
    }
  }
  backends_.push_back(backend);
  return absl::OkStatus();
}

absl::StatusOr<const Backend*> BackendSet::Find(std::string_view id) const {
  for (const Backend* backend : backends_) {
    if (backend->id() == id) return backend;
  }
  std::vector<std::string> known;
  for (const Backend* backend : backends_) {
    known.push_back(
        absl::StrCat(backend->id(), backend->target().empty() ? "" : " of ", backend->target()));
  }
  std::sort(known.begin(), known.end());
  return absl::NotFoundError(absl::StrCat("Backend ", id, " was not found; there are: ",
                                          known.empty() ? "none" : absl::StrJoin(known, ", ")));
}

std::vector<std::string_view> BackendSet::Ids() const {
  std::vector<std::string_view> ids;
  for (const Backend* backend : backends_) ids.push_back(backend->id());
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace belay::exir
