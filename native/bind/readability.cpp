#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <utility>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "tasks/entity_chains.h"
#include "tasks/readability.h"
#include "tasks/word_measures.h"

namespace textmill::bind {
namespace {

using Offsets = In<std::int64_t, 1>;
using Ids = In<std::int32_t, 1>;
using Flags = In<std::uint8_t, 1>;

constexpr std::size_t kMost = std::size_t{1} << 31;

std::string_view utf8_of(nb::handle string) {
  Py_ssize_t size = 0;
  require(PyUnicode_Check(string.ptr()), "a word must be a str");
  const char* utf8 = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
  if (utf8 == nullptr) throw nb::python_error();
  return {utf8, static_cast<std::size_t>(size)};
}

base::InternTable interned(nb::list strings) {
  base::InternTable table;
  for (const nb::handle string : strings) {
    const std::string_view bytes = utf8_of(string);
    require(!bytes.empty(), "a word must not be empty");
    table.insert(bytes, base::hash_bytes(bytes));
  }
  require(table.size() == strings.size(), "words must be different");
  return table;
}

std::vector<std::int32_t> values_of(const Ids& values, std::size_t size) {
  require(values.size() == size, "there must be a value for each of ", size, " words");
  return {values.data(), values.data() + values.size()};
}

void check_inside(std::span<const std::int32_t> values, std::size_t least, std::size_t end, const char* what) {
  bool inside = true;
  for (const std::int32_t v : values)
    inside &= v >= -static_cast<std::int32_t>(least) && (v < 0 || static_cast<std::size_t>(v) < end);
  require(inside, what, " must lie below ", end);
}

class Meter {
 public:
  Meter(std::string vowels, nb::list patterns, Ids values, nb::list exceptions, Ids counts, nb::list familiar,
        std::vector<std::pair<std::string, std::string>> endings)
      : meter_(points(vowels), interned(patterns), values_of(values, patterns.size()), interned(exceptions),
               values_of(counts, exceptions.size()), interned(familiar), pairs(endings)) {}

  // A row of TextCounts for each text; abbreviations are folded.
  Numpy<std::int64_t, 1> count(nb::list texts, const std::vector<std::string>& abbreviations,
                               std::size_t threads) const {
    std::vector<std::u32string> known;
    for (const std::string& abbreviation : abbreviations) known.push_back(points(abbreviation));
    std::sort(known.begin(), known.end());
    std::vector<corpus::Text> views;
    std::vector<nb::object> owners;
    for (const nb::handle text : texts) {
      require(PyUnicode_Check(text.ptr()), "a text must be a str, not ", Py_TYPE(text.ptr())->tp_name);
      owners.push_back(nb::borrow(text));
      views.push_back({PyUnicode_DATA(text.ptr()), static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr())),
                       static_cast<int>(PyUnicode_KIND(text.ptr())), PyUnicode_IS_ASCII(text.ptr()) != 0});
    }
    std::vector<tasks::TextCounts> counts(views.size());
    std::vector<std::int64_t> flat;
    {
      nb::gil_scoped_release nogil;
      tasks::count_texts(meter_, views, known, counts, threads);
      flat.reserve(counts.size() * tasks::kTextCounts);
      for (const tasks::TextCounts& c : counts)
        flat.insert(flat.end(), {c.words, c.sentences, c.syllables, c.polysyllables, c.letters, c.difficult,
                                 c.difficult_types, c.long_words});
    }
    return to_numpy(std::move(flat));
  }

  // Syllables, letters, whether each is a word, whether it is familiar; words are folded.
  nb::tuple facts(nb::list words) const {
    std::vector<std::int32_t> syllables, letters;
    std::vector<std::uint8_t> is_word, familiar;
    for (const nb::handle word : words) {
      const tasks::WordFacts facts = meter_.facts(utf8_of(word));
      syllables.push_back(facts.syllables);
      letters.push_back(facts.letters);
      is_word.push_back(facts.word);
      familiar.push_back(facts.familiar);
    }
    return nb::make_tuple(to_numpy(std::move(syllables)), to_numpy(std::move(letters)), to_numpy(std::move(is_word)),
                          to_numpy(std::move(familiar)));
  }

  Numpy<std::int32_t, 1> vowel_groups(nb::list words) const {
    std::vector<std::int32_t> groups;
    for (const nb::handle word : words) groups.push_back(meter_.vowel_groups(utf8_of(word)));
    return to_numpy(std::move(groups));
  }

