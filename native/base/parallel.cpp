#include "base/parallel.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace textmill::base::detail {
namespace {

thread_local bool inside = false;  // this thread is running a body

// One call of parallel_for. Tickets in the pool's queue share it, so a ticket that is drawn late finds a live object.
struct Job {
  std::size_t items;
  Body body;
  void* context;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::condition_variable idle;
  std::size_t working = 0;  // helpers inside work(), guarded by mutex
  bool closed = false;      // the caller has left: late tickets must not touch context
  std::size_t failed = std::numeric_limits<std::size_t>::max();
  std::exception_ptr error;

  Job(std::size_t items, Body body, void* context) : items(items), body(body), context(context) {}

  void work() {
    inside = true;
    for (std::size_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < items;) {
      try {
        body(context, item);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (item < failed) {
          failed = item;
          error = std::current_exception();
        }
        next.store(items, std::memory_order_relaxed);
      }
    }
    inside = false;
  }

  void help() {
    {
      const std::lock_guard lock(mutex);
      if (closed) return;
      ++working;
    }
    work();
    const std::lock_guard lock(mutex);
    if (--working == 0) idle.notify_one();
  }

  void close() {  // no new helper from here on; wait for those inside
    std::unique_lock lock(mutex);
    closed = true;
    idle.wait(lock, [this] { return working == 0; });
  }
};

// Signals belong to the threads of the program, where a blocking call can be interrupted by Ctrl-C. Those that a fault
// in this very thread raises stay open.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

class Pool {
 public:
  void submit(const std::shared_ptr<Job>& job, std::size_t helpers) {
    {
      const std::lock_guard lock(mutex_);
      queue_.insert(queue_.end(), helpers, job);
      if (idle_ < queue_.size()) grow();
    }
    for (std::size_t i = 0; i < helpers; ++i) ready_.notify_one();
  }

  // Takes back the tickets nobody drew: while all helpers are busy elsewhere they would pile up, call by call.
  void withdraw(const std::shared_ptr<Job>& job) {
    const std::lock_guard lock(mutex_);
    std::erase(queue_, job);
  }

 private:
  void grow() {  // to one waiting thread a ticket
    const SignalsBlocked inherited;
    for (; idle_ < queue_.size(); ++idle_) {
      try {
        std::thread([this] { loop(); }).detach();
      } catch (const std::system_error&) {
        return;  // the system gives no more threads: those there are, and the caller, do the work
      }
    }
  }

  void loop() {
    for (;;) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return !queue_.empty(); });
        job = std::move(queue_.front());
        queue_.pop_front();
        --idle_;
      }
      job->help();
      job.reset();
      const std::lock_guard lock(mutex_);
      ++idle_;
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::size_t idle_ = 0;  // threads that wait for a ticket or are about to
};

// Never destroyed: its threads sleep until the process ends. A forked child has none of them, and perhaps a locked
// mutex, so it forgets the pool and makes another.
std::atomic<Pool*> current{nullptr};
[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, [] {
  current.store(nullptr);
  inside = false;
});

Pool& pool() {
  Pool* known = current.load();
  if (known == nullptr) {
    auto made = std::make_unique<Pool>();
    if (current.compare_exchange_strong(known, made.get())) known = made.release();
  }
  return *known;
}

void run_here(std::size_t items, Body body, void* context) {
  for (std::size_t item = 0; item < items; ++item) body(context, item);
}

}  // namespace

void run(std::size_t items, std::size_t threads, Body body, void* context) {
  if (inside || (items <= 1 && threads > 1)) return run_here(items, body, context);
  if (threads <= 1) {
    struct Inside {
      Inside() { inside = true; }
      ~Inside() { inside = false; }
    } const mark;
    return run_here(items, body, context);
  }
  const auto job = std::make_shared<Job>(items, body, context);
  struct Closing {  // whatever happens, no helper outlives the context
    Job& job;
    ~Closing() { job.close(); }
  };
  {
    const Closing closing{*job};
    Pool& helpers = pool();
    helpers.submit(job, std::min({threads, items, kMaxThreads}) - 1);
    job->work();
    helpers.withdraw(job);
  }
  if (job->error) std::rethrow_exception(job->error);
}

}  // namespace textmill::base::detail
