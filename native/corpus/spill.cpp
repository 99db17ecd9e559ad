#include "corpus/spill.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/fault.h"
#include "base/parallel.h"

namespace textmill::corpus {
namespace {

constexpr std::size_t kSections = TermTable::kPartitions;
constexpr std::size_t kBuffer = 1 << 16;

struct Header {
  std::int64_t length, document_frequency, collection_frequency, first;
};

class File {
 public:
  File(const std::string& path, const char* mode) : path_(path), file_(std::fopen(path.c_str(), mode)) {
    if (file_ == nullptr) throw base::Fault::of_file(path, errno);
    std::setvbuf(file_.get(), nullptr, _IOFBF, kBuffer);
  }
  void write(const void* data, std::size_t size) {
    if (size > 0 && std::fwrite(data, 1, size, file_.get()) != size) throw base::Fault::of_file(path_, errno);
  }
  void read(void* data, std::size_t size) {
    if (size > 0 && std::fread(data, 1, size, file_.get()) != size)
      throw base::Fault::of_file(path_, std::ferror(file_.get()) ? errno : EIO);
  }
  void seek(std::int64_t position) {
    if (fseeko(file_.get(), position, SEEK_SET) != 0) throw base::Fault::of_file(path_, errno);
  }
  void close() {
    if (std::fclose(file_.release()) != 0) throw base::Fault::of_file(path_, errno);
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

// One section of one run, record by record.
class Reader {
 public:
  Reader(const std::string& path, std::size_t section) : file_(path, "rb") {
    std::array<std::int64_t, kSections + 1> begin;
    file_.read(begin.data(), sizeof begin);
    left_ = begin[section + 1] - begin[section];
    file_.seek(begin[section]);
    next();
  }
  bool done() const { return done_; }
  const Header& header() const { return header_; }
  std::string_view term() const { return {term_.data(), term_.size()}; }
  void next() {
    if (left_ <= 0) {
      done_ = true;
      return;
    }
    file_.read(&header_, sizeof header_);
    term_.resize(static_cast<std::size_t>(header_.length));
    file_.read(term_.data(), term_.size());
    left_ -= static_cast<std::int64_t>(sizeof header_ + term_.size());
  }

 private:
  File file_;
  std::int64_t left_ = 0;
  bool done_ = false;
  Header header_{};
  std::vector<char> term_;
};

void merge_section(const std::vector<std::string>& paths, std::size_t section, const TermRules& rules,
                   MergedTerms& out) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (const std::string& path : paths) {
    auto reader = std::make_unique<Reader>(path, section);
    if (!reader->done()) readers.push_back(std::move(reader));
  }
  const auto later = [&](std::size_t a, std::size_t b) { return readers[a]->term() > readers[b]->term(); };
  std::vector<std::size_t> heap(readers.size());
  std::iota(heap.begin(), heap.end(), 0);
  std::make_heap(heap.begin(), heap.end(), later);
  out.terms.offsets.push_back(0);
  std::string term;
  while (!heap.empty()) {
    Header sum{0, 0, 0, std::numeric_limits<std::int64_t>::max()};
    term = readers[heap.front()]->term();
    while (!heap.empty() && readers[heap.front()]->term() == term) {
      std::pop_heap(heap.begin(), heap.end(), later);
      Reader& reader = *readers[heap.back()];
      sum.document_frequency += reader.header().document_frequency;
      sum.collection_frequency += reader.header().collection_frequency;
      sum.first = std::min(sum.first, reader.header().first);
      reader.next();
      if (reader.done())
        heap.pop_back();
      else
        std::push_heap(heap.begin(), heap.end(), later);
    }
    out.tokens += sum.collection_frequency;
    if (!rules.any_word || term.find(kNgramMark) == std::string::npos) out.words += sum.collection_frequency;
    out.nonzeros += sum.document_frequency;
    const auto documents = static_cast<double>(sum.document_frequency);
    const bool stopped = rules.stop_words != nullptr &&
                         (rules.any_word ? holds_word(*rules.stop_words, term) : rules.stop_words->find(term) >= 0);
    const std::array<bool, 4> objects = {stopped, documents > rules.most_documents, documents < rules.least_documents,
                                         sum.collection_frequency < rules.least_occurrences};
    if (const auto rule = std::ranges::find(objects, true); rule != objects.end()) {
      MergedTerms::Removed& removed = out.removed[static_cast<std::size_t>(rule - objects.begin())];
      ++removed.types;
      removed.tokens += sum.collection_frequency;
      continue;
    }
    out.terms.bytes.insert(out.terms.bytes.end(), term.begin(), term.end());
    out.terms.offsets.push_back(static_cast<std::int64_t>(out.terms.bytes.size()));
    out.terms.document_frequency.push_back(sum.document_frequency);
    out.terms.collection_frequency.push_back(sum.collection_frequency);
    out.first.push_back(sum.first);
  }
}

}  // namespace

void write_run(const TermTable& table, std::int64_t base, const std::string& path, std::size_t threads) {
  std::array<std::vector<std::int32_t>, kSections> ids;  // of each partition, sorted by their terms
  base::parallel_for(kSections, threads, [&](std::size_t p) {
    ids[p] = table.ids_of_partition(p);
    std::ranges::sort(ids[p], {}, [&](std::int32_t id) { return table[static_cast<std::size_t>(id)]; });
  });
  File file(path, "wb");
  std::array<std::int64_t, kSections + 1> begin{};
  begin[0] = sizeof begin;
  for (std::size_t p = 0; p < kSections; ++p) {
    begin[p + 1] = begin[p];
    for (const std::int32_t id : ids[p])
      begin[p + 1] += static_cast<std::int64_t>(sizeof(Header) + table[static_cast<std::size_t>(id)].size());
  }
  file.write(begin.data(), sizeof begin);
  for (const auto& section : ids) {
    for (const std::int32_t id : section) {
      const std::string_view term = table[static_cast<std::size_t>(id)];
      const auto [documents, occurrences] = table.frequencies(static_cast<std::size_t>(id));
      const Header header{static_cast<std::int64_t>(term.size()), documents, occurrences, base + id};
      file.write(&header, sizeof header);
      file.write(term.data(), term.size());
    }
  }
  file.close();
}

MergedTerms merge_runs(const std::vector<std::string>& paths, const TermRules& rules, std::size_t threads) {
  std::array<MergedTerms, kSections> parts;
  base::parallel_for(kSections, threads, [&](std::size_t p) { merge_section(paths, p, rules, parts[p]); });
  MergedTerms all;
  all.terms.offsets.push_back(0);
  for (MergedTerms& part : parts) {
    const std::int64_t shift = all.terms.offsets.back();
    const auto append = [](auto& to, auto& from) {
      to.insert(to.end(), from.begin(), from.end());
      std::remove_reference_t<decltype(from)>().swap(from);  // give its memory back at once
    };
    for (std::size_t i = 1; i < part.terms.offsets.size(); ++i)
      all.terms.offsets.push_back(shift + part.terms.offsets[i]);
    append(all.terms.bytes, part.terms.bytes);
    append(all.terms.document_frequency, part.terms.document_frequency);
    append(all.terms.collection_frequency, part.terms.collection_frequency);
    append(all.first, part.first);
    for (std::size_t rule = 0; rule < all.removed.size(); ++rule) {
      all.removed[rule].types += part.removed[rule].types;
      all.removed[rule].tokens += part.removed[rule].tokens;
    }
    all.tokens += part.tokens;
    all.words += part.words;
    all.nonzeros += part.nonzeros;
  }
  return all;
}

}  // namespace textmill::corpus
