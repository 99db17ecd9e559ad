#include "corpus/bagfiles.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <tuple>
#include <utility>

namespace textmill::corpus {
namespace {

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// A position in a block of lines, with what is needed to read numbers and to say where one was wrong.
class Scanner {
 public:
  explicit Scanner(std::string_view block)
      : at_(block.data()), begin_(block.data()), end_(block.data() + block.size()) {
    start_ = at_;
  }

  bool done() const { return at_ == end_; }
  bool at_line_end() const { return at_ == end_ || *at_ == '\n'; }
  char peek() const { return at_ == end_ ? '\n' : *at_; }
  void skip() { ++at_; }
  void skip_blanks() {
    while (at_ != end_ && blank(*at_)) ++at_;
  }
  void skip_line() {
    while (!at_line_end()) ++at_;
  }
  void next_line() {
    if (at_ != end_) ++at_;
    ++line_;
    start_ = at_;
  }
  std::int64_t line_begin() const { return start_ - begin_; }

  // A whole number; false if there is none here.
  bool read(std::int64_t& number) {
    if (at_ != end_ && *at_ == '+') ++at_;
    const auto [stop, error] = std::from_chars(at_, end_, number);
    if (error != std::errc()) return false;
    at_ = stop;
    return true;
  }
  bool read(double& number) {
    // most values are small whole numbers: read those by hand
    const char* p = at_;
    std::int64_t whole = 0;
    while (p != end_ && *p >= '0' && *p <= '9' && p - at_ < 15) whole = whole * 10 + (*p++ - '0');
    if (p != at_ && (p == end_ || *p == '\n' || blank(*p))) {
      number = static_cast<double>(whole);
      at_ = p;
      return true;
    }
    if (at_ != end_ && *at_ == '+') ++at_;
    const auto [stop, error] = std::from_chars(at_, end_, number);
    if (error == std::errc::result_out_of_range) {  // keep its sign and size: huge or tiny, as strtod would
      number = std::strtod(std::string(at_, stop).c_str(), nullptr);
    } else if (error != std::errc()) {
      return false;
    }
    at_ = stop;
    return true;
  }

  base::Fault fault(const std::string& message) const {
    return {message, {line_, static_cast<std::size_t>(at_ - start_)}};
  }

