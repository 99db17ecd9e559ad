#include "tasks/voicemail.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "base/parallel.h"
#include "bind/arrays.h"
#include "bind/bindings.h"
#include "bind/trees.h"

namespace textmill::bind {
namespace {

using tasks::Candidate;
using tasks::ReadMessage;
using tasks::Scan;
using tasks::VoicemailWords;
using Ids = In<std::int32_t, 1>;
using Offsets = In<std::int64_t, 1>;
using Reals = In<double, 1>;

constexpr std::size_t kBlock = 64;  // messages that one thread reads together

std::vector<std::string_view> views_of(const nb::list& texts) {
  std::vector<std::string_view> views;
  views.reserve(nb::len(texts));
  for (std::size_t i = 0; i < nb::len(texts); ++i) {
    PyObject* text = PyList_GetItem(texts.ptr(), static_cast<Py_ssize_t>(i));
    require(PyUnicode_Check(text), "message ", i, " must be a str");
    Py_ssize_t size;
    const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (!bytes) PyErr_Clear();
    require(bytes != nullptr, "message ", i, " holds a lone surrogate; decode the text with errors='replace'");
    require(size < (Py_ssize_t{1} << 31), "message ", i, " is longer than 2 GB");
    views.emplace_back(bytes, static_cast<std::size_t>(size));
  }
  return views;
}

Scan scan_of(const std::string& name) {
  require(name == "grammar" || name == "fillers" || name == "plain", "scan must be grammar, fillers or plain");
  return name == "grammar" ? Scan::grammar : name == "fillers" ? Scan::fillers : Scan::plain;
}

// facts [n][5]: spoken, number, flags, value, context.
void make_words(VoicemailWords* self, const std::vector<std::string>& words, In<std::int32_t, 2> facts,
                const std::vector<std::pair<int, std::vector<std::int32_t>>>& sequences, std::int32_t values,
                std::int32_t contexts, const std::vector<std::int32_t>& plain_lengths) {
  require(facts.shape(0) == words.size() && facts.shape(1) == 5, "facts must be ", words.size(), " x 5");
  require(values >= 0 && values < (1 << 14), "there are too many values");
  require(contexts >= 0 && contexts <= 64, "there may be 64 words around numbers, got ", contexts);
  VoicemailWords list;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::int32_t spoken = facts(i, 0), number = facts(i, 1), flags = facts(i, 2), value = facts(i, 3),
                       context = facts(i, 4);
    require(spoken >= 0 && spoken < tasks::kSpoken && flags >= 0 && flags < 8 && value >= -1 && value < values &&
                context >= -1 && context < contexts,
            "facts of word ", i, " are out of range");
    const auto kind = static_cast<tasks::Spoken>(spoken);
    const bool fits = kind == tasks::Spoken::digit    ? number >= 0 && number <= 9
                      : kind == tasks::Spoken::teen   ? number >= 10 && number <= 19
                      : kind == tasks::Spoken::tens   ? number >= 20 && number <= 90
                      : kind == tasks::Spoken::repeat ? number >= 2 && number <= 9
                                                      : true;
    require(fits && kind != tasks::Spoken::written, "the number of word ", i, " is out of range");
    require(!(flags & tasks::kPlain) || kind == tasks::Spoken::digit, "word ", i, " is plain but no digit");
    list.list.insert(words[i], {kind, static_cast<std::uint8_t>(number), static_cast<std::uint8_t>(flags),
                                static_cast<std::int16_t>(value), static_cast<std::int16_t>(context), -1});
  }
  require(list.list.size() == words.size(), "words must be distinct");
  std::vector<std::int32_t> first(words.size(), -1);
  for (const auto& [kind, members] : sequences) {
    require((kind == 0 || kind == 1) && !members.empty(), "a sequence must have words and be of kind 0 or 1");
    for (const std::int32_t word : members)
      require(word >= 0 && static_cast<std::size_t>(word) < words.size(), "a sequence has a word that is not there");
    const auto number = static_cast<std::int32_t>(list.sequences.size());
    list.sequences.push_back({static_cast<tasks::SequenceKind>(kind), members, first[members[0]]});
    first[members[0]] = number;
  }
  for (std::size_t i = 0; i < words.size(); ++i) list.list.set_sequences(static_cast<std::int32_t>(i), first[i]);
  list.values = values;
  list.contexts = contexts;
  list.plain_lengths = plain_lengths;
  new (self) VoicemailWords(std::move(list));
}

// Candidates of many messages, one after the other.
struct Gathered {
  std::vector<std::int64_t> offsets{0};  // [messages + 1]
  std::vector<std::int32_t> begin, end, main, extension;
  std::vector<std::uint8_t> cue;
  std::string digits;

