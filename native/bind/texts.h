// Python's strings as the texts, tokens and words of native code, and back.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "corpus/counting.h"

namespace textmill::bind {

inline corpus::Text text_of(PyObject* object) {
  return {PyUnicode_DATA(object), static_cast<std::size_t>(PyUnicode_GET_LENGTH(object)),
          static_cast<int>(PyUnicode_KIND(object)), PyUnicode_IS_ASCII(object) != 0};
}

// Documents that outlive the release of the GIL: texts by references to their Python strings, tokens as copies. A token is
// a few bytes, and counting a reference to it up and down again touches its memory twice more.
class Held {
 public:
  // Each document is a str, or, with `tokens`, a list or tuple of str. `first` is the number of the first one. With
  // `whole`, tokens can be taken as the objects they are.
  Held(nb::list documents, bool tokens, std::size_t first, bool whole = false)
      : first_(first), whole_(whole || !tokens) {
    const std::size_t n = documents.size();
    begin_.reserve(n + 1);
    begin_.push_back(0);
    std::size_t total = 0;
    for (std::size_t d = 0; d < n; ++d) {
      PyObject* document = PyList_GET_ITEM(documents.ptr(), static_cast<Py_ssize_t>(d));
      total += tokens && (PyList_Check(document) || PyTuple_Check(document))
                   ? static_cast<std::size_t>(PySequence_Fast_GET_SIZE(document))
                   : 1;
    }
    if (whole_) owners_.reserve(total);
    texts_.reserve(total);
    for (std::size_t d = 0; d < n; ++d) {
      PyObject* document = PyList_GET_ITEM(documents.ptr(), static_cast<Py_ssize_t>(d));
      if (!tokens) {
        add(document, d, 0, "a document must be a str, not ");
      } else if (PyList_Check(document) || PyTuple_Check(document)) {
        const Py_ssize_t size = PySequence_Fast_GET_SIZE(document);
        for (Py_ssize_t t = 0; t < size; ++t) {
          if (t + kAhead < size) fetch(PySequence_Fast_GET_ITEM(document, t + kAhead));
          add(PySequence_Fast_GET_ITEM(document, t), d, static_cast<std::size_t>(t), "a token must be a str, not ");
        }
      } else {
        throw base::Fault(
            std::string("a document must be a list or tuple of tokens, not ") + Py_TYPE(document)->tp_name,
            {first + d, 0});
      }
      begin_.push_back(texts_.size());
    }
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      if (i + kAhead < owners_.size()) __builtin_prefetch(owners_[i + kAhead].ptr());
      owners_[i].reset();
    }
  }
  corpus::Documents view() const { return {texts_, begin_, first_}; }
  nb::object take(std::size_t number) { return std::move(owners_[number]); }  // a token of all documents, once

 private:
  static constexpr std::ptrdiff_t kAhead = 8;  // strings lie all over memory: several are waited for together
  static void fetch(PyObject* object) {
    __builtin_prefetch(object);
    __builtin_prefetch(reinterpret_cast<const char*>(object) + 64);  // where the characters of a short one lie
  }
  void add(PyObject* object, std::size_t document, std::size_t position, const char* fault) {
    if (!PyUnicode_Check(object)) refuse(object, document, position, fault);
    texts_.push_back(text_of(object));
    if (whole_)
      owners_.push_back(nb::borrow(object));
    else
      copy(texts_.back());
  }
  // Lets a text point to a copy of its characters.
  void copy(corpus::Text& text) {
    const std::size_t size = text.size * static_cast<std::size_t>(text.width);
    if (size == 0) {
      text.data = "";
      return;
    }
    if (size > room_) {
      room_ = std::max(size, kBlock);
      blocks_.push_back(std::make_unique_for_overwrite<char[]>(room_));
      free_ = blocks_.back().get();
    }
    std::memcpy(free_, text.data, size);
    text.data = free_;
    const std::size_t taken = std::min(room_, (size + 3) & ~std::size_t{3});  // the next may be of wide characters
    free_ += taken;
    room_ -= taken;
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(PyObject* object, std::size_t document, std::size_t position,
                                                     const char* fault) {
    throw base::Fault(fault + std::string(Py_TYPE(object)->tp_name), {first_ + document, position});
  }

  static constexpr std::size_t kBlock = std::size_t{1} << 16;  // bytes of copies that are made room for at once

  std::size_t first_;
  bool whole_;
  std::vector<nb::object> owners_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;  // of the last block
  std::size_t room_ = 0;
  std::vector<corpus::Text> texts_;
  std::vector<std::size_t> begin_;
};

inline bool given(const corpus::TokenRules& rules) { return std::holds_alternative<corpus::GivenTokens>(rules.cut); }

using Cut = std::optional<std::variant<corpus::WordRules, corpus::NgramRules>>;  // None: documents are token lists
using Rules = std::optional<std::variant<corpus::WordRules, corpus::NgramRules, corpus::TokenRules>>;

inline corpus::TokenRules token_rules(const Rules& rules) {
  if (!rules) return {corpus::GivenTokens{}};
  return std::visit(
      [](const auto& rule) {
        if constexpr (std::is_same_v<std::decay_t<decltype(rule)>, corpus::TokenRules>)
          return rule;
        else
          return corpus::TokenRules{rule};
      },
      *rules);
}

// The UTF-8 bytes of a str; they live as long as it does.
inline std::string_view utf8_of(nb::handle string, const char* what) {
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_Check(string.ptr()) ? PyUnicode_AsUTF8AndSize(string.ptr(), &size) : nullptr;
  if (utf8 == nullptr) {
    if (PyErr_Occurred()) throw nb::python_error();
    throw nb::type_error(what);
  }
  return {utf8, static_cast<std::size_t>(size)};
}

inline base::InternTable intern(nb::list strings) {
  base::InternTable table;
  for (const nb::handle string : strings) {
    const std::string_view bytes = utf8_of(string, "a word must be a str");
    table.insert(bytes, base::hash_bytes(bytes));
  }
  return table;
}

inline nb::str python_string(std::string_view utf8) {
  PyObject* made = PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "strict");
  if (made == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

// Where and why reading ended, None at the end of the text.
inline nb::object fault_to_python(const std::optional<base::Fault>& fault) {
  if (!fault) return nb::none();
  return nb::make_tuple(fault->place->record, fault->place->position, fault->what());
}

}  // namespace textmill::bind
