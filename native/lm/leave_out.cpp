#include "lm/leave_out.h"

#include <algorithm>
#include <cmath>

#include "base/flat_table.h"
#include "base/parallel.h"

namespace textmill::lm {
namespace {

constexpr std::size_t kBlock = 4096;

// Node to position in a list.
using Positions = base::FlatTable<std::int32_t>;
using base::key_of;

}  // namespace

// What is different without the sentences taken out.
class LeaveOut::Overlay {
 public:
  explicit Overlay(const LeaveOut& model) : m_(model), statistics_(model.statistics_) {}

  // Takes out the n-grams of a sentence; the position of one that was never counted, or -1.
  std::ptrdiff_t remove(std::span<const std::int32_t> words) {
    padded_.assign(1, m_.begin_);
    for (const std::int32_t w : words) padded_.push_back(w < 0 ? m_.unknown_ : w);
    padded_.push_back(m_.end_);
    for (std::size_t i = 0; i < padded_.size(); ++i) {
      std::int32_t parent = 0;
      for (std::size_t n = 1; n <= m_.tree_.order() && i + n <= padded_.size(); ++n) {
        const std::int32_t node = m_.lookup_.find(parent, padded_[i + n - 1]);
        if (node < 0) return static_cast<std::ptrdiff_t>(i);
        Touched& entry = touch(node, parent, n);
        if (++entry.removed > m_.count_[static_cast<std::size_t>(node)]) return static_cast<std::ptrdiff_t>(i);
        parent = node;
      }
    }
    return -1;
  }

  // Works out all that follows from what was removed; false where no sentence is left.
  bool settle() {
    const auto starts = static_cast<std::size_t>(1 + m_.begin_);
    const std::int32_t start = touched_at_.find(key_of(static_cast<std::int32_t>(starts)), -1);
    if (start >= 0 && touched_[static_cast<std::size_t>(start)].removed == m_.count_[starts]) return false;
    if (m_.rules_.continues()) {
      for (Touched& entry : touched_) {  // a word seen before the rest of this n-gram is gone
        const auto v = static_cast<std::size_t>(entry.node);
        if (entry.order < 2 || entry.removed < m_.count_[v]) continue;
        const std::int32_t at =
            touched_at_.find(key_of(m_.suffix_[v]), -1);  // each end of a removed n-gram was removed too
        if (at >= 0 && !counts_itself(touched_[static_cast<std::size_t>(at)]))
          ++touched_[static_cast<std::size_t>(at)].fewer_before;
      }
    }
    for (const Touched& entry : touched_) {
      const auto v = static_cast<std::size_t>(entry.node);
      const std::int64_t old = m_.a_[v], now = left(entry);
      if (entry.order == 1 && m_.tree_.word[v] == m_.begin_) continue;
      if (entry.order == 1 && m_.open_ && m_.tree_.word[v] >= m_.fixed_ && entry.removed == m_.count_[v])
        --statistics_.words;
      statistics_.count(entry.order, old, -1);
      statistics_.count(entry.order, now, 1);
      change(entry, old, now);
    }
    if (m_.rules_.method == Method::kJelinekMercer) {
      for (const Changed& changed : changed_) {
        statistics_.weigh(changed.order, m_.contexts_[static_cast<std::size_t>(changed.node)], -1);
        statistics_.weigh(changed.order, changed.context, 1);
      }
    }
    parameters_.emplace(m_.rules_, statistics_);
    return true;
  }

  bool is_word(std::int32_t word) const {
    if (word < 0) return false;
    if (!m_.open_ || word < m_.fixed_) return true;
    const auto v = static_cast<std::size_t>(1 + word);
    const std::int32_t at = touched_at_.find(key_of(1 + word), -1);
    return m_.count_[v] > (at < 0 ? 0 : touched_[static_cast<std::size_t>(at)].removed);
  }

