#include "linear/design.h"

#include <algorithm>

#include "base/message.h"
#include "base/parallel.h"
#include "linear/dots.h"

namespace textmill::linear {
namespace {

constexpr std::size_t kColumnBlock = 256;
constexpr std::size_t kGraftBlock = 64;
constexpr std::size_t kEntriesPerPart = 1 << 16;  // fewer are turned round by one thread

}  // namespace

Design::Design(std::size_t rows, std::size_t columns, std::span<const std::int64_t> offsets,
               std::span<const std::int32_t> indices, std::span<const double> values, std::size_t threads)
    : rows_(rows), begin_(columns + 1, 0) {
  if (offsets.size() != rows + 1 || offsets[0] != 0)
    base::refuse_with({"indptr must hold ", rows + 1, " offsets from 0"});
  for (std::size_t i = 0; i < rows; ++i)
    if (offsets[i + 1] < offsets[i]) base::refuse_with({"indptr falls at row ", i});
  const auto entries = static_cast<std::size_t>(offsets[rows]);
  if (entries > indices.size() || indices.size() != values.size())
    base::refuse_with(
        {"there are ", indices.size(), " indices and ", values.size(), " values for ", entries, " entries"});
  for (std::size_t e = 0; e < entries; ++e)
    if (indices[e] < 0 || static_cast<std::size_t>(indices[e]) >= columns)
      base::refuse_with({"entry ", e, " has column ", indices[e], ", the matrix has ", columns, " columns"});
  const bool unit = std::all_of(values.begin(), values.begin() + entries, [](double v) { return v == 1.0; });
  row_.resize(entries);
  if (!unit) value_.resize(entries);

  // A counting sort by column: each part of the rows counts for itself, so that it knows where its entries go.
  const std::size_t parts =
      std::clamp<std::size_t>(std::min(threads, entries / std::max(kEntriesPerPart, 4 * columns)), 1, 16);
  const auto bound = [&](std::size_t part) { return rows * part / parts; };
  std::vector<std::vector<std::size_t>> place(parts);
  base::parallel_for(parts, threads, [&](std::size_t part) {
    place[part].assign(columns, 0);
    for (auto e = offsets[bound(part)]; e < offsets[bound(part + 1)]; ++e) ++place[part][indices[e]];
  });
  std::size_t total = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    begin_[j] = total;
    for (auto& counts : place) {
      const std::size_t count = counts[j];
      counts[j] = total;
      total += count;
    }
  }
  begin_[columns] = total;
  base::parallel_for(parts, threads, [&](std::size_t part) {
    std::vector<std::size_t>& next = place[part];
    for (std::size_t i = bound(part); i < bound(part + 1); ++i)
      for (auto e = offsets[i]; e < offsets[i + 1]; ++e) {
        const std::size_t at = next[indices[e]]++;
        row_[at] = static_cast<std::int32_t>(i);
        if (!unit) value_[at] = values[e];
      }
  });
}

void Design::add_ones() {
  for (std::size_t i = 0; i < rows_; ++i) row_.push_back(static_cast<std::int32_t>(i));
  if (!value_.empty()) value_.resize(row_.size(), 1.0);
  begin_.push_back(row_.size());
}

void Design::graft(std::span<const std::int32_t> features, std::size_t degree, std::size_t threads) {
  const std::size_t count = features.size() / degree;
  // Parts of every combination by size, and the combinations by their largest part, whose rows are marked once for all.
  std::vector<std::vector<std::int32_t>> parts(count);
  std::vector<std::size_t> order(count);
  for (std::size_t k = 0; k < count; ++k) {
    order[k] = k;
    parts[k].assign(features.begin() + k * degree, features.begin() + (k + 1) * degree);
    std::erase(parts[k], -1);
    std::stable_sort(parts[k].begin(), parts[k].end(), [&](auto a, auto b) { return entries(a) < entries(b); });
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return parts[a].back() < parts[b].back(); });
  std::vector<std::size_t> groups;  // where another largest part begins
  for (std::size_t k = 0; k < count; ++k)
    if (k == 0 || parts[order[k]].back() != parts[order[k - 1]].back()) groups.push_back(k);
  groups.push_back(count);

  std::vector<std::vector<std::int32_t>> rows(count);
  std::vector<std::vector<double>> values(binary() ? 0 : count);
  base::parallel_blocks(groups.size() - 1, kGraftBlock, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t> place(rows_, -1);  // of the rows within the largest part
    for (std::size_t group = begin; group < end; ++group) {
      const std::int32_t largest = parts[order[groups[group]]].back();
      const auto size = static_cast<std::int32_t>(entries(largest));
      for (std::int32_t e = 0; e < size; ++e) place[row(largest)[e]] = e;
      for (std::size_t at = groups[group]; at < groups[group + 1]; ++at) {
        const std::size_t k = order[at];
        const std::vector<std::int32_t>& own = parts[k];
        const std::int32_t* first = row(own[0]);
        for (std::size_t e = 0; e < entries(own[0]); ++e) {
          if (place[first[e]] < 0) continue;
          double product = binary() ? 1.0 : value(own[0])[e];
          bool there = true;
          for (std::size_t p = 1; p + 1 < own.size() && there; ++p) {
            const std::int32_t* from = row(own[p]);
            const std::int32_t* to = from + entries(own[p]);
            const std::int32_t* found = std::lower_bound(from, to, first[e]);
            there = found != to && *found == first[e];
            if (there && !binary()) product *= value(own[p])[found - from];
          }
          if (!binary() && own.size() > 1) product *= value(largest)[place[first[e]]];
          if (!there || product == 0.0) continue;
          rows[k].push_back(first[e]);
          if (!binary()) values[k].push_back(product);
        }
      }
      for (std::int32_t e = 0; e < size; ++e) place[row(largest)[e]] = -1;
    }
  });
  for (std::size_t k = 0; k < count; ++k) {
    row_.insert(row_.end(), rows[k].begin(), rows[k].end());
    if (!values.empty()) value_.insert(value_.end(), values[k].begin(), values[k].end());
    begin_.push_back(row_.size());
  }
}

void column_product(const Design& x, std::span<const std::int32_t> listed, std::span<const double> weight,
                    std::span<double> margin) {
  std::fill(margin.begin(), margin.end(), 0.0);
  for (std::size_t k = 0; k < listed.size(); ++k) {
    const std::size_t j = listed[k];
    const std::int32_t* row = x.row(j);
    const double* value = x.value(j);
    for (std::size_t e = 0; e < x.entries(j); ++e)
      margin[row[e]] += value == nullptr ? weight[k] : weight[k] * value[e];
  }
}

void column_sums(const Design& x, std::span<const std::int32_t> listed, std::span<const double> residual,
                 std::span<const double> row_curvature, std::span<double> slope, std::span<double> curvature,
                 std::size_t threads) {
  const std::size_t count = listed.empty() ? x.columns() : listed.size();
  const auto sums = [&]<bool Unit>(std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t j = listed.empty() ? k : listed[k], size = x.entries(j);
      if (!slope.empty()) slope[k] = -dot<Unit>(x.row(j), x.value(j), size, residual.data());
      if (!curvature.empty()) curvature[k] = squares<Unit>(x.row(j), x.value(j), size, row_curvature.data());
    }
  };
  base::parallel_blocks(count, kColumnBlock, threads, [&](std::size_t begin, std::size_t end) {
    x.binary() ? sums.template operator()<true>(begin, end) : sums.template operator()<false>(begin, end);
  });
}

}  // namespace textmill::linear
