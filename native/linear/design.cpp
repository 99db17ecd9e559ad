#include "linear/design.h"

#include <algorithm>
#include <numeric>

#include "base/all_of.h"
#include "base/message.h"
#include "base/parallel.h"
#include "linear/dots.h"

namespace textmill::linear {
namespace {

constexpr std::size_t kColumnBlock = 256;
constexpr std::size_t kGraftBlock = 64;
constexpr std::size_t kEntriesPerPart = 1 << 16;  // fewer are turned round by one thread

// Throws where rows are not what base::Csr promises; returns the number of entries.
std::size_t checked_entries(std::size_t rows, std::size_t columns, std::span<const std::int64_t> offsets,
                            std::span<const std::int32_t> indices, std::size_t threads) {
  if (offsets.size() != rows + 1 || offsets[0] != 0)
    base::refuse_with({"indptr must hold ", rows + 1, " offsets from 0"});
  for (std::size_t i = 0; i < rows; ++i)
    if (offsets[i + 1] < offsets[i]) base::refuse_with({"indptr falls at row ", i});
  const auto entries = static_cast<std::size_t>(offsets[rows]);
  if (entries > indices.size()) base::refuse_with({"there are ", indices.size(), " indices for ", entries, " entries"});
  const auto inside = [&](std::size_t e) { return indices[e] >= 0 && static_cast<std::size_t>(indices[e]) < columns; };
  if (base::all_of(0, entries, threads, inside)) return entries;
  for (std::size_t e = 0; e < entries; ++e)
    if (indices[e] < 0 || static_cast<std::size_t>(indices[e]) >= columns)
      base::refuse_with({"entry ", e, " has column ", indices[e], ", the matrix has ", columns, " columns"});
  return entries;
}

}  // namespace

Design::Design(std::size_t rows, std::size_t columns, std::span<const std::int64_t> offsets,
               std::span<const std::int32_t> indices, std::span<const double> values,
               std::span<const std::int32_t> number, std::span<const std::int32_t> order, std::size_t threads)
    : rows_(rows) {
  const std::size_t entries = checked_entries(rows, columns, offsets, indices, threads);
  if (indices.size() != values.size())
    base::refuse_with({"there are ", indices.size(), " indices and ", values.size(), " values"});
  const bool unit = std::all_of(values.begin(), values.begin() + entries, [](double v) { return v == 1.0; });
  const auto source = [&](std::size_t i) { return order.empty() ? i : static_cast<std::size_t>(order[i]); };
  const auto place_of = [&](std::size_t e) { return number.empty() ? indices[e] : number[indices[e]]; };
  const std::size_t kept =
      number.empty() ? columns : columns - static_cast<std::size_t>(std::count(number.begin(), number.end(), -1));
  begin_.assign(kept + 1, 0);

  // A counting sort by column: each part of the rows counts for itself, so that it knows where its entries go.
  const std::size_t parts =
      std::clamp<std::size_t>(std::min(threads, entries / std::max(kEntriesPerPart, 4 * columns)), 1, 16);
  const auto bound = [&](std::size_t part) { return rows * part / parts; };
  std::vector<std::vector<std::size_t>> place(parts);
  base::parallel_for(parts, threads, [&](std::size_t part) {
    place[part].assign(kept, 0);
    for (std::size_t i = bound(part); i < bound(part + 1); ++i)
      for (auto e = offsets[source(i)]; e < offsets[source(i) + 1]; ++e)
        if (const std::int32_t j = place_of(e); j >= 0) ++place[part][j];
  });
  std::size_t total = 0;
  for (std::size_t j = 0; j < kept; ++j) {
    begin_[j] = total;
    for (auto& counts : place) {
      const std::size_t count = counts[j];
      counts[j] = total;
      total += count;
    }
  }
  begin_[kept] = total;
  row_.resize(total);
  if (!unit) value_.resize(total);
  base::parallel_for(parts, threads, [&](std::size_t part) {
    std::vector<std::size_t>& next = place[part];
    for (std::size_t i = bound(part); i < bound(part + 1); ++i)
      for (auto e = offsets[source(i)]; e < offsets[source(i) + 1]; ++e) {
        const std::int32_t j = place_of(e);
        if (j < 0) continue;
        const std::size_t at = next[j]++;
        row_[at] = static_cast<std::int32_t>(i);
        if (!unit) value_[at] = values[e];
      }
  });
  base::parallel_blocks(kept, kColumnBlock, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      const auto twice = std::adjacent_find(row_.begin() + begin_[j], row_.begin() + begin_[j + 1]);
      if (twice != row_.begin() + begin_[j + 1])
        base::refuse_with({"row ", source(static_cast<std::size_t>(*twice)), " has a column twice"});
    }
  });
}

