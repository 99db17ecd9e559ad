#include "linear/passes.h"

#include <algorithm>
#include <bit>

#include "base/parallel.h"
#include "linear/dots.h"
#include "linear/loss.h"

namespace textmill::linear {
namespace {

constexpr std::size_t kMostLanes = 8;
constexpr std::size_t kEntriesPerLane = 1 << 13;  // fewer are not worth a sum of their own
constexpr std::size_t kColumnBlock = 4096;
constexpr std::size_t kRowBlock = 2048;

template <bool Unit>
void add_row(const std::int32_t* index, const double* value, std::size_t size, double factor, double* out) {
  for (std::size_t e = 0; e < size; ++e) out[index[e]] += Unit ? factor : factor * value[e];
}

template <bool Unit>
void add_squares(const std::int32_t* index, const double* value, std::size_t size, double factor, double* out) {
  for (std::size_t e = 0; e < size; ++e) out[index[e]] += Unit ? factor : factor * value[e] * value[e];
}

}  // namespace

RowPasses::RowPasses(const base::Csr<std::int64_t, double>& x) : x_(x) {
  const auto entries = static_cast<std::size_t>(x.offsets[x.rows]);
  unit_ = std::all_of(x.values.begin(), x.values.begin() + entries, [](double v) { return v == 1.0; });
  const std::size_t wanted = std::min(entries / (2 * std::max<std::size_t>(x.columns, 1)), entries / kEntriesPerLane);
  const std::size_t lanes = std::bit_floor(std::clamp<std::size_t>(wanted, 1, kMostLanes));
  bounds_.push_back(0);
  for (std::size_t l = 1; l < lanes; ++l)
    bounds_.push_back(std::lower_bound(x.offsets.begin(), x.offsets.begin() + x.rows,
                                       static_cast<std::int64_t>(entries * l / lanes)) -
                      x.offsets.begin());
  bounds_.push_back(x.rows);
  lane_.resize(lanes - 1);
}

template <class F>
void RowPasses::by_lane(std::size_t threads, F body) {
  base::parallel_for(bounds_.size() - 1, threads, [&](std::size_t l) { body(l, bounds_[l], bounds_[l + 1]); });
}

double* RowPasses::lane_sum(std::size_t lane, std::span<double> out) {
  if (lane == 0) {
    std::fill(out.begin(), out.end(), 0.0);
    return out.data();
  }
  lane_[lane - 1].assign(out.size(), 0.0);
  return lane_[lane - 1].data();
}

void RowPasses::add_lanes(std::span<double> out, std::size_t threads) {
  if (lane_.empty()) return;
  base::parallel_blocks(out.size(), kColumnBlock, threads, [&](std::size_t begin, std::size_t end) {
    for (const std::vector<double>& lane : lane_)
      for (std::size_t j = begin; j < end; ++j) out[j] += lane[j];
  });
}

void RowPasses::sums(std::span<const double> residual, std::span<const double> row_curvature, std::span<double> slope,
                     std::span<double> square, std::size_t threads) {
  const auto pass = [&]<bool Unit, bool Squares>(std::span<const double> factor, std::span<double> out) {
    by_lane(threads, [&](std::size_t l, std::size_t begin, std::size_t end) {
      double* sum = lane_sum(l, out);
      for (std::size_t i = begin; i < end; ++i) {
        const auto at = x_.offsets[i];
        const std::size_t size = x_.offsets[i + 1] - at;
        if (factor[i] == 0.0) continue;
        if (Squares) {
          add_squares<Unit>(x_.indices.data() + at, x_.values.data() + at, size, factor[i], sum);
        } else {
          add_row<Unit>(x_.indices.data() + at, x_.values.data() + at, size, factor[i], sum);
        }
      }
    });
    add_lanes(out, threads);
  };
  if (!slope.empty())
    unit_ ? pass.template operator()<true, false>(residual, slope)
          : pass.template operator()<false, false>(residual, slope);
  if (!square.empty())
    unit_ ? pass.template operator()<true, true>(row_curvature, square)
          : pass.template operator()<false, true>(row_curvature, square);
}

double RowPasses::curve(std::span<const double> v, double shift, std::span<const double> row_curvature,
                        std::span<double> margin, std::span<double> product, std::size_t threads) {
  std::vector<double> total(bounds_.size() - 1);
  const auto pass = [&]<bool Unit>() {
    by_lane(threads, [&](std::size_t l, std::size_t begin, std::size_t end) {
      double* sum = lane_sum(l, product);
      double all = 0.0;
      for (std::size_t i = begin; i < end; ++i) {
        const auto at = x_.offsets[i];
        const std::size_t size = x_.offsets[i + 1] - at;
        const std::int32_t* index = x_.indices.data() + at;
        const double* value = x_.values.data() + at;
        const double z = dot<Unit>(index, value, size, v.data()) + shift, bent = row_curvature[i] * z;
        margin[i] = z;
        all += bent;
        if (bent != 0.0) add_row<Unit>(index, value, size, bent, sum);
      }
      total[l] = all;
    });
  };
  unit_ ? pass.template operator()<true>() : pass.template operator()<false>();
  add_lanes(product, threads);
  double all = 0.0;
  for (const double part : total) all += part;
  return all;
}

void RowPasses::squares(std::span<double> out, std::size_t threads) const {
  base::parallel_blocks(x_.rows, kRowBlock, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      double sum = 0.0;
      for (auto e = x_.offsets[i]; e < x_.offsets[i + 1]; ++e) sum += x_.values[e] * x_.values[e];
      out[i] = sum;
    }
  });
}