  void add(const ReadMessage& message) {
    for (const Candidate& one : message.candidates) {
      begin.push_back(one.begin);
      end.push_back(one.end);
      main.push_back(one.main);
      extension.push_back(one.extension);
      cue.push_back(one.cue);
    }
    digits += message.digits;
    offsets.push_back(static_cast<std::int64_t>(begin.size()));
  }
  void append(Gathered&& other) {
    const std::int64_t before = offsets.back();
    for (std::size_t i = 1; i < other.offsets.size(); ++i) offsets.push_back(before + other.offsets[i]);
    const auto join = [](auto& own, const auto& more) { own.insert(own.end(), more.begin(), more.end()); };
    join(begin, other.begin);
    join(end, other.end);
    join(main, other.main);
    join(extension, other.extension);
    join(cue, other.cue);
    digits += other.digits;
  }
  nb::tuple arrays() {
    return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(begin)), to_numpy(std::move(end)),
                          to_numpy(std::move(main)), to_numpy(std::move(extension)), to_numpy(std::move(cue)),
                          nb::str(digits.data(), digits.size()));
  }
};

// Reads all messages in blocks, on several threads: body(message, i, block's own part); parts are handed over in order.
template <class Part, class Body, class Join>
void read_all(const std::vector<std::string_view>& texts, const VoicemailWords& list, Scan scan, std::size_t threads,
              Body&& body, Join&& join) {
  std::vector<Part> parts((texts.size() + kBlock - 1) / kBlock);
  base::parallel_blocks(texts.size(), kBlock, threads, [&](std::size_t begin, std::size_t end) {
    ReadMessage message;
    Part& part = parts[begin / kBlock];
    for (std::size_t i = begin; i < end; ++i) {
      message.read(texts[i], list, scan);
      body(message, i, part);
    }
  });
  for (Part& part : parts) join(std::move(part));
}

nb::tuple scan(const VoicemailWords& list, nb::list texts, const std::string& mode, std::size_t threads) {
  const Scan how = scan_of(mode);
  const std::vector<std::string_view> views = views_of(texts);
  Gathered all;
  {
    nb::gil_scoped_release nogil;
    read_all<Gathered>(
        views, list, how, threads, [](ReadMessage& message, std::size_t, Gathered& part) { part.add(message); },
        [&](Gathered&& part) { all.append(std::move(part)); });
  }
  return all.arrays();
}

void start_rows(const VoicemailWords& list, nb::list texts, Out<std::int32_t, 2> codes, Out<double, 2> numbers,
                std::size_t threads) {
  const std::vector<std::string_view> views = views_of(texts);
  require(codes.shape(0) == views.size() && codes.shape(1) == tasks::kStartWindow, "codes must be messages x 12");
  require(numbers.shape(0) == views.size() && numbers.shape(1) == tasks::kStartNumbers, "numbers: messages x 3");
  nb::gil_scoped_release nogil;
  struct Nothing {};
  read_all<Nothing>(
      views, list, Scan::grammar, threads,
      [&](ReadMessage& message, std::size_t i, Nothing&) {
        for (std::int32_t a = 0; a < tasks::kStartWindow; ++a) codes(i, a) = message.start_code(a, list);
        for (std::int32_t d = 0; d < tasks::kStartNumbers; ++d) numbers(i, d) = message.start_number(d);
      },
      [](Nothing&&) {});
}

void length_rows(const VoicemailWords& list, nb::list texts, Ids starts, Out<std::int32_t, 2> codes,
                 Out<double, 2> numbers, std::size_t threads) {
  const std::vector<std::string_view> views = views_of(texts);
  require(starts.size() == views.size(), "there must be a start for each message");
  require(codes.shape(0) == views.size() && codes.shape(1) == tasks::kLengthWindow, "codes must be messages x 13");
  require(numbers.shape(0) == views.size() && numbers.shape(1) == tasks::kLengthNumbers, "numbers: messages x 3");
  for (const std::int32_t start : view(starts)) require(start >= 0, "starts must not be negative");
  nb::gil_scoped_release nogil;
  struct Nothing {};
  read_all<Nothing>(
      views, list, Scan::grammar, threads,
      [&](ReadMessage& message, std::size_t i, Nothing&) {
        for (std::int32_t a = 0; a < tasks::kLengthWindow; ++a) codes(i, a) = message.length_code(starts(i), a, list);
        for (std::int32_t d = 0; d < tasks::kLengthNumbers; ++d) numbers(i, d) = message.length_number(starts(i), d);
      },
      [](Nothing&&) {});
}

