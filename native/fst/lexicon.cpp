#include "fst/lexicon.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/flat_table.h"
#include "fst/sequences.h"

namespace textmill::fst {
namespace {

using FloatArc = Arc<float>;

std::string_view word_at(std::span<const char> text, std::span<const std::int64_t> ends, std::size_t i) {
  const std::int64_t begin = i == 0 ? 0 : ends[i - 1];
  return {text.data() + begin, static_cast<std::size_t>(ends[i] - begin)};
}

// The length of the character at the front of valid UTF-8.
std::size_t size_of(unsigned char first) { return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4; }

std::int32_t code_point(const char* at, std::size_t size) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(at);
  if (size == 1) return bytes[0];
  std::int32_t value = bytes[0] & (0xFF >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) value = value << 6 | (bytes[i] & 0x3F);
  return value;
}

// States that are closed, and how to find an equal one.
class Register {
 public:
  std::int32_t close(float final, std::span<const FloatArc> arcs) {
    const auto fresh = static_cast<std::uint32_t>(states_.size());
    const std::uint32_t id =
        index_.add(hash_of(final, arcs), fresh, [&](std::uint32_t known) { return same(known, final, arcs); });
    if (id != fresh) return static_cast<std::int32_t>(id);
    states_.push_back({final, static_cast<std::uint32_t>(arcs_.size()), static_cast<std::uint32_t>(arcs.size()), 0, 0});
    arcs_.insert(arcs_.end(), arcs.begin(), arcs.end());
    return static_cast<std::int32_t>(id);
  }

  Machine<Tropical<float>> finish(std::int32_t start) && {
    return Machine<Tropical<float>>::assembled({}, start, std::move(states_), std::move(arcs_));
  }

 private:
  static std::uint32_t rounded(float weight) {
    return std::isinf(weight) ? 0x7FFFFFFF
                              : static_cast<std::uint32_t>(static_cast<std::int64_t>(std::lround(weight * 1048576.0)));
  }
  static std::uint64_t hash_of(float final, std::span<const FloatArc> arcs) {
    std::uint64_t hash = rounded(final) + 1;
    for (const FloatArc& arc : arcs)
      hash = (hash ^ (static_cast<std::uint64_t>(static_cast<std::uint32_t>(arc.ilabel)) << 32 |
                      static_cast<std::uint32_t>(arc.nextstate))) *
                 0x9E3779B97F4A7C15u +
             rounded(arc.weight);
    return stir(hash);
  }
  bool same(std::uint32_t id, float final, std::span<const FloatArc> arcs) const {
    const auto& state = states_[id];
    if (state.narcs != arcs.size() || rounded(state.final) != rounded(final)) return false;
    const FloatArc* const own = arcs_.data() + state.pos;
    for (std::size_t i = 0; i < arcs.size(); ++i)
      if (own[i].ilabel != arcs[i].ilabel || own[i].nextstate != arcs[i].nextstate ||
          rounded(own[i].weight) != rounded(arcs[i].weight))
        return false;
    return true;
  }
  std::vector<State<float>> states_;
  std::vector<FloatArc> arcs_;
  base::FlatIndex index_;
};

struct Open {
  float final = Tropical<float>::zero();
  std::vector<FloatArc> arcs;
};

}  // namespace

std::vector<std::uint32_t> sorted_words(std::span<const char> text, std::span<const std::int64_t> ends) {
  struct Key {
    std::uint64_t prefix;
    std::uint32_t word;
  };
  std::vector<Key> keys(ends.size());
  bool in_order = true;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::string_view word = word_at(text, ends, i);
    std::uint64_t prefix = 0;
    std::memcpy(&prefix, word.data(), std::min<std::size_t>(word.size(), 8));
    if constexpr (std::endian::native == std::endian::little) prefix = __builtin_bswap64(prefix);
    keys[i] = {prefix, static_cast<std::uint32_t>(i)};
    in_order = in_order && (i == 0 || word_at(text, ends, i - 1) <= word);
  }
  if (!in_order)
    std::ranges::sort(keys, [&](const Key& a, const Key& b) {
      if (a.prefix != b.prefix) return a.prefix < b.prefix;
      const int order = word_at(text, ends, a.word).compare(word_at(text, ends, b.word));
      return order != 0 ? order < 0 : a.word < b.word;
    });
  std::vector<std::uint32_t> order(ends.size());
  std::ranges::transform(keys, order.begin(), [](const Key& key) { return key.word; });
  return order;
}

Machine<Tropical<float>> lexicon(std::span<const char> text, std::span<const std::int64_t> ends,
                                 std::span<const float> weights, bool utf8, std::vector<std::int64_t>& duplicates) {
  const std::vector<std::uint32_t> order = sorted_words(text, ends);
  Register closed;
  std::vector<Open> path(1);
  std::vector<std::int32_t> last, labels;
  const auto close_from = [&](std::size_t depth, std::size_t end) {
    for (std::size_t d = end; d > depth; --d) {
      Open& state = path[d];
      // what all that follows costs at least goes on the arc that leads here
      float least = state.final;
      for (const FloatArc& arc : state.arcs) least = std::min(least, arc.weight);
      if (least != 0.0f && !std::isinf(least)) {
        state.final -= least;
        for (FloatArc& arc : state.arcs) arc.weight -= least;
      } else {
        least = 0.0f;
      }
      FloatArc& entry = path[d - 1].arcs.back();
      entry.weight += least;
      entry.nextstate = closed.close(state.final, state.arcs);
      state.final = Tropical<float>::zero();
      state.arcs.clear();
    }
  };
  for (const std::uint32_t number : order) {
    const std::string_view word = word_at(text, ends, number);
    labels.clear();
    if (utf8)
      for (std::size_t i = 0; i < word.size();) {
        const std::size_t size = std::min(size_of(static_cast<unsigned char>(word[i])), word.size() - i);
        labels.push_back(code_point(word.data() + i, size));
        i += size;
      }
    else
      for (const char byte : word) labels.push_back(static_cast<unsigned char>(byte));
    std::size_t shared = 0;
    while (shared < labels.size() && shared < last.size() && labels[shared] == last[shared]) ++shared;
    close_from(shared, last.size());
    if (path.size() <= labels.size()) path.resize(labels.size() + 1);
    for (std::size_t d = shared; d < labels.size(); ++d) path[d].arcs.push_back({labels[d], labels[d], 0.0f, kNoState});
    Open& end = path[labels.size()];
    if (end.final != Tropical<float>::zero()) duplicates.push_back(number);
    end.final = std::min(end.final, weights.empty() ? 0.0f : weights[number]);
    last = labels;
  }
  close_from(0, last.size());
  const std::int32_t start = closed.close(path[0].final, path[0].arcs);
  return std::move(closed).finish(start);
}

}  // namespace textmill::fst
