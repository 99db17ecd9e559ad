#include "base/parallel.h"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
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

class Pool {
 public:
  void submit(const std::shared_ptr<Job>& job, std::size_t helpers) {
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < helpers; ++i) queue_.push_back(job);
      while (threads_ < helpers) {
        try {
          std::thread([this] { loop(); }).detach();
        } catch (const std::system_error&) {
          break;  // the system gives no more threads: those there are, and the caller, do the work
        }
        ++threads_;
      }
    }
    ready_.notify_all();
  }

 private:
  void loop() {
    for (;;) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return !queue_.empty(); });
        job = std::move(queue_.front());
        queue_.pop_front();
      }
      job->help();
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::size_t threads_ = 0;
};

// Never destroyed: its threads sleep until the process ends. A forked child has none of them, and perhaps a locked
// mutex, so it forgets the pool and makes another.
std::atomic<Pool*> current{nullptr};
std::once_flag at_fork;

Pool& pool() {
  std::call_once(at_fork, [] {
    pthread_atfork(nullptr, nullptr, [] {
      current.store(nullptr);
      inside = false;
    });
  });
  Pool* known = current.load();
  if (known == nullptr) {
    auto made = std::make_unique<Pool>();
    if (current.compare_exchange_strong(known, made.get())) known = made.release();
  }
  return *known;
}

}  // namespace

void run(std::size_t items, std::size_t threads, Body body, void* context) {
  if (threads > items) threads = items;
  if (threads <= 1 || inside) {
    for (std::size_t item = 0; item < items; ++item) body(context, item);
    return;
  }
  auto job = std::make_shared<Job>();
  job->items = items;
  job->body = body;
  job->context = context;
  pool().submit(job, threads - 1);
  job->work();
  job->close();
  if (job->error) std::rethrow_exception(job->error);
}

}  // namespace textmill::base::detail