nb::tuple candidate_rows(const VoicemailWords& list, nb::list texts, const std::string& mode, std::size_t threads) {
  const Scan how = scan_of(mode);
  const std::vector<std::string_view> views = views_of(texts);
  struct Rows {
    Gathered gathered;
    std::vector<std::int32_t> codes;
    std::vector<double> numbers;
  } all;
  {
    nb::gil_scoped_release nogil;
    read_all<Rows>(
        views, list, how, threads,
        [&](ReadMessage& message, std::size_t, Rows& part) {
          part.gathered.add(message);
          for (std::size_t c = 0; c < message.candidates.size(); ++c) {
            const tasks::CandidateView one(message, c, list);
            for (std::size_t a = 0; a < list.candidate_codes(); ++a)
              part.codes.push_back(one.code(static_cast<std::int32_t>(a)));
            for (std::int32_t d = 0; d < tasks::kCandidateNumbers; ++d) part.numbers.push_back(one.number(d));
          }
        },
        [&](Rows&& part) {
          all.gathered.append(std::move(part.gathered));
          all.codes.insert(all.codes.end(), part.codes.begin(), part.codes.end());
          all.numbers.insert(all.numbers.end(), part.numbers.begin(), part.numbers.end());
        });
  }
  return nb::make_tuple(all.gathered.arrays(), to_numpy(std::move(all.codes)), to_numpy(std::move(all.numbers)));
}

// The classes of nodes, and their numbers, as Python holds them.
struct BoundChoices {
  nb::object holder;  // keeps the tree alive
  const BoundTree* tree;
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> numbers;
  std::vector<double> probabilities;

  tasks::Choices choices() const { return {&tree->walker, offsets, numbers, probabilities}; }
};

void make_choices(BoundChoices* self, nb::object holder, Offsets offsets, Ids numbers, Reals probabilities) {
  const BoundTree& tree = nb::cast<const BoundTree&>(holder);
  check_offsets(view(offsets), numbers.size(), "classes");
  require(offsets.size() == tree.walker.nodes() + 1 && probabilities.size() == numbers.size(),
          "there must be classes for each node");
  for (const std::int32_t number : view(numbers))
    require(number >= -1 && number < (1 << 30), "starts and lengths must be -1 or numbers of words");
  const auto vector = []<class Array>(const Array& array) {
    const auto span = view(array);
    return std::vector(span.begin(), span.end());
  };
  new (self) BoundChoices{holder, &tree, vector(offsets), vector(numbers), vector(probabilities)};
}

struct BoundCaller {
  BoundChoices start, length;
  double threshold;
  bool joint;

  tasks::CallerModel model() const { return {start.choices(), length.choices(), threshold, joint}; }
};

void check_tree(const BoundTree& tree, std::size_t codes, std::size_t numbers, const char* what) {
  require(tree.values.size() == codes && tree.numeric == numbers, "the tree of ", what, " must have ", codes,
          " columns of values and ", numbers, " of numbers, has ", tree.values.size(), " and ", tree.numeric);
}

void make_caller(BoundCaller* self, const BoundChoices& start, const BoundChoices& length, double threshold,
                 bool joint) {
  check_tree(*start.tree, tasks::kStartWindow, tasks::kStartNumbers, "starts");
  check_tree(*length.tree, tasks::kLengthWindow, tasks::kLengthNumbers, "lengths");
  for (const std::int32_t number : length.numbers) require(number >= 1, "lengths must be 1 at least");
  new (self) BoundCaller{start, length, threshold, joint};
}

struct Callers {
  std::vector<std::int32_t> begin, end, start_node, length_node;
  std::vector<double> probability, none;

  void add(const tasks::CallerAnswer& one) {
    begin.push_back(one.begin);
    end.push_back(one.end);
    start_node.push_back(one.start_node);
    length_node.push_back(one.length_node);
    probability.push_back(one.probability);
    none.push_back(one.none);
  }
  void append(const Callers& other) {
    const auto join = [](auto& own, const auto& more) { own.insert(own.end(), more.begin(), more.end()); };
    join(begin, other.begin);
    join(end, other.end);
    join(start_node, other.start_node);
    join(length_node, other.length_node);
    join(probability, other.probability);
    join(none, other.none);
  }
  nb::tuple arrays() {
    return nb::make_tuple(to_numpy(std::move(begin)), to_numpy(std::move(end)), to_numpy(std::move(probability)),
                          to_numpy(std::move(none)), to_numpy(std::move(start_node)), to_numpy(std::move(length_node)));
  }
};

