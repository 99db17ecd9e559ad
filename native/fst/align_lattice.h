// The lattice of one pair of strings: all its alignments.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/fault.h"
#include "fst/align.h"

namespace textmill::fst {

using base::fail;

inline constexpr std::size_t kMostCells = std::size_t{1} << 25;  // of one pair: 256 MB of sums
inline constexpr std::size_t kFound = std::size_t{1} << 18;      // links of one pair that are kept: 1 MB

// Which number a pair of chunks has: that of its link, or in `discover`, where every pair counts, its key.
struct ById {
  const Links& links;
  using Link = std::int32_t;
  Link operator()(std::int32_t u, std::int32_t v) const { return links.find(u, v); }
  static constexpr Link kNone = Links::kNone;
};
struct ByKey {
  using Link = std::uint64_t;
  Link operator()(std::int32_t u, std::int32_t v) const {
    return static_cast<std::uint64_t>(u) << 32 | static_cast<std::uint32_t>(v);
  }
  static constexpr Link kNone = ~std::uint64_t{0};
};

// The cells (i, j, layer) of one pair and the links between them. Layer c of a cell is entered by the c-th insertion
// in a row, layer 0 by anything else; without a limit there is only layer 0.
template <class Find>
class Lattice {
 public:
  using Link = typename Find::Link;

  Lattice(const Limits& limits, const Chunks& inputs, const Chunks& outputs, Find find)
      : limits_(limits),
        inputs_(inputs),
        outputs_(outputs),
        find_(find),
        layers(limits.insertions && limits.insertions_in_a_row > 0 ? limits.insertions_in_a_row + 1 : 1) {
    for (std::size_t a = 1; a <= limits.max_input; ++a)
      for (std::size_t b = 1; b <= (a == 1 || limits.many_to_many ? limits.max_output : 1); ++b)
        steps_.push_back({a, b});
  }

  void enter(std::span<const std::int32_t> x, std::span<const std::int32_t> y, std::size_t pair) {
    n = x.size();
    m = y.size();
    if (n >= kMostCells || m >= kMostCells || (n + 1) * (m + 1) > kMostCells / layers)
      fail("pair ", pair + 1, " has ", n, " x ", m, " symbols, more than ", kMostCells / layers,
           " cells to align; cut it into shorter parts");
    chunk(inputs_, x, limits_.max_input, u_);
    chunk(outputs_, y, limits_.max_output, v_);
    deletion_.assign(n + 1, Find::kNone);
    insertion_.assign(m + 1, Find::kNone);
    for (std::size_t i = 0; limits_.deletions && i < n; ++i)
      if (const std::int32_t u = u_[i * limits_.max_input]; u >= 0) deletion_[i] = find_(u, 0);
    for (std::size_t j = 0; limits_.insertions && j < m; ++j)
      if (const std::int32_t v = v_[j * limits_.max_output]; v >= 0) insertion_[j] = find_(0, v);
    found_.clear();
    if (n * m * steps_.size() > kFound) return;
    found_.resize(n * m * steps_.size(), Find::kNone);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j)
        for (std::size_t k = 0; k < steps_.size(); ++k) found_[(i * m + j) * steps_.size() + k] = substitution(i, j, k);
  }

  std::size_t cells() const { return (n + 1) * (m + 1) * layers; }
  std::size_t at(std::size_t i, std::size_t j) const { return (i * (m + 1) + j) * layers; }
  std::size_t rows() const { return limits_.max_input + 1; }  // that links reach over
  // The layer after an insertion in layer c, or `layers` if there can be none.
  std::size_t inserted(std::size_t c) const { return limits_.insertions_in_a_row == 0 ? 0 : c + 1; }

  Link deletion(std::size_t i) const { return deletion_[i]; }    // kNone for i = n
  Link insertion(std::size_t j) const { return insertion_[j]; }  // kNone for j = m

  // f(a, b, link) for every link with a inputs and b outputs from (i, j) on, those with fewer inputs first.
  template <class F>
  void substitutions(std::size_t i, std::size_t j, F f) const {
    if (i == n || j == m) return;
    const Link* found = found_.empty() ? nullptr : found_.data() + (i * m + j) * steps_.size();
    for (std::size_t k = 0; k < steps_.size(); ++k)
      if (const Link link = found ? found[k] : substitution(i, j, k); link != Find::kNone)
        f(steps_[k].first, steps_[k].second, link);
  }

  // All but insertions.
  template <class F>
  void moves(std::size_t i, std::size_t j, F f) const {
    substitutions(i, j, f);
    if (const Link link = deletion(i); link != Find::kNone) f(std::size_t{1}, std::size_t{0}, link);
  }

  Link link(std::size_t i, std::size_t j, std::size_t a, std::size_t b) const {
    return find_(a == 0 ? 0 : u_[i * limits_.max_input + a - 1], b == 0 ? 0 : v_[j * limits_.max_output + b - 1]);
  }

  std::size_t n = 0, m = 0;

 private:
  static void chunk(const Chunks& chunks, std::span<const std::int32_t> symbols, std::size_t most,
                    std::vector<std::int32_t>& out) {
    out.assign(symbols.size() * most, Chunks::kNone);
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      std::int32_t chunk = 0;
      for (std::size_t a = 0; a < most && i + a < symbols.size(); ++a) {
        chunk = chunks.child(chunk, symbols[i + a]);
        if (chunk < 0) break;
        out[i * most + a] = chunk;
      }
    }
  }

  Link substitution(std::size_t i, std::size_t j, std::size_t k) const {
    const auto [a, b] = steps_[k];
    if (i + a > n || j + b > m) return Find::kNone;
    const std::int32_t u = u_[i * limits_.max_input + a - 1], v = v_[j * limits_.max_output + b - 1];
    return u >= 0 && v >= 0 ? find_(u, v) : Find::kNone;
  }

  const Limits& limits_;
  const Chunks& inputs_;
  const Chunks& outputs_;
  Find find_;
  std::vector<std::pair<std::size_t, std::size_t>> steps_;  // inputs and outputs of substitutions
  std::vector<std::int32_t> u_, v_;  // [n][max_input], [m][max_output]: chunks of 1, 2, ... symbols from there on
  std::vector<Link> deletion_, insertion_;  // [n + 1], [m + 1]
  std::vector<Link> found_;                 // [n][m][steps]: links, looked up once; empty for a long pair

 public:
  const std::size_t layers;
};

}  // namespace textmill::fst
