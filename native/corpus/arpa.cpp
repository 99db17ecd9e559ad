#include "corpus/arpa.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

namespace textmill::corpus {
namespace {

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// The next word of a line, empty at its end.
std::string_view next_word(std::string_view line, std::size_t& at) {
  while (at < line.size() && blank(line[at])) ++at;
  const std::size_t begin = at;
  while (at < line.size() && !blank(line[at])) ++at;
  return line.substr(begin, at - begin);
}

bool read_number(std::string_view text, double& number) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size() && !std::isnan(number) &&
         number != std::numeric_limits<double>::infinity();
}

constexpr std::size_t kLongestNumber = 32;

// Writes a number so that it is read back exactly; returns its end.
char* write_number(char* at, double value) { return std::to_chars(at, at + kLongestNumber, value).ptr; }

}  // namespace

NgramLines parse_ngrams(std::string_view block, std::size_t order, TermTable& words) {
  NgramLines out;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < block.size(); ++number) {
    const std::size_t end = std::min(block.find('\n', begin), block.size());
    const std::string_view line = block.substr(begin, end - begin);
    begin = end + 1;
    std::size_t at = 0;
    const std::string_view first = next_word(line, at);
    if (first.empty()) continue;
    const auto stop = [&](const auto&... parts) {
      out.fault.emplace(base::message(parts...), base::Place{number, at});
      return std::move(out);
    };
    double probability, back_off = 0.0;
    if (!read_number(first, probability)) return stop("'", first, "' is no log probability");
    if (probability > 0) return stop("a log probability above 0; ARPA files hold log10 of probabilities");
    for (std::size_t k = 0; k < order; ++k) {
      const std::string_view word = next_word(line, at);
      if (word.empty()) return stop("the line holds ", k, " words, not ", order);
      std::int32_t id = words.find(word);
      if (order == 1) {
        if (id >= 0) return stop("the word '", word, "' occurs twice");
        id = words.insert(word);
      } else if (id < 0) {
        return stop("the word '", word, "' is not among the 1-grams");
      }
      out.words.push_back(id);
    }
    if (const std::string_view rest = next_word(line, at); !rest.empty()) {
      if (!read_number(rest, back_off)) return stop("'", rest, "' is no back-off weight");
      if (!next_word(line, at).empty()) return stop("the line goes on behind its back-off weight");
    }
    out.log_probability.push_back(probability);
    out.back_off.push_back(back_off);
  }
  return out;
}

std::string format_ngrams(std::span<const std::int32_t> words, std::span<const double> log_probability,
                          std::span<const double> back_off, bool last, const TermTable& table) {
  const std::size_t lines = log_probability.size();
  const std::size_t order = lines == 0 ? 0 : words.size() / lines;
  std::string out(lines * (2 * kLongestNumber + 8 * order), '\0');
  std::size_t used = 0;
  std::vector<std::string_view> names(order);
  for (std::size_t i = 0; i < lines; ++i) {
    std::size_t room = 2 * kLongestNumber + order + 2;
    for (std::size_t k = 0; k < order; ++k) {
      names[k] = table[static_cast<std::size_t>(words[i * order + k])];
      room += names[k].size();
    }
    if (used + room > out.size()) out.resize(2 * (used + room));
    char* at = write_number(out.data() + used, log_probability[i]);
    for (std::size_t k = 0; k < order; ++k) {
      *at++ = k == 0 ? '\t' : ' ';
      at = std::copy(names[k].begin(), names[k].end(), at);
    }
    if (!last) {
      *at++ = '\t';
      at = write_number(at, back_off[i]);
    }
    *at++ = '\n';
    used = static_cast<std::size_t>(at - out.data());
  }
  out.resize(used);
  return out;
}

}  // namespace textmill::corpus