 private:
  static std::u32string points(const std::string& utf8) {
    nb::object text = nb::steal(PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "strict"));
    if (!text.is_valid()) throw nb::python_error();
    std::u32string points;
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text.ptr()); ++i)
      points.push_back(static_cast<char32_t>(PyUnicode_READ_CHAR(text.ptr(), i)));
    return points;
  }
  static std::vector<tasks::WordMeter::Ending> pairs(const std::vector<std::pair<std::string, std::string>>& endings) {
    std::vector<tasks::WordMeter::Ending> made;
    for (const auto& [suffix, replacement] : endings) {
      require(!suffix.empty(), "an ending must not be empty");
      made.push_back({suffix, replacement});
    }
    return made;
  }

  tasks::WordMeter meter_;
};

tasks::Layout checked(const Offsets& documents, const Offsets& sentences, std::size_t tokens) {
  check_offsets(view(sentences), tokens, "sentences");
  check_offsets(view(documents), sentences.size() - 1, "documents");
  return {view(documents), view(sentences)};
}

void tally(Offsets documents, Offsets sentences, Ids type, std::size_t types, In<std::uint32_t, 1> mask,
           Out<std::int64_t, 3> out, std::size_t threads) {
  const tasks::Layout layout = checked(documents, sentences, type.size());
  check_inside(view(type), 0, types, "types");
  require(mask.size() == type.size(), "there must be a mask for each token");
  const std::size_t classes = out.shape(1);
  require(classes >= 1 && classes <= 32 && out.shape(0) == layout.size() && out.shape(2) == 3,
          "out must be documents x 1 to 32 classes x 3");
  nb::gil_scoped_release nogil;
  tasks::tally(layout, view(type), types, view(mask), classes, view(out), threads);
}

void grid(Offsets offsets, Ids entity, Ids sentence, Ids role, Ids sentences, std::int32_t salience, Out<double, 2> out,
          std::size_t threads) {
  check_offsets(view(offsets), entity.size(), "documents");
  require(sentence.size() == entity.size() && role.size() == entity.size(), "mentions must be equally many");
  require(sentences.size() == offsets.size() - 1 && out.shape(0) == sentences.size() && out.shape(1) == 16,
          "out must be documents x 16");
  check_inside(view(entity), 0, entity.size(), "entities");
  check_inside(view(role), 0, 3, "roles");
  for (std::size_t d = 0; d < sentences.size(); ++d) {
    require(sentences.data()[d] >= 0, "numbers of sentences must be at least 0");
    const auto from = static_cast<std::size_t>(offsets.data()[d]), to = static_cast<std::size_t>(offsets.data()[d + 1]);
    check_inside(view(sentence).subspan(from, to - from), 0, static_cast<std::size_t>(sentences.data()[d]),
                 "sentences");
  }
  nb::gil_scoped_release nogil;
  tasks::grid({view(offsets), view(entity), view(sentence), view(role)}, view(sentences), salience, view(out), threads);
}

void chain_figures(Offsets offsets, Ids chain, Ids position, Flags pronoun, Ids words, Offsets mark_offsets, Ids marks,
                   Out<double, 2> out, std::size_t threads) {
  check_offsets(view(offsets), chain.size(), "members");
  check_offsets(view(mark_offsets), marks.size(), "marks");
  require(position.size() == chain.size() && pronoun.size() == chain.size(), "members must be equally many");
  require(words.size() == offsets.size() - 1 && mark_offsets.size() == offsets.size() && out.shape(0) == words.size() &&
              out.shape(1) == tasks::kChainFigures,
          "out must be documents x ", tasks::kChainFigures);
  for (std::size_t d = 0; d < words.size(); ++d) {
    const auto size = static_cast<std::size_t>(std::max(words.data()[d], 0));
    const auto from = static_cast<std::size_t>(offsets.data()[d]), to = static_cast<std::size_t>(offsets.data()[d + 1]);
    check_inside(view(position).subspan(from, to - from), 0, size, "positions");
    check_inside(view(chain).subspan(from, to - from), 1, chain.size(), "chains");
    const auto first = static_cast<std::size_t>(mark_offsets.data()[d]);
    check_inside(view(marks).subspan(first, static_cast<std::size_t>(mark_offsets.data()[d + 1]) - first), 0, size,
                 "marks");
  }
  nb::gil_scoped_release nogil;
  tasks::chain_figures({view(offsets), view(chain), view(position), view(pronoun)}, view(words), view(mark_offsets),
                       view(marks), view(out), threads);
}