  // p of a word after contexts[n], the nodes of the last n words from n = 0 on (-1: never seen); the length of the n-gram
  // that has a probability of its own. by_order[n - 1] becomes p by the n-grams up to n, where there is room for it.
  double probability(std::span<const std::int32_t> contexts, std::int32_t word, std::int8_t& own_order,
                     std::span<double> by_order) {
    double p = 1.0 / static_cast<double>(statistics_.words);
    own_order = 1;
    for (std::size_t n = 1; n <= contexts.size(); ++n) {
      const std::int32_t h = contexts[n - 1];
      if (n > 1 && n - 2 < by_order.size()) by_order[n - 2] = p;
      if (h < 0) {
        for (std::size_t k = n - 1; k < by_order.size(); ++k) by_order[k] = p;
        break;
      }
      const Share share = share_after(h, n);
      if (share.denominator == 0.0) continue;
      const std::int32_t node = m_.lookup_.find(h, word);
      double own = -1.0;
      if (node >= 0) {
        const auto v = static_cast<std::size_t>(node);
        const std::int32_t at = touched_at_.find(key_of(node), -1);
        const std::int64_t a = at < 0 ? m_.a_[v] : left(touched_[static_cast<std::size_t>(at)]);
        const std::int64_t c = m_.count_[v] - (at < 0 ? 0 : touched_[static_cast<std::size_t>(at)].removed);
        if (a > 0 && c >= m_.rules_.min_count[n - 1]) {
          const double discount = parameters_->discounts[n - 1][class_of(a, m_.rules_.classes())];
          own = share.scale * (static_cast<double>(a) - discount) / share.denominator;
          own_order = static_cast<std::int8_t>(n);
        }
      }
      if (own < 0.0)
        p = share.back_off * p;
      else
        p = m_.rules_.backs_off() ? own : own + share.back_off * p;
    }
    return p;
  }

 private:
  struct Touched {  // an n-gram that was taken out at least once
    std::int32_t node, parent;
    std::size_t order;
    std::int64_t removed = 0, fewer_before = 0;
  };
  struct Changed {  // a context of such an n-gram
    std::int32_t node;
    std::size_t order;  // of the n-grams that continue it
    Context context;
    std::vector<std::int32_t> children;  // of touched_
  };

  Touched& touch(std::int32_t node, std::int32_t parent, std::size_t order) {
    std::int32_t at = touched_at_.find(key_of(node), -1);
    if (at < 0) {
      at = static_cast<std::int32_t>(touched_.size());
      touched_.push_back({node, parent, order});
      touched_at_.add(key_of(node), at);
    }
    return touched_[static_cast<std::size_t>(at)];
  }

  // Whether a is the count: always but in Kneser-Ney; there at the highest order and behind the start symbol.
  bool counts_itself(const Touched& entry) const {
    if (!m_.rules_.continues() || entry.order == m_.tree_.order()) return true;
    return entry.order > 1 &&
           m_.a_[static_cast<std::size_t>(entry.node)] == m_.count_[static_cast<std::size_t>(entry.node)] &&
           begins(entry);
  }
  bool begins(const Touched& entry) const {
    const Touched* at = &entry;
    while (at->parent != 0) at = &touched_[static_cast<std::size_t>(touched_at_.find(key_of(at->parent), -1))];
    return m_.tree_.word[static_cast<std::size_t>(at->node)] == m_.begin_;
  }
  std::int64_t left(const Touched& entry) const {
    const auto v = static_cast<std::size_t>(entry.node);
    return m_.a_[v] - (counts_itself(entry) ? entry.removed : entry.fewer_before);
  }

