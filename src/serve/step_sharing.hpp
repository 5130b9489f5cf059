#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "base/choice.hpp"

namespace omnirt::serve {

// Whether runs of the same work compute steps together.
enum class ShareSteps {
  automatic,  // where it was measured to pay
  on,
  off,
};

// The table of what it gives to compute steps of several runs together, by work and number of runs,
// and what follows from it: a number of runs pays where by the table the jobs in line end earlier,
// on average, than one after the other. A number of runs is tried where it was not measured yet,
// for as many steps as its entry takes, after as many steps of one run; from then on the entry
// stays.
class StepSharing {
 public:
  static constexpr size_t most_works = 256;
  // Steps that an entry is the least of: other work of the machine only makes them longer.
  static constexpr size_t samples = 5;
  // Steps per second, against those of one run at a time, from which it pays.
  static constexpr double pays_from = 1.1;

  explicit StepSharing(ShareSteps how = ShareSteps::off) : how_(how) {}

  // Of how many runs the next step should be, where `ready` could have one and `in_line` jobs wait
  // for a turn, these included; 1: of one alone.
  size_t runs(const std::string& work, size_t ready, size_t in_line) const;
  // A step of so many runs took `ms`, all together.
  void learn(const std::string& work, size_t runs, double ms);
  // They cannot be computed together.
  void refuse(const std::string& work, size_t runs);
  // Steps per second against those of one run at a time; nothing where it was not measured.
  std::optional<double> gain(const std::string& work, size_t runs) const;

 private:
  struct Entry {
    size_t measured = 0;
    double least = std::numeric_limits<double>::infinity();
    std::optional<double> ms() const;  // once it is settled
    bool refused = false;
  };
  struct Work {
    std::map<size_t, Entry> by_runs{};
    uint64_t used = 0;
  };
  const Entry* find(const std::string& work, size_t runs) const;
  Entry& entry(const std::string& work, size_t runs);

  ShareSteps how_;
  std::map<std::string, Work> works_;
  uint64_t uses_ = 0;
};

}  // namespace omnirt::serve

template <>
struct omnirt::ChoiceNames<omnirt::serve::ShareSteps> {
  static constexpr std::array names{"auto", "on", "off"};
};