std::array<double, 4> RowPasses::smoothed_counts(std::span<const double> v, double shift,
                                                 std::span<const std::int32_t> label, std::span<const double> weight,
                                                 double gamma, std::span<double> miss, std::size_t threads) const {
  std::vector<std::array<double, 4>> sums((x_.rows + kRowBlock - 1) / kRowBlock);
  const auto pass = [&]<bool Unit>(std::size_t begin, std::size_t end) {
    std::array<double, kRowBlock> margin;
    for (std::size_t i = begin; i < end; ++i) {
      const auto at = x_.offsets[i];
      const std::size_t size = x_.offsets[i + 1] - at;
      margin[i - begin] = dot<Unit>(x_.indices.data() + at, x_.values.data() + at, size, v.data()) + shift;
    }
    const std::size_t size = end - begin;
    sums[begin / kRowBlock] = linear::smoothed_counts(std::span(margin).first(size), label.subspan(begin, size),
                                                      weight.subspan(begin, size), gamma, miss.subspan(begin, size));
  };
  base::parallel_blocks(x_.rows, kRowBlock, threads, [&](std::size_t begin, std::size_t end) {
    unit_ ? pass.template operator()<true>(begin, end) : pass.template operator()<false>(begin, end);
  });
  std::array<double, 4> total{};
  for (const auto& part : sums)
    for (std::size_t c = 0; c < 4; ++c) total[c] += part[c];
  return total;
}

double RowPasses::smoothed_slopes(std::span<const double> miss, std::span<const std::int32_t> label,
                                  std::span<const double> weight, double gain_negative, double gain_positive,
                                  std::span<double> slope, std::size_t threads) {
  std::vector<double> total(bounds_.size() - 1);
  const auto pass = [&]<bool Unit>() {
    by_lane(threads, [&](std::size_t l, std::size_t begin, std::size_t end) {
      double* sum = lane_sum(l, slope);
      double all = 0.0;
      for (std::size_t i = begin; i < end; ++i) {
        const auto at = x_.offsets[i];
        const double s = weight[i] * (label[i] == 1 ? gain_positive : gain_negative) * miss[i] * (1.0 - miss[i]);
        all += s;
        if (s != 0.0) add_row<Unit>(x_.indices.data() + at, x_.values.data() + at, x_.offsets[i + 1] - at, s, sum);
      }
      total[l] = all;
    });
  };
  unit_ ? pass.template operator()<true>() : pass.template operator()<false>();
  add_lanes(slope, threads);
  double all = 0.0;
  for (const double part : total) all += part;
  return all;
}

}  // namespace textmill::linear
