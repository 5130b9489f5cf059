#include "runtime/weight_stream.hpp"

#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "io/mapped_file.hpp"
#include "tensor/memory.hpp"

namespace omnirt {

WeightStream::WeightStream(std::shared_ptr<const Binding> binding, Residency residency)
    : binding_(std::move(binding)), residency_(std::move(residency)) {
  for (size_t i = 0; i < residency_.groups.size(); ++i) {
    for (size_t param : residency_.groups[i].params) {
      if (param >= group_of_.size()) group_of_.resize(param + 1, none);
      group_of_[param] = i;
    }
  }
  if (residency_.groups.size() > 1)
    reader_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

WeightStream::~WeightStream() {
  if (reader_.joinable()) {
    wait();
    reader_.request_stop();
    reader_.join();
  }
  for (size_t i = 0; i < residency_.groups.size(); ++i) give_back(i);
  binding_->release_pages();
}

void WeightStream::use(size_t param) {
  const size_t group = param < group_of_.size() ? group_of_[param] : none;
  if (group != none && group != at_) enter(group);
}

void WeightStream::enter(size_t group) {
  // The last one goes first, so that no more than two are there.
  if (at_ != none) give_back(at_);
  const double start = now_ms();
  wait();
  if (asked_ != group) {
    if (asked_ != none) give_back(asked_);
    read(group);
  }
  figures_.waited_ms += now_ms() - start;
  figures_.bytes += residency_.groups[group].read_bytes;
  figures_.groups += 1;
  at_ = group;
  asked_ = none;
  if (residency_.groups.size() > 1) ask((group + 1) % residency_.groups.size());
}

void WeightStream::give_back(size_t group) {
  const WeightGroup& of = residency_.groups[group];
  for (size_t param : of.params) binding_->drop(param);
  // Forms that were made of the file's numbers were in the heap, which keeps what is freed.
  if (of.bytes != of.read_bytes) return_freed_memory(std::numeric_limits<size_t>::max());
}

void WeightStream::ask(size_t group) {
  asked_ = group;
  {
    std::scoped_lock lock(mutex_);
    to_read_ = group;
  }
  changed_.notify_all();
}

// Until nothing is being read.
void WeightStream::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return to_read_ == none; });
}

void WeightStream::read(size_t group) const {
  for (size_t param : residency_.groups[group].params) {
    const Weight& weight = binding_->stored(param);
    io::read_ahead({weight.data, weight.bytes});
  }
}

void WeightStream::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return to_read_ != none; })) {
    const size_t group = to_read_;
    lock.unlock();
    read(group);
    lock.lock();
    to_read_ = none;
    changed_.notify_all();
  }
}

}  // namespace omnirt
