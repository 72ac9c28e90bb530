// Times an ExecuTorch program, without Python around its calls. peers.py compiles it against the
// installed package:
//
//   executorch_bench PROGRAM THREADS WARM_UP_SECONDS SECONDS OUTPUT_PREFIX [DTYPE:SIZE,SIZE,…:FILE
//   …]
//
// An input is a file of raw numbers; DTYPE is f32 or i64. Output i is written to OUTPUT_PREFIX<i>,
// raw as well. Prints the JSON of `belay bench` and "output_sizes" with the sizes of each output.
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

// The package exports these symbols without a header.
namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(uint32_t num_threads);
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

namespace et = executorch;

namespace {

double Milliseconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count();
}

struct Input {
  std::vector<char> bytes;
  et::extension::TensorPtr tensor;
};

Input ReadInput(const std::string& text) {
  const size_t sizes_at = text.find(':') + 1, file_at = text.find(':', sizes_at) + 1;
  std::vector<et::aten::SizesType> sizes;
  std::stringstream list(text.substr(sizes_at, file_at - 1 - sizes_at));
  for (std::string size; std::getline(list, size, ',');) sizes.push_back(std::stoi(size));
  std::ifstream file(text.substr(file_at), std::ios::binary);
  Input input;
  input.bytes.assign(std::istreambuf_iterator<char>(file), {});
  const bool is_long = text.rfind("i64", 0) == 0;
  input.tensor = et::extension::make_tensor_ptr(
      sizes, input.bytes.data(), {}, {},
      is_long ? et::aten::ScalarType::Long : et::aten::ScalarType::Float);
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  et::runtime::runtime_init();
  et::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(std::atoi(argv[2]));
  const double warm_up = 1e3 * std::atof(argv[3]), measured = 1e3 * std::atof(argv[4]);
  std::vector<Input> inputs;
  std::vector<et::runtime::EValue> values;
  for (int i = 6; i < argc; ++i) {
    inputs.push_back(ReadInput(argv[i]));
    values.emplace_back(*inputs.back().tensor);
  }

  const double opening = Milliseconds();
  et::extension::Module module(argv[1], et::extension::Module::LoadMode::Mmap);
  if (module.load_method("forward") != et::runtime::Error::Ok) return 3;
  const double ready = Milliseconds();
  const auto results = module.execute("forward", values);
  const double first = Milliseconds() - ready;
  if (!results.ok()) return 4;
  std::string sizes;
  for (size_t i = 0; i < results->size(); ++i) {
    const auto tensor = (*results)[i].toTensor();
    std::ofstream file(argv[5] + std::to_string(i), std::ios::binary);
    file.write(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
    sizes += i == 0 ? "[" : ", [";
    for (int d = 0; d < tensor.dim(); ++d)
      sizes += (d == 0 ? "" : ", ") + std::to_string(tensor.size(d));
    sizes += "]";
  }

  const auto call = [&] {
    if (!module.execute("forward", values).ok()) std::exit(4);
  };
  for (const double end = Milliseconds() + warm_up; Milliseconds() < end;) call();
  std::vector<double> ms;
  for (const double end = Milliseconds() + measured; ms.empty() || Milliseconds() < end;) {
    const double start = Milliseconds();
    call();
    ms.push_back(Milliseconds() - start);
  }
  std::sort(ms.begin(), ms.end());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"latency_ms_median\": %.6f, \"latency_ms_p10\": %.6f, \"runs\": %zu, \"load_ms\": %.4f, "
      "\"first_inference_ms\": %.4f, \"peak_rss_mb\": %.2f, \"output_sizes\": [%s]}\n",
      ms[ms.size() / 2], ms[ms.size() / 10], ms.size(), ready - opening, first,
      usage.ru_maxrss / 1024.0, sizes.c_str());
}