void lexical_chains(Offsets offsets, Ids noun, Ids sentence, Ids paragraph, Offsets noun_offsets, Ids senses,
                    Offsets above_offsets, Ids above, Out<std::int32_t, 1> chain, std::size_t threads) {
  check_offsets(view(offsets), noun.size(), "documents");
  check_offsets(view(noun_offsets), senses.size(), "nouns");
  check_offsets(view(above_offsets), above.size(), "senses");
  require(sentence.size() == noun.size() && paragraph.size() == noun.size() && chain.size() == noun.size(),
          "occurrences must be equally many");
  check_inside(view(noun), 0, noun_offsets.size() - 1, "nouns");
  check_inside(view(senses), 0, above_offsets.size() - 1, "senses");
  check_inside(view(above), 0, above_offsets.size() - 1, "senses above");
  nb::gil_scoped_release nogil;
  tasks::lexical_chains({view(offsets), view(noun), view(sentence), view(paragraph)},
                        {view(noun_offsets), view(senses), view(above_offsets), view(above)}, view(chain), threads);
}

std::uint8_t label_of(std::string_view label, bool preterminal) {
  const std::size_t cut = label.find_first_of("-=", 1);
  if (!label.empty() && cut != std::string_view::npos) label = label.substr(0, cut);
  if (preterminal)
    return label.starts_with("NN") || label == "NOUN" || label == "PROPN" ? tasks::kNoun : tasks::kPreterminal;
  if (label == "SBAR") return tasks::kSbar;
  if (label == "NP") return tasks::kNp;
  if (label == "VP") return tasks::kVp;
  if (label == "PP") return tasks::kPp;
  return label == "S" || label == "SINV" || label == "SQ" || label == "SBARQ" ? tasks::kClause : tasks::kOther;
}

// The nodes of trees (objects with label and children): offsets, labels, parents, first and last leaves.
nb::tuple flatten(nb::list trees) {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::uint8_t> label;
  std::vector<std::int32_t> parent, first, last;
  struct Open {
    nb::object node;
    std::int32_t parent;
  };
  std::vector<Open> stack;
  for (const nb::handle tree : trees) {
    const std::size_t begin = label.size();
    std::int32_t leaves = 0;
    if (!tree.is_none()) stack.push_back({nb::borrow(tree), -1});
    while (!stack.empty()) {
      const Open open = std::move(stack.back());
      stack.pop_back();
      require(label.size() - begin < kMost, "a tree has too many nodes");
      if (PyUnicode_Check(open.node.ptr())) {
        ++leaves;
        require(open.parent >= 0, "a tree must not be a str");
        last[begin + static_cast<std::size_t>(open.parent)] = leaves;
        continue;
      }
      const nb::object children = open.node.attr("children");
      require(PyTuple_Check(children.ptr()), "children of a tree must be a tuple");
      const Py_ssize_t size = PyTuple_GET_SIZE(children.ptr());
      const bool preterminal = size == 1 && PyUnicode_Check(PyTuple_GET_ITEM(children.ptr(), 0));
      const auto own = static_cast<std::int32_t>(label.size() - begin);
      const nb::object name = open.node.attr("label");
      label.push_back(label_of(utf8_of(name), preterminal));
      parent.push_back(open.parent);
      first.push_back(leaves);
      last.push_back(leaves);
      if (preterminal) {
        ++leaves;
      } else {
        for (Py_ssize_t c = size - 1; c >= 0; --c)
          stack.push_back({nb::borrow(PyTuple_GET_ITEM(children.ptr(), c)), own});
      }
    }
    for (std::size_t v = label.size(); v-- > begin;) {  // ends: those of the last child
      if (last[v] == first[v]) last[v] = first[v] + 1;
      if (parent[v] >= 0) {
        std::int32_t& end = last[begin + static_cast<std::size_t>(parent[v])];
        end = std::max(end, last[v]);
      }
    }
    if (label.size() > begin) last[begin] = leaves;
    offsets.push_back(static_cast<std::int64_t>(label.size()));
  }
  return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(label)), to_numpy(std::move(parent)),
                        to_numpy(std::move(first)), to_numpy(std::move(last)));
}

