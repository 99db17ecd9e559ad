// What patterns see of the columns of sequences: a column as it is, or through a function.
#pragma once

#include <nanobind/stl/string.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/intern.h"
#include "bind/arrays.h"
#include "bind/cells.h"

namespace textmill::bind {

// What a function of strings gives, asked of Python once per string. Safe for several threads: the GIL is given away
// only inside of the function, and nothing is held of the tables while it runs.
class FunctionMemo {
 public:
  FunctionMemo(nb::callable function, std::vector<std::string> boundaries, std::size_t most)
      : function_(std::move(function)), boundaries_(std::move(boundaries)), most_(most) {}

  std::size_t boundaries() const { return boundaries_.size(); }

  // Appends the values for all strings of a table, and for the boundaries, to the arena; their ends to `ends`.
  void append(const base::InternTable& table, std::string& arena, std::vector<std::size_t>& ends) {
    if (met_.size() > most_) {
      met_.clear();
      values_.clear();
      value_of_.clear();
    }
    for (std::size_t i = 0; i < table.size(); ++i) append(table[i], table.hash(i), arena, ends);
    for (const std::string& one : boundaries_) append(one, base::hash_bytes(one), arena, ends);
  }

 private:
  void append(std::string_view key, std::uint64_t hash, std::string& arena, std::vector<std::size_t>& ends) {
    std::uint32_t id = met_.find(key, hash);
    if (id == base::InternTable::kNone) {
      const nb::object made = function_(nb::str(key.data(), key.size()));
      const std::string_view value = utf8_of(made.ptr(), 0, 0);
      id = met_.insert(key, hash);
      if (id == value_of_.size()) value_of_.push_back(values_.insert(value, base::hash_bytes(value)));
    }
    arena.append(values_[value_of_[id]]);
    ends.push_back(arena.size());
  }

  nb::callable function_;
  std::vector<std::string> boundaries_;
  std::size_t most_;  // strings that are remembered before all are forgotten
  base::InternTable met_, values_;
  std::vector<std::uint32_t> value_of_;  // [strings met]
};

// Slot of the column, and what is seen of it: a `FunctionMemo`; a list of strings for its distinct values and then the
// boundaries; or, with the last field true, a list of the boundaries only: then the values stand for themselves.
using PySource = std::tuple<std::size_t, nb::object, bool>;

// Sources as the native core takes them; their strings are kept in `arenas`.
inline std::vector<sequence::Source> made_sources(const Cells& cells, const std::vector<PySource>& sources,
                                                  std::size_t boundaries, std::vector<std::string>& arenas) {
  std::vector<sequence::Source> made;
  arenas.resize(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto& [slot, seen, only_boundaries] = sources[i];
    require(slot < cells.cells().columns().size(), "there is no column ", slot);
    const base::InternTable& table = cells.cells().table(slot);
    sequence::Source source{slot, {}, {}, 0};
    source.pieces.reserve(table.size() + boundaries);
    if (only_boundaries)
      for (std::size_t v = 0; v < table.size(); ++v) source.pieces.push_back(table[v]);
    std::vector<std::size_t> ends;
    ends.reserve(table.size() + boundaries);
    if (nb::isinstance<FunctionMemo>(seen)) {
      auto& memo = nb::cast<FunctionMemo&>(seen);
      require(memo.boundaries() == boundaries && !only_boundaries, "source ", i, " must have ", boundaries,
              " boundaries, got ", memo.boundaries());
      memo.append(table, arenas[i], ends);
    } else {
      const auto strings = nb::cast<nb::list>(seen);
      const std::size_t expected = boundaries + (only_boundaries ? 0 : table.size());
      require(strings.size() == expected, "source ", i, " must have ", expected, " strings, got ", strings.size());
      for (const nb::handle string : strings) {
        arenas[i].append(utf8_of(string.ptr(), 0, 0));
        ends.push_back(arenas[i].size());
      }
    }
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      source.pieces.push_back(std::string_view(arenas[i]).substr(begin, end - begin));
      begin = end;
    }
    source.size = source.pieces.size();
    if (!only_boundaries) {  // functions give few strings
      base::InternTable distinct;
      source.codes.reserve(source.pieces.size());
      for (const std::string_view piece : source.pieces)
        source.codes.push_back(distinct.insert(piece, base::hash_bytes(piece)));
      source.size = distinct.size();
    }
    made.push_back(std::move(source));
  }
  return made;
}

}  // namespace textmill::bind
