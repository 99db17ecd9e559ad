// Columns of sequences as Python gives them, for the extraction of tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "base/parallel.h"
#include "bind/arrays.h"
#include "sequence/extract.h"

namespace textmill::bind {

using base::Fault;  // at a sequence and a token

inline std::string_view utf8_of(PyObject* string, std::size_t sequence, std::size_t token) {
  if (!PyUnicode_Check(string))
    throw Fault(std::string("a value must be a str, not ") + Py_TYPE(string)->tp_name, {sequence, token});
  Py_ssize_t size;
  const char* bytes = PyUnicode_AsUTF8AndSize(string, &size);
  if (bytes == nullptr) {
    PyErr_Clear();
    throw Fault("a value holds a lone surrogate, which is no character; decode the text with errors='replace'",
                {sequence, token});
  }
  return {bytes, static_cast<std::size_t>(size)};
}

inline bool is_row(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

class Cells {
 public:
  explicit Cells(const std::vector<std::size_t>& columns) : cells_(columns), held_(columns.size()) {}

  // A sequence as rows: each a list or tuple of strings, or one string where there is one column. All are equally wide.
  void add_rows(nb::object rows) {
    const std::size_t s = cells_.sequences();
    if (!is_row(rows.ptr()))
      throw Fault(std::string("a sequence must be a list of rows, not ") + Py_TYPE(rows.ptr())->tp_name, {s, 0});
    const auto length = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(rows.ptr()));
    const std::span<const std::size_t> columns = cells_.columns();
    for (std::size_t t = 0; t < length; ++t) {
      PyObject* row = PySequence_Fast_GET_ITEM(rows.ptr(), static_cast<Py_ssize_t>(t));
      if (PyUnicode_Check(row)) {
        check_width(1, s, t);
        for (std::size_t slot = 0; slot < columns.size(); ++slot) hold(slot, row, s, t);
      } else if (is_row(row)) {
        check_width(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(row)), s, t);
        for (std::size_t slot = 0; slot < columns.size(); ++slot)
          hold(slot, PySequence_Fast_GET_ITEM(row, static_cast<Py_ssize_t>(columns[slot])), s, t);
      } else {
        throw Fault(std::string("a token must be a row of columns, not ") + Py_TYPE(row)->tp_name, {s, t});
      }
    }
    end_sequence(length);
  }

  // A sequence as columns, a tuple of tuples of strings.
  void add_columns(nb::tuple columns) {
    const std::size_t s = cells_.sequences(), width = columns.size();
    const std::size_t length = width == 0 ? 0 : static_cast<std::size_t>(nb::len(nb::object(columns[0])));
    if (length > 0) check_width(width, s, 0);
    for (std::size_t slot = 0; slot < cells_.columns().size() && length > 0; ++slot) {
      PyObject* column = PyTuple_GET_ITEM(columns.ptr(), static_cast<Py_ssize_t>(cells_.columns()[slot]));
      if (!is_row(column) || static_cast<std::size_t>(PySequence_Fast_GET_SIZE(column)) != length)
        throw Fault("the columns of a sequence must be equally long", {s, 0});
      for (std::size_t t = 0; t < length; ++t)
        hold(slot, PySequence_Fast_GET_ITEM(column, static_cast<Py_ssize_t>(t)), s, t);
    }
    end_sequence(length);
  }

  // Interns what was added; columns in parallel and without the GIL.
  void finish(std::size_t threads) {
    require(threads > 0, "threads must be at least 1");
    {
      nb::gil_scoped_release nogil;
      base::parallel_for(held_.size(), threads,
                         [&](std::size_t slot) { cells_.add_all(slot, held_[slot].values, held_[slot].places); });
    }
    for (Held& held : held_) held.clear();
    waiting_ = 0;
  }
  bool finished() const { return waiting_ == 0; }