void Design::add_ones() {
  row_.resize(row_.size() + rows_);
  std::iota(row_.end() - static_cast<std::ptrdiff_t>(rows_), row_.end(), 0);
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

  struct Part {  // the columns of a block of groups, one behind the other
    std::vector<std::int32_t> row;
    std::vector<double> value;
  };
  std::vector<Part> made((groups.size() - 1 + kGraftBlock - 1) / kGraftBlock);
  std::vector<std::size_t> from(count), size_of(count);
  base::parallel_blocks(groups.size() - 1, kGraftBlock, threads, [&](std::size_t begin, std::size_t end) {
    Part& part = made[begin / kGraftBlock];
    std::vector<std::int32_t> place(rows_, -1);  // of the rows within the largest part
    for (std::size_t group = begin; group < end; ++group) {
      const std::int32_t largest = parts[order[groups[group]]].back();
      const auto size = static_cast<std::int32_t>(entries(largest));
      for (std::int32_t e = 0; e < size; ++e) place[row(largest)[e]] = e;
      for (std::size_t at = groups[group]; at < groups[group + 1]; ++at) {
        const std::size_t k = order[at];
        const std::vector<std::int32_t>& own = parts[k];
        const std::int32_t* first = row(own[0]);
        from[k] = part.row.size();
        for (std::size_t e = 0; e < entries(own[0]); ++e) {
          if (place[first[e]] < 0) continue;
          double product = binary() ? 1.0 : value(own[0])[e];
          bool there = true;
          for (std::size_t p = 1; p + 1 < own.size() && there; ++p) {
            const std::int32_t* other = row(own[p]);
            const std::int32_t* end_of = other + entries(own[p]);
            const std::int32_t* found = std::lower_bound(other, end_of, first[e]);
            there = found != end_of && *found == first[e];
            if (there && !binary()) product *= value(own[p])[found - other];
          }
          if (!binary() && own.size() > 1) product *= value(largest)[place[first[e]]];
          if (!there || product == 0.0) continue;
          part.row.push_back(first[e]);
          if (!binary()) part.value.push_back(product);
        }
        size_of[k] = part.row.size() - from[k];
      }
      for (std::int32_t e = 0; e < size; ++e) place[row(largest)[e]] = -1;
    }
  });
  std::vector<std::size_t> part_of(count);
  for (std::size_t group = 0; group + 1 < groups.size(); ++group)
    for (std::size_t at = groups[group]; at < groups[group + 1]; ++at) part_of[order[at]] = group / kGraftBlock;
  const std::size_t total = row_.size() + std::accumulate(size_of.begin(), size_of.end(), std::size_t{0});
  row_.reserve(total);
  if (!binary()) value_.reserve(total);
  for (std::size_t k = 0; k < count; ++k) {
    const Part& part = made[part_of[k]];
    row_.insert(row_.end(), part.row.begin() + from[k], part.row.begin() + from[k] + size_of[k]);
    if (!binary()) value_.insert(value_.end(), part.value.begin() + from[k], part.value.begin() + from[k] + size_of[k]);
    begin_.push_back(row_.size());
  }
}

std::vector<std::int32_t> rows_by_commonest_column(std::size_t rows, std::size_t columns,
                                                   std::span<const std::int64_t> offsets,
                                                   std::span<const std::int32_t> indices) {
  const std::size_t entries = checked_entries(rows, columns, offsets, indices, 1);
  std::vector<std::uint32_t> count(columns, 0), begin(columns + 2, 0);
  for (std::size_t e = 0; e < entries; ++e) ++count[indices[e]];
  std::vector<std::int32_t> commonest(rows), order(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    auto best = static_cast<std::int32_t>(columns);  // of a row without entries
    for (auto e = offsets[i]; e < offsets[i + 1]; ++e)
      if (static_cast<std::size_t>(best) == columns || count[indices[e]] > count[best]) best = indices[e];
    commonest[i] = best;
    ++begin[best + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  for (std::size_t i = 0; i < rows; ++i) order[begin[commonest[i]]++] = static_cast<std::int32_t>(i);
  return order;
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
      if (!slope.empty()) slope[k] = -column_dot<Unit>(x.row(j), x.value(j), size, residual.data());
      if (!curvature.empty()) curvature[k] = column_squares<Unit>(x.row(j), x.value(j), size, row_curvature.data());
    }
  };
  base::parallel_blocks(count, kColumnBlock, threads, [&](std::size_t begin, std::size_t end) {
    x.binary() ? sums.template operator()<true>(begin, end) : sums.template operator()<false>(begin, end);
  });
}

}  // namespace textmill::linear