tasks::Nodes checked_nodes(const Offsets& offsets, const Flags& label, const Ids& parent, const Ids& first,
                           const Ids& last, const tasks::Layout& layout) {
  check_offsets(view(offsets), label.size(), "trees");
  require(parent.size() == label.size() && first.size() == label.size() && last.size() == label.size(),
          "nodes must be equally many");
  require(offsets.size() == layout.sentences.size(), "there must be a tree for each sentence");
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::int64_t tokens = layout.sentences[s + 1] - layout.sentences[s];
    for (std::int64_t v = offsets.data()[s]; v < offsets.data()[s + 1]; ++v) {
      require(parent.data()[v] >= -1 && parent.data()[v] < v - offsets.data()[s], "parents must come first, in tree ",
              s);
      require(first.data()[v] >= 0 && first.data()[v] < last.data()[v] && last.data()[v] <= tokens,
              "leaves must be tokens, in tree ", s);
    }
  }
  return {view(offsets), view(label), view(parent), view(first), view(last)};
}

void tree_sums(Offsets documents, Offsets sentences, Offsets offsets, Flags label, Ids parent, Ids first, Ids last,
               Ids letters, Flags word, Out<double, 2> out, std::size_t threads) {
  const tasks::Layout layout = checked(documents, sentences, letters.size());
  const tasks::Nodes nodes = checked_nodes(offsets, label, parent, first, last, layout);
  require(word.size() == letters.size() && out.shape(0) == layout.size() && out.shape(1) == tasks::kTreeSums,
          "out must be documents x ", tasks::kTreeSums);
  nb::gil_scoped_release nogil;
  tasks::tree_sums(nodes, layout, view(letters), view(word), view(out), threads);
}

void tree_roles(Offsets documents, Offsets sentences, Offsets offsets, Flags label, Ids parent, Ids first, Ids last,
                Out<std::uint8_t, 1> role) {
  const tasks::Layout layout = checked(documents, sentences, role.size());
  const tasks::Nodes nodes = checked_nodes(offsets, label, parent, first, last, layout);
  nb::gil_scoped_release nogil;
  tasks::tree_roles(nodes, layout, view(role));
}

}  // namespace

void bind_readability(nb::module_& m) {
  nb::class_<Meter>(m, "WordMeter", "Syllables, letters and familiarity of words.")
      .def(nb::init<std::string, nb::list, Ids, nb::list, Ids, nb::list,
                    std::vector<std::pair<std::string, std::string>>>(),
           "vowels"_a, "patterns"_a, "values"_a, "exceptions"_a, "counts"_a, "familiar"_a, "endings"_a)
      .def("count", &Meter::count, "texts"_a, "abbreviations"_a, nb::kw_only(), "threads"_a,
           "Eight counts of each text, row by row.")
      .def("facts", &Meter::facts, "words"_a, "Syllables, letters, word or not, familiar or not, of folded words.")
      .def("vowel_groups", &Meter::vowel_groups, "words"_a, "Number of groups of vowels of each word.");
  m.def("tally", &tally, "documents"_a, "sentences"_a, "type"_a, "types"_a, "mask"_a, "out"_a.noconvert(),
        nb::kw_only(), "threads"_a, "Tokens, types and types of sentences, of documents x classes.");
  m.def("grid", &grid, "offsets"_a, "entity"_a, "sentence"_a, "role"_a, "sentences"_a, nb::kw_only(), "salience"_a,
        "out"_a.noconvert(), "threads"_a, "Probabilities of pairs of roles in adjacent sentences.");
  m.def("chain_figures", &chain_figures, "offsets"_a, "chain"_a, "position"_a, "pronoun"_a, "words"_a, "mark_offsets"_a,
        "marks"_a, "out"_a.noconvert(), nb::kw_only(), "threads"_a, "Seven figures of chains.");
  m.def("lexical_chains", &lexical_chains, "offsets"_a, "noun"_a, "sentence"_a, "paragraph"_a, "noun_offsets"_a,
        "senses"_a, "above_offsets"_a, "above"_a, "chain"_a.noconvert(), nb::kw_only(), "threads"_a,
        "The chain of each occurrence of a noun.");
  m.def("flatten_trees", &flatten, "trees"_a, "Offsets, labels, parents, first and last leaves of the nodes of trees.");
  m.def("tree_sums", &tree_sums, "documents"_a, "sentences"_a, "offsets"_a, "label"_a, "parent"_a, "first"_a, "last"_a,
        "letters"_a, "word"_a, "out"_a.noconvert(), nb::kw_only(), "threads"_a, "Sums over the trees of documents.");
  m.def("tree_roles", &tree_roles, "documents"_a, "sentences"_a, "offsets"_a, "label"_a, "parent"_a, "first"_a,
        "last"_a, "role"_a.noconvert(), "Grammatical roles of tokens: 0 subject, 1 object, 2 neither.");
}

}  // namespace textmill::bind