  void change(const Touched& entry, std::int64_t old, std::int64_t now) {
    std::int32_t at = changed_at_.find(key_of(entry.parent), -1);
    if (at < 0) {
      at = static_cast<std::int32_t>(changed_.size());
      changed_.push_back({entry.parent, entry.order, m_.contexts_[static_cast<std::size_t>(entry.parent)], {}});
      changed_at_.add(key_of(entry.parent), at);
    }
    Changed& changed = changed_[static_cast<std::size_t>(at)];
    changed.children.push_back(static_cast<std::int32_t>(&entry - touched_.data()));
    Context& context = changed.context;
    const auto v = static_cast<std::size_t>(entry.node);
    const std::int64_t least = m_.rules_.min_count[entry.order - 1];
    const std::size_t classes = m_.rules_.classes();
    context.total += now - old;
    context.types -= old > 0 && now == 0;
    context.singles += (now == 1) - (old == 1);
    if (old > 0 && m_.count_[v] >= least) {
      context.kept -= old;
      --context.times[class_of(old, classes)];
    }
    if (now > 0 && m_.count_[v] - entry.removed >= least) {
      context.kept += now;
      ++context.times[class_of(now, classes)];
    }
  }

  Share share_after(std::int32_t h, std::size_t n) {
    const std::int32_t known = share_at_.find(key_of(h), -1);
    if (known >= 0) return shares_[static_cast<std::size_t>(known)];
    const std::int32_t at = changed_at_.find(key_of(h), -1);
    Context context =
        at < 0 ? m_.contexts_[static_cast<std::size_t>(h)] : changed_[static_cast<std::size_t>(at)].context;
    double below = 0.0;
    if (m_.rules_.backs_off() && n > 1) {
      const std::int32_t shorter = m_.suffix_[static_cast<std::size_t>(h)];
      below = share_after(shorter, n - 1).denominator;
      align(h, shorter, n, context);
    }
    const Share share = share_of(m_.rules_, *parameters_, statistics_, n, context, below);
    share_at_.add(key_of(h), static_cast<std::int32_t>(shares_.size()));
    shares_.push_back(share);
    return share;
  }

  // Brings the sums over the counts after the shorter context up to date.
  void align(std::int32_t h, std::int32_t shorter, std::size_t n, Context& context) const {
    const std::int32_t at = changed_at_.find(key_of(shorter), -1);
    if (at < 0) return;  // its n-grams, and so those of h, are all as they were
    const Changed& changed = changed_[static_cast<std::size_t>(at)];
    const std::size_t classes = m_.rules_.classes();
    const std::int64_t least = m_.rules_.min_count[n - 1];
    const auto now = [&](std::int32_t node) {
      const std::int32_t place = touched_at_.find(key_of(node), -1);
      return m_.count_[static_cast<std::size_t>(node)] -
             (place < 0 ? 0 : touched_[static_cast<std::size_t>(place)].removed);
    };
    const std::int32_t first = m_.tree_.first[h], last = m_.tree_.first[h + 1];
    if (static_cast<std::size_t>(last - first) <= changed.children.size()) {
      context.lower = 0;
      context.lower_times = {};
      for (std::int32_t c = first; c < last; ++c) {
        if (now(c) < std::max<std::int64_t>(1, least)) continue;
        const std::int64_t count = now(m_.suffix_[static_cast<std::size_t>(c)]);
        context.lower += count;
        ++context.lower_times[class_of(count, classes)];
      }
      return;
    }
    for (const std::int32_t child : changed.children) {
      const Touched& entry = touched_[static_cast<std::size_t>(child)];
      const auto v = static_cast<std::size_t>(entry.node);
      const std::int32_t node = m_.lookup_.find(h, m_.tree_.word[v]);
      if (node < 0) continue;
      if (m_.count_[static_cast<std::size_t>(node)] >= least) {
        context.lower -= m_.count_[v];
        --context.lower_times[class_of(m_.count_[v], classes)];
      }
      if (now(node) >= std::max<std::int64_t>(1, least)) {
        const std::int64_t count = m_.count_[v] - entry.removed;
        context.lower += count;
        ++context.lower_times[class_of(count, classes)];
      }
    }
  }

