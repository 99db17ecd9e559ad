// Random numbers that are a function of (seed, item): no state is shared, so any thread can draw for any item and the
// result does not depend on who drew first.
//
//   Random random(seed, item);        one stream an item (a document, a row, a sentence); 2^66 words long
//   random.uniform();                 the next number of that stream
//
// Words come from Philox4x32-10: ten rounds of multiplication and key mixing turn a 128-bit counter (here the item and
// the number of the block within its stream) into four 32-bit words, under a 64-bit key (here the seed). Two items
// never share a block. Reference: Salmon, Moraes, Dror & Shaw (2011), Parallel random numbers: as easy as 1, 2, 3.
//
// All draws are inline and allocate nothing. How many words a draw takes is part of the result: changing it changes
// models.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

namespace textmill::base {

// The block function itself.
inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;  // the golden ratio and sqrt(3) - 1, as in the paper
    key[1] += 0xBB67AE85;
  }
  return counter;
}

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t item) : seed_(seed), item_(item) {}

  // 64 random bits.
  std::uint64_t bits() {
    if (used_ == 2) {
      const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
      const auto words =
          philox4x32({low(block_), low(block_ >> 32), low(item_), low(item_ >> 32)}, {low(seed_), low(seed_ >> 32)});
      ready_ = {words[0] | std::uint64_t{words[1]} << 32, words[2] | std::uint64_t{words[3]} << 32};
      ++block_;
      used_ = 0;
    }
    return ready_[used_++];
  }

  // In [0, 1): a multiple of 2^-53.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  // In (0, 1]: for logarithms.
  double positive() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }

  // In [0, n), every number equally likely; n >= 1. Lemire (2019): a division only when the first word is unlucky.
  std::uint64_t below(std::uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    Wide scaled = static_cast<Wide>(bits()) * n;
    if (static_cast<std::uint64_t>(scaled) < n) {
      const std::uint64_t excess = (0 - n) % n;  // 2^64 mod n
      while (static_cast<std::uint64_t>(scaled) < excess) scaled = static_cast<Wide>(bits()) * n;
    }
    return static_cast<std::uint64_t>(scaled >> 64);
  }

  // Mean 0, variance 1. Marsaglia & Bray (1964), polar; the second number of a pair is kept for the next call.
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double x, y, square;
    do {
      x = 2.0 * uniform() - 1.0;
      y = 2.0 * uniform() - 1.0;
      square = x * x + y * y;
    } while (square >= 1.0 || square == 0.0);
    const double scale = std::sqrt(-2.0 * std::log(square) / square);
    spare_ = y * scale;
    has_spare_ = true;
    return x * scale;
  }

  // Density x^(shape - 1) exp(-x) / Gamma(shape); 1e-300 <= shape < infinity, here and below. 0 when the number is too
  // small for a double, as with shapes below 0.1 it may be: see log_gamma().
  double gamma(double shape) {
    if (shape >= 1.0) return gamma_from_one(shape);
    const double larger = gamma_from_one(shape + 1.0);
    return larger * std::exp(std::log(positive()) / shape);  // Gamma(shape + 1) U^(1/shape)
  }

  // The logarithm of such a number, always finite.
  double log_gamma(double shape) {
    if (shape >= 1.0) return std::log(gamma_from_one(shape));
    const double larger = std::log(gamma_from_one(shape + 1.0));
    return larger + std::log(positive()) / shape;
  }

  // Density x^(a - 1) (1 - x)^(b - 1) / B(a, b).
  double beta(double a, double b) {
    const double x = log_gamma(a), y = log_gamma(b);
    return 1.0 / (1.0 + std::exp(y - x));
  }

  // Fills out with a point of the simplex, out_i ~ Gamma(alpha_i) / sum; sizes equal and >= 1. In logarithms,
  // so that no alpha is too small. `out` may be `alpha`.
  void dirichlet(std::span<const double> alpha, std::span<double> out) {
    double most = log_gamma(alpha[0]);
    out[0] = most;
    for (std::size_t i = 1; i < out.size(); ++i) {
      out[i] = log_gamma(alpha[i]);
      if (out[i] > most) most = out[i];
    }
    double total = 0.0;
    for (double& value : out) total += value = std::exp(value - most);
    for (double& value : out) value /= total;
  }

  // i with probability weight_i / sum; weights finite, >= 0, with a positive and finite sum. O(n).
  std::size_t categorical(std::span<const double> weights) {
    double left = uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] <= 0.0) continue;
      chosen = i;  // where rounding takes us past the end, the last that is possible
      left -= weights[i];
      if (left < 0.0) break;
    }
    return chosen;
  }

  // Every order equally likely (Fisher & Yates).
  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  // Marsaglia & Tsang (2000); shape >= 1.
  double gamma_from_one(double shape) {
    const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
    for (;;) {
      const double x = normal(), cube_root = 1.0 + c * x;
      if (cube_root <= 0.0) continue;
      const double v = cube_root * cube_root * cube_root, u = positive();
      if (u < 1.0 - 0.0331 * (x * x) * (x * x)) return d * v;  // inside the exact test, without its logarithms
      if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
  }

  std::uint64_t seed_, item_, block_ = 0;
  std::array<std::uint64_t, 2> ready_{};
  unsigned used_ = 2;
  bool has_spare_ = false;
  double spare_ = 0.0;
};

}  // namespace textmill::base
