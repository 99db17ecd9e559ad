#include "fst/nearest.h"

#include <algorithm>
#include <array>

#include "base/parallel.h"

namespace textmill::fst {
namespace {

using FloatArc = Arc<float>;
constexpr std::size_t kStretch = 16;  // words that a thread takes at a time
constexpr std::uint8_t kFar = 0x7F;

struct Answer {
  float cost;
  std::int32_t edits;
  std::vector<std::int32_t> labels;
};

bool before(const Answer& a, const Answer& b) {
  if (a.cost != b.cost) return a.cost < b.cost;
  return a.edits != b.edits ? a.edits < b.edits : a.labels < b.labels;
}

class Search {
 public:
  Search(const Machine<Tropical<float>>& lexicon, const NearestOptions& options)
      : lexicon_(lexicon), options_(options) {}

  void run(std::span<const std::int32_t> word, std::vector<Answer>& answers) {
    word_ = word;
    answers_ = &answers;
    spelled_.clear();
    const int k = options_.max_edits;
    Row first;
    first.cells.fill(kFar);
    for (int j = 0; j <= std::min<int>(k, static_cast<int>(word.size())); ++j)
      first.cells[j + k] = static_cast<std::uint8_t>(j);
    Row none;
    none.cells.fill(kFar);
    if (lexicon_.start() >= 0) visit(lexicon_.start(), first, none, 0, 0.0f);
    std::ranges::sort(answers, before);
    if (answers.size() > options_.k) answers.resize(options_.k);
  }

 private:
  // cells[j - depth + max_edits]: edits between the spelled string and the first j letters of the word
  struct Row {
    std::array<std::uint8_t, 2 * kMostEdits + 2> cells;
  };

  void visit(std::int32_t state, const Row& row, const Row& above, int depth, float weight) {
    const int k = options_.max_edits, length = static_cast<int>(word_.size());
    const int end = length - depth + k;  // the cell of the whole word
    if (lexicon_.is_final(state) && end >= 0 && end <= 2 * k && row.cells[end] <= k)
      answer(row.cells[end], weight + lexicon_.final(state));
    const auto arcs = lexicon_.arcs(state);
    int least = kFar;
    for (int c = 0; c <= 2 * k; ++c) least = std::min<int>(least, row.cells[c]);
    if (least == k) {  // only letters that the word has next can follow; an exchange needs one more edit
      std::array<std::int32_t, 2 * kMostEdits + 1> waited{};
      int count = 0;
      for (int c = 0; c <= 2 * k; ++c) {
        const int j = depth - k + c;
        if (row.cells[c] == k && j >= 0 && j < length) waited[count++] = word_[j];
        // the second of two exchanged letters: its edit was counted in the row above
        if (options_.swaps && depth > 0 && j >= 1 && j < length && above.cells[c] < k && word_[j] == spelled_.back())
          waited[count++] = word_[j - 1];
      }
      std::sort(waited.begin(), waited.begin() + count);
      count = static_cast<int>(std::unique(waited.begin(), waited.begin() + count) - waited.begin());
      for (int i = 0; i < count; ++i) {
        const auto at = std::lower_bound(arcs.begin(), arcs.end(), waited[i],
                                         [](const FloatArc& arc, std::int32_t label) { return arc.ilabel < label; });
        if (at != arcs.end() && at->ilabel == waited[i]) follow(*at, row, above, depth, weight);
      }
      return;
    }
    for (const FloatArc& arc : arcs) follow(arc, row, above, depth, weight);
  }

  void follow(const FloatArc& arc, const Row& row, const Row& above, int depth, float weight) {
    const int k = options_.max_edits, length = static_cast<int>(word_.size());
    Row next;
    next.cells.fill(kFar);
    int least = kFar;
    // cell c of the next row is j = depth + 1 - k + c
    const int from = std::max(0, k - depth - 1), to = std::min(2 * k, length - depth - 1 + k);
    for (int c = from; c <= to; ++c) {
      const int j = depth + 1 - k + c;
      int best = row.cells[c + 1] + 1;  // a letter of the lexicon too many
      if (j > 0) {
        best = std::min(best, row.cells[c] + (word_[j - 1] == arc.ilabel ? 0 : 1));  // the same letter, or another
        if (c > from) best = std::min(best, next.cells[c - 1] + 1);                  // one too few
        if (options_.swaps && j > 1 && depth > 0 && word_[j - 2] == arc.ilabel && word_[j - 1] == spelled_.back())
          best = std::min(best, above.cells[c] + 1);
      }
      next.cells[c] = static_cast<std::uint8_t>(std::min<int>(best, kFar));
      least = std::min(least, best);
    }
    // with exchanges a row may recover through the one before
    if (least > k && !(options_.swaps && may_swap(row, depth, arc.ilabel))) return;
    spelled_.push_back(arc.ilabel);
    visit(arc.nextstate, next, row, depth + 1, weight + arc.weight);
    spelled_.pop_back();
  }

  // Could the letter be the first of two exchanged ones?
  bool may_swap(const Row& row, int depth, std::int32_t label) const {
    const int k = options_.max_edits, length = static_cast<int>(word_.size());
    for (int c = 0; c <= 2 * k; ++c) {
      const int j = depth - k + c;  // letters of the word read before
      if (row.cells[c] < k && j >= 0 && j + 1 < length && word_[j + 1] == label) return true;
    }
    return false;
  }

  void answer(int edits, float weight) {
    answers_->push_back({options_.edit_cost * static_cast<float>(edits) + weight, edits, spelled_});
    if (answers_->size() >= 4 * options_.k + 64) {
      std::ranges::nth_element(*answers_, answers_->begin() + static_cast<std::ptrdiff_t>(options_.k), before);
      answers_->resize(options_.k);
    }
  }

  const Machine<Tropical<float>>& lexicon_;
  const NearestOptions& options_;
  std::span<const std::int32_t> word_;
  std::vector<std::int32_t> spelled_;
  std::vector<Answer>* answers_ = nullptr;
};

}  // namespace

NearestAnswers nearest(const Machine<Tropical<float>>& lexicon, std::span<const std::int32_t> labels,
                       std::span<const std::int64_t> ends, const NearestOptions& options) {
  std::vector<std::vector<Answer>> all(ends.size());
  const std::size_t stretches = (ends.size() + kStretch - 1) / kStretch;
  base::parallel_for(stretches, options.threads, [&](std::size_t stretch) {
    Search search(lexicon, options);
    for (std::size_t i = stretch * kStretch; i < std::min(ends.size(), (stretch + 1) * kStretch); ++i) {
      const std::int64_t begin = i == 0 ? 0 : ends[i - 1];
      search.run(labels.subspan(begin, ends[i] - begin), all[i]);
    }
  });
  NearestAnswers out;
  for (const auto& answers : all) {
    out.counts.push_back(static_cast<std::int64_t>(answers.size()));
    for (const Answer& answer : answers) {
      out.labels.insert(out.labels.end(), answer.labels.begin(), answer.labels.end());
      out.ends.push_back(static_cast<std::int64_t>(out.labels.size()));
      out.edits.push_back(answer.edits);
      out.costs.push_back(answer.cost);
    }
  }
  return out;
}

}  // namespace textmill::fst
