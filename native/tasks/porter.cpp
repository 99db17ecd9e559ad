#include "tasks/porter.h"

#include <array>
#include <cstddef>
#include <utility>

namespace textmill::tasks {
namespace {

// A word that is cut from its end; the names of the tests are those of the program.
class Word {
 public:
  explicit Word(std::string_view text) : text_(text) {}

  std::string stem() {
    step_1ab();
    if (text_.size() < 2) return std::move(text_);
    step_1c();
    step_2();
    step_3();
    step_4();
    step_5();
    return std::move(text_);
  }

 private:
  using Rule = std::pair<std::string_view, std::string_view>;

  bool consonant(std::size_t i) const {
    switch (text_[i]) {
      case 'a':
      case 'e':
      case 'i':
      case 'o':
      case 'u': return false;
      case 'y': return i == 0 || !consonant(i - 1);
      default: return true;
    }
  }

  // Number of runs of vowels with consonants behind them in the first `size` letters.
  int measure(std::size_t size) const {
    int runs = 0;
    bool vowel = false;
    for (std::size_t i = 0; i < size; ++i) {
      const bool now = !consonant(i);
      runs += vowel && !now;
      vowel = now;
    }
    return runs;
  }

  bool has_vowel(std::size_t size) const {
    for (std::size_t i = 0; i < size; ++i)
      if (!consonant(i)) return true;
    return false;
  }

  bool doubled(std::size_t size) const {
    return size >= 2 && text_[size - 1] == text_[size - 2] && consonant(size - 1);
  }

  // Consonant, vowel, consonant at the end, the last not w, x or y.
  bool short_end(std::size_t size) const {
    if (size < 3 || !consonant(size - 1) || consonant(size - 2) || !consonant(size - 3)) return false;
    const char last = text_[size - 1];
    return last != 'w' && last != 'x' && last != 'y';
  }

  bool ends(std::string_view ending) const { return text_.ends_with(ending); }

  void replace(std::size_t cut, std::string_view ending) {
    text_.resize(text_.size() - cut);
    text_ += ending;
  }

  void step_1ab() {
    if (text_.back() == 's') {
      if (ends("sses") || ends("ies"))
        replace(2, "");
      else if (text_.size() >= 2 && text_[text_.size() - 2] != 's')
        replace(1, "");
    }
    if (ends("eed")) {
      if (measure(text_.size() - 3) > 0) replace(1, "");
      return;
    }
    const std::size_t cut = ends("ed") ? 2 : ends("ing") ? 3 : 0;
    if (cut == 0 || !has_vowel(text_.size() - cut)) return;
    replace(cut, "");
    if (text_.ends_with("at") || text_.ends_with("bl") || text_.ends_with("iz")) {
      text_ += 'e';
    } else if (doubled(text_.size())) {
      const char last = text_.back();
      if (last != 'l' && last != 's' && last != 'z') text_.pop_back();
    } else if (measure(text_.size()) == 1 && short_end(text_.size())) {
      text_ += 'e';
    }
  }

  void step_1c() {
    if (ends("y") && has_vowel(text_.size() - 1)) text_.back() = 'i';
  }

  // The first ending that fits decides, whether or not it is replaced.
  template <std::size_t N>
  void apply(const std::array<Rule, N>& rules) {
    for (const auto& [ending, form] : rules)
      if (ends(ending)) {
        if (measure(text_.size() - ending.size()) > 0) replace(ending.size(), form);
        return;
      }
  }

  void step_2() {
    static constexpr std::array<Rule, 21> rules{{
        {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
        {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"}, {"eli", "e"},     {"ousli", "ous"},
        {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},  {"alism", "al"},  {"iveness", "ive"},
        {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},  {"iviti", "ive"}, {"biliti", "ble"},
        {"logi", "log"},
    }};
    apply(rules);
  }

  void step_3() {
    static constexpr std::array<Rule, 7> rules{
        {{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""}}};
    apply(rules);
  }

  void step_4() {
    static constexpr std::array<std::string_view, 19> endings{"al",  "ance",  "ence", "er",  "ic",  "able", "ible",
                                                              "ant", "ement", "ment", "ent", "ion", "ou",   "ism",
                                                              "ate", "iti",   "ous",  "ive", "ize"};
    for (const std::string_view ending : endings)
      if (ends(ending)) {
        const std::size_t left = text_.size() - ending.size();
        if (ending == "ion" && left > 0 && text_[left - 1] != 's' && text_[left - 1] != 't') return;
        if (measure(left) > 1) text_.resize(left);
        return;
      }
  }

  void step_5() {
    if (text_.back() == 'e') {
      const std::size_t left = text_.size() - 1;
      const int runs = measure(left);
      if (runs > 1 || (runs == 1 && !short_end(left))) text_.pop_back();
    }
    if (text_.back() == 'l' && doubled(text_.size()) && measure(text_.size()) > 1) text_.pop_back();
  }

  std::string text_;
};

}  // namespace

std::string porter_stem(std::string_view word) { return word.size() <= 2 ? std::string(word) : Word(word).stem(); }

std::string porter_stem_runs(std::string_view word) {
  std::string out;
  for (std::size_t i = 0; i < word.size();) {
    std::size_t end = i;
    while (end < word.size() && word[end] >= 'a' && word[end] <= 'z') ++end;
    if (end > i)
      out += porter_stem(word.substr(i, end - i));
    else
      out += word[end++];
    i = end;
  }
  return out;
}

}  // namespace textmill::tasks
