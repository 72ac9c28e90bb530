#include "runtime/backend/delegate_threads.h"

#include <cstdint>
#include <variant>

namespace belay {
namespace {

constexpr std::string_view kThreads = "threads";
constexpr int64_t kMostThreads = 256;  // of a ThreadPool

}  // namespace

BackendOption ThreadsOption() {
  return {.name = kThreads,
          .about = "most threads of the method that work on a delegate",
          .default_value = kMostThreads,
          .min = 1,
          .max = kMostThreads,
          .changeable = true};
}

DelegateThreads::DelegateThreads(const DelegateInitContext& context) : most_(kMostThreads) {
  if (context.options != nullptr) {
    const auto set = context.options->find(kThreads);
    if (set != context.options->end()) most_ = std::get<int64_t>(set->second);
  }
  if (context.threads != nullptr) pool_.emplace(*context.threads, static_cast<int>(most_));
}

void DelegateThreads::SetOption(std::string_view name, const OptionValue& value) {
  most_ = std::get<int64_t>(value);
  if (pool_.has_value()) pool_->Limit(static_cast<int>(most_));
}

}  // namespace belay