nb::object find_callers(const VoicemailWords& list, nb::list texts, const BoundCaller& caller, std::size_t threads) {
  const std::vector<std::string_view> views = views_of(texts);
  const tasks::CallerModel model = caller.model();
  Callers all;
  {
    nb::gil_scoped_release nogil;
    read_all<Callers>(
        views, list, Scan::grammar, threads,
        [&](ReadMessage& message, std::size_t, Callers& part) { part.add(find_caller(message, model, list)); },
        [&](Callers&& part) { all.append(part); });
  }
  return all.arrays();
}

// Everything at once: callers by two models, and the candidates that are numbers to call.
nb::tuple extract(const VoicemailWords& list, nb::list texts, const BoundCaller& phrase, const BoundCaller& name,
                  nb::object number_tree, Reals probabilities, double threshold, std::int32_t min_digits,
                  const std::string& mode, std::size_t threads) {
  const Scan how = scan_of(mode);
  const BoundTree* tree = number_tree.is_none() ? nullptr : &nb::cast<const BoundTree&>(number_tree);
  if (tree) {
    check_tree(*tree, list.candidate_codes(), tasks::kCandidateNumbers, "numbers");
    require(probabilities.size() == tree->walker.nodes(), "there must be a probability for each node");
  }
  const std::vector<std::string_view> views = views_of(texts);
  const tasks::CallerModel phrases = phrase.model(), names = name.model();
  const tasks::NumberModel judge{tree ? &tree->walker : nullptr, view(probabilities), threshold, min_digits};
  struct Part {
    Callers phrases, names;
    Gathered gathered;
    std::vector<double> probability;
    std::vector<std::int32_t> node;
    std::vector<std::uint8_t> anonymous;
  } all;
  {
    nb::gil_scoped_release nogil;
    read_all<Part>(
        views, list, how, threads,
        [&](ReadMessage& message, std::size_t, Part& part) {
          part.phrases.add(find_caller(message, phrases, list));
          part.names.add(find_caller(message, names, list));
          part.anonymous.push_back(message.anonymous);
          part.gathered.add(message);
          for (std::size_t c = 0; c < message.candidates.size(); ++c) {
            const tasks::NumberAnswer answer = judge_number(message, c, judge, list);
            part.probability.push_back(answer.probability);
            part.node.push_back(answer.node);
          }
        },
        [&](Part&& part) {
          all.phrases.append(part.phrases);
          all.names.append(part.names);
          all.gathered.append(std::move(part.gathered));
          all.probability.insert(all.probability.end(), part.probability.begin(), part.probability.end());
          all.node.insert(all.node.end(), part.node.begin(), part.node.end());
          all.anonymous.insert(all.anonymous.end(), part.anonymous.begin(), part.anonymous.end());
        });
  }
  return nb::make_tuple(all.phrases.arrays(), all.names.arrays(), all.gathered.arrays(),
                        to_numpy(std::move(all.probability)), to_numpy(std::move(all.node)),
                        to_numpy(std::move(all.anonymous)));
}

}  // namespace

void bind_voicemail(nb::module_& m) {
  nb::class_<BoundChoices>(m, "VoicemailChoices", "A tree and the best classes of its nodes.")
      .def("__init__", &make_choices, "tree"_a, "offsets"_a, "numbers"_a, "probabilities"_a);
  nb::class_<BoundCaller>(m, "VoicemailCaller", "Trees of starts and lengths.")
      .def("__init__", &make_caller, "start"_a, "length"_a, "threshold"_a, "joint"_a);
  nb::class_<VoicemailWords>(m, "VoicemailWords", "Words of a locale, and what they are in a message.")
      .def("__init__", &make_words, "words"_a, "facts"_a, "sequences"_a, "values"_a, "contexts"_a, "plain_lengths"_a)
      .def("scan", &scan, "texts"_a, "mode"_a, "threads"_a,
           "Candidates: offsets, begin, end, numbers of digits, of those of extensions, cues, and all digits.")
      .def("start_rows", &start_rows, "texts"_a, "codes"_a.noconvert(), "numbers"_a.noconvert(), "threads"_a)
      .def("length_rows", &length_rows, "texts"_a, "starts"_a, "codes"_a.noconvert(), "numbers"_a.noconvert(),
           "threads"_a)
      .def("candidate_rows", &candidate_rows, "texts"_a, "mode"_a, "threads"_a,
           "Candidates as `scan` gives them, their codes and numbers.")
      .def("find_callers", &find_callers, "texts"_a, "caller"_a, "threads"_a,
           "Begin, end, probability, probability of none, and nodes of both trees.")
      .def("extract", &extract, "texts"_a, "phrase"_a, "name"_a, "number_tree"_a.none(), "probabilities"_a,
           "threshold"_a, "min_digits"_a, "mode"_a, "threads"_a,
           "Phrases, names, candidates with probabilities and nodes, and who does not say a name.");
}

}  // namespace textmill::bind
