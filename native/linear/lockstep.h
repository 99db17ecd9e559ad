// Threads that walk through the same columns in step, each over its own part of the rows.
//
//   for every column:  each lane sums over its rows;  total = lane 0 + lane 1 + ..., the same for every thread
//
// Lanes are a part of the result, threads are not: the same bytes for any number of them. A sum is handed over by a
// number that rises with every column; a lane can be one column ahead of another at most, so two places for it do.
// Cost: one exchange between threads for a column, 0.1 to 0.2 microseconds, which long columns are worth.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "base/parallel.h"

namespace textmill::linear {

inline constexpr std::size_t kRowLanes = 4;

class LaneSums {
 public:
  // round >= 1 rises by one with every sum.
  void put(std::size_t lane, std::uint64_t round, double sum) {
    lanes_[lane].sum[round & 1] = sum;
    lanes_[lane].round.store(round, std::memory_order_release);
  }

  double total(std::uint64_t round) const {
    double sum = 0.0;
    for (const Lane& lane : lanes_) {
      for (std::size_t spins = 0; lane.round.load(std::memory_order_acquire) < round; ++spins)
        if (spins > kSpins) std::this_thread::yield();  // its thread may wait for a processor
      sum += lane.sum[round & 1];
    }
    return sum;
  }

 private:
  static constexpr std::size_t kSpins = 512;
  struct alignas(64) Lane {
    std::atomic<std::uint64_t> round{0};
    std::array<double, 2> sum{};
  };
  std::array<Lane, kRowLanes> lanes_;
};

// Calls body(thread, team) on `team` threads at the same time, or body(0, 1) once where no others come within a
// millisecond: inside another parallel loop there are none.
template <class F>
void together(std::size_t threads, F body) {
  enum State { kWaiting, kMet, kAlone };
  const std::size_t team = threads < kRowLanes ? threads : kRowLanes;
  if (team <= 1) return body(std::size_t{0}, std::size_t{1});
  std::atomic<std::size_t> arrived{0};
  std::atomic<State> state{kWaiting};
  base::parallel_for(team, team, [&](std::size_t) {
    const std::size_t thread = arrived.fetch_add(1);
    State expected = kWaiting;
    if (thread + 1 == team) {
      if (!state.compare_exchange_strong(expected, kMet)) return;  // one of them has given up and does it all
    } else {
      const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
      while (state.load() == kWaiting)
        if (std::chrono::steady_clock::now() > limit && state.compare_exchange_strong(expected = kWaiting, kAlone))
          return body(std::size_t{0}, std::size_t{1});
      if (state.load() == kAlone) return;
    }
    body(thread, team);
  });
}

}  // namespace textmill::linear