  const LeaveOut& m_;
  Statistics statistics_;
  std::optional<Parameters> parameters_;
  std::vector<std::int32_t> padded_;
  std::vector<Touched> touched_;
  std::vector<Changed> changed_;
  std::vector<Share> shares_;
  Positions touched_at_, changed_at_, share_at_;
};

LeaveOut::LeaveOut(const Rules& rules, const Tree& tree, std::span<const std::int32_t> suffix,
                   std::span<const std::int64_t> count, std::int32_t unknown, std::int32_t begin, std::int32_t end,
                   bool open, std::int32_t fixed, std::size_t threads)
    : rules_(rules),
      tree_(tree),
      suffix_(suffix),
      count_(count),
      unknown_(unknown),
      begin_(begin),
      end_(end),
      open_(open),
      fixed_(fixed),
      own_(rules.continues() ? tree.nodes() : 0),
      a_(rules.continues() ? std::span<const std::int64_t>(own_) : count),
      statistics_(tree.order()),
      lookup_(tree) {
  if (rules.continues()) continuations(tree, suffix, count, begin, own_, threads);
  const Adjusted data{tree_, suffix_, count_, a_, begin_};
  statistics_ = statistics_of(rules_, data, threads);
  contexts_.resize(static_cast<std::size_t>(tree.level[tree.order()]));
  for (std::size_t n = 1; n <= tree.order(); ++n) {
    const auto from = static_cast<std::size_t>(tree.level[n - 1]), to = static_cast<std::size_t>(tree.level[n]);
    base::parallel_blocks(to - from, kBlock, threads, [&](std::size_t first, std::size_t last) {
      for (std::size_t h = from + first; h < from + last; ++h) contexts_[h] = context_of(rules_, data, n, h);
    });
  }
}

std::optional<LeaveOut::Fault> LeaveOut::score(const Sentences& removed, const Sentences& scored,
                                               std::span<const Group> groups, std::span<double> out,
                                               std::span<std::int8_t> unknown, std::span<std::int8_t> order,
                                               std::span<double> shorter, std::size_t threads) const {
  std::vector<std::optional<Fault>> faults(groups.size());
  base::parallel_for(groups.size(), threads, [&](std::size_t g) {
    Overlay overlay(*this);
    for (std::size_t s = groups[g].removed_from; s < groups[g].removed_to; ++s) {
      const auto from = static_cast<std::size_t>(removed.offsets[s]),
                 to = static_cast<std::size_t>(removed.offsets[s + 1]);
      const std::ptrdiff_t at = overlay.remove(removed.tokens.subspan(from, to - from));
      if (at >= 0) {
        faults[g] = Fault{g, s, static_cast<std::size_t>(at), false};
        return;
      }
    }
    if (!overlay.settle()) {
      faults[g] = Fault{g, groups[g].removed_from, 0, true};
      return;
    }
    std::vector<std::int32_t> contexts(tree_.order());
    std::vector<double> by_order(shorter.empty() ? 0 : tree_.order() - 1);
    for (std::size_t s = groups[g].scored_from; s < groups[g].scored_to; ++s) {
      std::fill(contexts.begin(), contexts.end(), -1);
      contexts[0] = 0;
      if (contexts.size() > 1) contexts[1] = 1 + begin_;
      const auto from = static_cast<std::size_t>(scored.offsets[s]),
                 to = static_cast<std::size_t>(scored.offsets[s + 1]);
      for (std::size_t i = from, at = from + s; i <= to; ++i, ++at) {
        const std::int32_t token = i < to ? scored.tokens[i] : end_;
        const bool known = overlay.is_word(token);
        const std::int32_t word = known ? token : unknown_;
        unknown[at] = !known || (i < to && token == unknown_);
        out[at] = std::log10(overlay.probability(contexts, word, order[at], by_order));
        for (std::size_t n = 0; n < by_order.size(); ++n) shorter[n * out.size() + at] = std::log10(by_order[n]);
        for (std::size_t n = contexts.size() - 1; n > 0; --n)
          contexts[n] = contexts[n - 1] < 0 ? -1 : lookup_.find(contexts[n - 1], word);
      }
    }
  });
  for (const auto& fault : faults)
    if (fault) return fault;
  return std::nullopt;
}

}  // namespace textmill::lm
