// Tasks of the gradient of bigram features: stretches of positions, whose sums are added in order.
#pragma once

#include <vector>

#include "base/parallel.h"
#include "sequence/problem.h"

namespace textmill::sequence {

// Runs all tasks; use(key, sum) is called once a key, with the sum over its tasks, by one thread at a time per key.
template <class Use>
void run_tasks(const std::vector<Task>& tasks, std::size_t cells, std::size_t threads, const auto& run, Use use) {
  std::vector<std::size_t> starts;  // the first task of a key
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i == 0 || tasks[i].key != tasks[i - 1].key) starts.push_back(i);
  }
  starts.push_back(tasks.size());
  std::vector<std::size_t> single, several;
  for (std::size_t k = 0; k + 1 < starts.size(); ++k) (starts[k + 1] - starts[k] == 1 ? single : several).push_back(k);
  for (const std::size_t k : several) {
    const std::size_t parts = starts[k + 1] - starts[k];
    std::vector<double> sums(parts * cells);
    base::parallel_for(parts, threads, [&](std::size_t p) {
      std::vector<double> scratch;
      run(tasks[starts[k] + p], &sums[p * cells], scratch);
    });
    for (std::size_t p = 1; p < parts; ++p) {
      for (std::size_t i = 0; i < cells; ++i) sums[i] += sums[p * cells + i];
    }
    use(tasks[starts[k]].key, sums.data());
  }
  base::parallel_blocks(single.size(), 8, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<double> scratch, sum(cells);
    for (std::size_t i = begin; i < end; ++i) {
      const Task& task = tasks[starts[single[i]]];
      run(task, sum.data(), scratch);
      use(task.key, sum.data());
    }
  });
}

}  // namespace textmill::sequence