 private:
  const char* at_;
  const char* begin_;
  const char* end_;
  const char* start_;  // of the line
  std::size_t line_ = 0;
};

// Calls read(scan, begin) at the first field of every line that holds some, `begin` being the byte where the line starts;
// lines that begin with `comment` are passed over. What it returns is the message of a fault, which ends the reading.
template <class Read>
std::optional<base::Fault> each_line(std::string_view block, std::optional<char> comment, Read read) {
  for (Scanner scan(block); !scan.done(); scan.next_line()) {
    const std::int64_t begin = scan.line_begin();
    scan.skip_blanks();
    if (scan.at_line_end()) continue;
    if (comment && scan.peek() == *comment) {
      scan.skip_line();
      continue;
    }
    if (const std::string wrong = read(scan, begin); !wrong.empty()) return scan.fault(wrong);
  }
  return {};
}

// Reads "column" and checks it; the message is empty if all is well.
std::string read_column(Scanner& scan, const ParseLimits& limits, std::int32_t& column) {
  std::int64_t number;
  if (!scan.read(number)) return "a column number is missing or no whole number";
  number -= limits.base;
  if (number == -1 && limits.base == 1)
    return "column 0, but columns count from 1 here; add 1 to each, or pass first_column=0 for svmlight";
  if (number < 0 || number >= limits.columns)
    return "column " + std::to_string(number + limits.base) + " is outside " + std::to_string(limits.base) + " to " +
           std::to_string(limits.columns - 1 + limits.base);
  column = static_cast<std::int32_t>(number);
  return {};
}

std::string read_value(Scanner& scan, const ParseLimits& limits, double& value) {
  if (!scan.read(value)) return "a value is missing or no number";
  if (!std::isfinite(value)) return "a value is not finite; remove it or set it to 0";
  if (value < 0 && !limits.negative) return "a count is negative; pass negative=True if these are no counts";
  return {};
}

void sort_last_row(Pairs& pairs, std::vector<std::pair<std::int32_t, double>>& scratch) {
  const auto begin = static_cast<std::size_t>(pairs.offsets.back());
  if (std::is_sorted(pairs.column.begin() + static_cast<std::ptrdiff_t>(begin), pairs.column.end())) return;
  scratch.clear();
  for (std::size_t i = begin; i < pairs.column.size(); ++i) scratch.emplace_back(pairs.column[i], pairs.value[i]);
  std::sort(scratch.begin(), scratch.end());
  for (std::size_t i = begin; i < pairs.column.size(); ++i)
    std::tie(pairs.column[i], pairs.value[i]) = scratch[i - begin];
}

// Reads "column:value" pairs to the end of the line or a comment; returns the message of a fault.
std::string read_pairs(Scanner& scan, const ParseLimits& limits, bool comments, Pairs& pairs) {
  for (scan.skip_blanks(); !scan.at_line_end(); scan.skip_blanks()) {
    if (comments && scan.peek() == '#') {
      scan.skip_line();
      break;
    }
    std::int32_t column;
    double value;
    if (std::string wrong = read_column(scan, limits, column); !wrong.empty()) return wrong;
    if (scan.peek() != ':') return "':' is missing between a column and its value";
    scan.skip();
    if (std::string wrong = read_value(scan, limits, value); !wrong.empty()) return wrong;
    if (!scan.at_line_end() && !blank(scan.peek())) return "a value is followed by something else than a blank";
    pairs.column.push_back(column);
    pairs.value.push_back(value);
  }
  return {};
}

std::string end_row(Pairs& pairs, std::vector<std::pair<std::int32_t, double>>& scratch) {
  sort_last_row(pairs, scratch);
  const auto begin = pairs.column.begin() + pairs.offsets.back();
  if (const auto twice = std::adjacent_find(begin, pairs.column.end()); twice != pairs.column.end())
    return "a column occurs twice in one document";
  pairs.offsets.push_back(static_cast<std::int64_t>(pairs.column.size()));
  return {};
}

void append_number(std::string& out, double value) {
  char digits[32];
  const auto whole = static_cast<std::int64_t>(std::abs(value) < 1e15 ? value : 0);
  const auto end = static_cast<double>(whole) == value && (value != 0 || !std::signbit(value))
                       ? std::to_chars(digits, digits + sizeof digits, whole).ptr
                       : std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

void append_number(std::string& out, std::int64_t value) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

Triples parse_triples(std::string_view block, const ParseLimits& limits, std::int64_t previous) {
  Triples out;
  const std::size_t guess = block.size() / 10;
  out.row.reserve(guess);
  out.column.reserve(guess);
  out.value.reserve(guess);
  out.begin.reserve(guess);
  out.fault = each_line(block, '%', [&](Scanner& scan, std::int64_t begin) -> std::string {
    std::int64_t row;
    std::int32_t column;
    double value;
    if (!scan.read(row)) return "a document number is missing or no whole number";
    row -= limits.base;
    if (row < 0 || row >= limits.rows)
      return base::message("document ", row + limits.base, " is outside the ", limits.rows, " of the header");
    if (row < previous)
      return base::message("document ", row + limits.base, " comes after document ", previous + limits.base,
                           "; sort the lines by document");
    scan.skip_blanks();
    if (std::string wrong = read_column(scan, limits, column); !wrong.empty()) return wrong;
    scan.skip_blanks();
    if (std::string wrong = read_value(scan, limits, value); !wrong.empty()) return wrong;
    scan.skip_blanks();
    if (!scan.at_line_end()) return "a line must hold three numbers, and there is more";
    previous = row;
    out.row.push_back(row);
    out.column.push_back(column);
    out.value.push_back(value);
    out.begin.push_back(begin);
    return {};
  });
  return out;
}

Pairs parse_svmlight(std::string_view block, const ParseLimits& limits) {
  Pairs out;
  std::vector<std::pair<std::int32_t, double>> scratch;
  out.fault = each_line(block, '#', [&](Scanner& scan, std::int64_t begin) -> std::string {
    double label;
    if (!scan.read(label)) return "a line must begin with a label, a number";
    if (!std::isfinite(label)) return "a label is not finite";
    if (scan.peek() == ',')
      return "a line with several labels; keep one of them, or write a file for each, with 1 where a line has it and "
             "else 0";
    if (!scan.at_line_end() && !blank(scan.peek())) return "a label is followed by something else than a blank";
    scan.skip_blanks();
    if (scan.peek() == 'q') {  // qid:n says which query a line belongs to, for ranking: left out
      while (!scan.at_line_end() && !blank(scan.peek())) scan.skip();
    }
    if (std::string wrong = read_pairs(scan, limits, true, out); !wrong.empty()) return wrong;
    if (std::string wrong = end_row(out, scratch); !wrong.empty()) return wrong;
    out.label.push_back(label);
    out.begin.push_back(begin);
    return {};
  });
  return out;
}

Pairs parse_ldac(std::string_view block, const ParseLimits& limits) {
  Pairs out;
  std::vector<std::pair<std::int32_t, double>> scratch;
  out.fault = each_line(block, {}, [&](Scanner& scan, std::int64_t begin) -> std::string {
    std::int64_t announced;
    if (!scan.read(announced) || !(scan.at_line_end() || blank(scan.peek())))
      return "a line must begin with the number of its terms";
    if (std::string wrong = read_pairs(scan, limits, false, out); !wrong.empty()) return wrong;
    const auto terms = static_cast<std::int64_t>(out.column.size()) - out.offsets.back();
    if (terms != announced) return base::message("the line announces ", announced, " terms but holds ", terms);
    if (std::string wrong = end_row(out, scratch); !wrong.empty()) return wrong;
    out.begin.push_back(begin);
    return {};
  });
  return out;
}

std::string format_triples(const Rows& rows, std::int64_t base, std::int64_t first_row) {
  std::string out;
  for (std::size_t r = 0; r < rows.rows; ++r) {
    for (auto e = rows.offsets[r]; e < rows.offsets[r + 1]; ++e) {
      append_number(out, first_row + static_cast<std::int64_t>(r) + base);
      out += ' ';
      append_number(out, rows.column[e] + base);
      out += ' ';
      append_number(out, rows.value[e]);
      out += '\n';
    }
  }
  return out;
}

std::string format_svmlight(const Rows& rows, std::int64_t base, const double* label) {
  std::string out;
  for (std::size_t r = 0; r < rows.rows; ++r) {
    append_number(out, label[r]);
    for (auto e = rows.offsets[r]; e < rows.offsets[r + 1]; ++e) {
      out += ' ';
      append_number(out, rows.column[e] + base);
      out += ':';
      append_number(out, rows.value[e]);
    }
    out += '\n';
  }
  return out;
}

std::string format_ldac(const Rows& rows) {
  std::string out;
  for (std::size_t r = 0; r < rows.rows; ++r) {
    append_number(out, rows.offsets[r + 1] - rows.offsets[r]);
    for (auto e = rows.offsets[r]; e < rows.offsets[r + 1]; ++e) {
      out += ' ';
      append_number(out, static_cast<std::int64_t>(rows.column[e]));
      out += ':';
      append_number(out, rows.value[e]);
    }
    out += '\n';
  }
  return out;
}

}  // namespace textmill::corpus
