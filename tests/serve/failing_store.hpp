#pragma once
#include <functional>

#include "base/error.hpp"
#include "serve/job_store.hpp"

namespace omnirt::serve {

// A store over another whose calls fail when a test says so, before or after they took effect.
class FailingStore final : public JobStore {
 public:
  enum class Fault { none, before, after };
  explicit FailingStore(JobStore& inner) : inner_(inner) {}
  // Asked at each call.
  std::function<Fault()> fault = [] { return Fault::none; };

  std::vector<Job> load() override { return inner_.load(); }
  void insert(const Job& job) override {
    call([&] { inner_.insert(job); });
  }
  void update(const Job& job) override {
    call([&] { inner_.update(job); });
  }
  void remove(const std::string& id) override {
    call([&] { inner_.remove(id); });
  }
  std::string result(const std::string& id) override { return inner_.result(id); }

 private:
  void call(const std::function<void()>& work) {
    const Fault now = fault();
    if (now != Fault::before) work();
    if (now != Fault::none) throw RunFailed("the disk failed");
  }
  JobStore& inner_;
};

}  // namespace omnirt::serve