  nb::list distinct(std::size_t slot) const {
    require(slot < cells_.columns().size() && finished(), "there is no column ", slot, ", or it is not finished");
    const base::InternTable& table = cells_.table(slot);
    nb::list values;
    for (std::size_t i = 0; i < table.size(); ++i) values.append(nb::str(table[i].data(), table[i].size()));
    return values;
  }

  // Number of a value of a column, -1 where it does not occur.
  std::int64_t find(std::size_t slot, std::string_view value) const {
    require(slot < cells_.columns().size() && finished(), "there is no column ", slot, ", or it is not finished");
    const std::uint32_t id = cells_.table(slot).find(value, base::hash_bytes(value));
    return id == base::InternTable::kNone ? -1 : static_cast<std::int64_t>(id);
  }

  std::size_t width() const { return width_; }
  Numpy<std::int64_t, 1> offsets() const {
    return to_numpy(std::vector<std::int64_t>(cells_.offsets().begin(), cells_.offsets().end()));
  }
  Numpy<std::int32_t, 1> ids(std::size_t slot) const {
    require(slot < cells_.columns().size() && finished(), "there is no column ", slot, ", or it is not finished");
    return to_numpy(std::vector<std::int32_t>(cells_.ids(slot).begin(), cells_.ids(slot).end()));
  }
  const sequence::Cells& cells() const { return cells_; }

 private:
  // Strings of a column that are not yet interned; the references keep their bytes. Readers give many tokens the same
  // object, so objects that were met lately are found by their address and held once.
  struct Held {
    std::vector<std::string_view> values;
    std::vector<nb::object> owners;     // [values]
    std::vector<std::uint32_t> places;  // [tokens] among the values
    std::vector<std::uint32_t> recent;  // [a power of two] by address: number of a value and 1, or 0

    std::uint32_t& recent_at(PyObject* object) {
      const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(object));
      return recent[((address >> 4) * 0x9E3779B97F4A7C15u >> 32) & (recent.size() - 1)];
    }
    void grow() {
      recent.assign(std::max(kLeastRecent, recent.size() * 4), 0);
      for (std::size_t v = 0; v < owners.size(); ++v) recent_at(owners[v].ptr()) = static_cast<std::uint32_t>(v + 1);
    }
    void clear() {
      values.clear();
      owners.clear();
      places.clear();
      recent.clear();
    }
  };

  void hold(std::size_t slot, PyObject* value, std::size_t s, std::size_t t) {
    Held& held = held_[slot];
    if (held.values.size() * 2 >= held.recent.size() && held.recent.size() < kMostRecent) held.grow();
    std::uint32_t& recent = held.recent_at(value);
    if (recent == 0 || held.owners[recent - 1].ptr() != value) {
      held.values.push_back(utf8_of(value, s, t));
      held.owners.push_back(nb::borrow(value));
      recent = static_cast<std::uint32_t>(held.values.size());
    }
    held.places.push_back(recent - 1);
  }

  void end_sequence(std::size_t length) {
    cells_.end_sequence(length);
    waiting_ += length * held_.size();
    if (waiting_ >= kMostHeld) finish(held_.size());
  }

  void check_width(std::size_t width, std::size_t s, std::size_t t) {
    if (width == width_) return;
    if (width_ != 0) {
      throw Fault("found " + std::to_string(width) + " columns, expected " + std::to_string(width_) +
                      " as in the tokens before; give every token the same columns",
                  {s, t});
    }
    for (const std::size_t column : cells_.columns()) {
      if (column >= width)
        throw Fault("there is no column " + std::to_string(column) + ", only " + std::to_string(width), {s, t});
    }
    width_ = width;
  }

  static constexpr std::size_t kMostHeld = std::size_t{1} << 22;
  static constexpr std::size_t kLeastRecent = 256, kMostRecent = std::size_t{1} << 16;

  sequence::Cells cells_;
  std::vector<Held> held_;   // [column]
  std::size_t waiting_ = 0;  // cells that are not yet interned
  std::size_t width_ = 0;    // 0: the first token decides
};

}  // namespace textmill::bind
