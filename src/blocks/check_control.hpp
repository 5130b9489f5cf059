#pragma once
#include <deque>
#include <map>
#include "io/image.hpp"

#include "pipeline/checks.hpp"

namespace omnirt::blocks {

// A kind of part that reads images of its own.
struct ControlKind {
  std::string component;
  std::string what;                          // "a ControlNet"
  std::map<std::string, std::string> reads;  // image -> the component that reads it
  std::string form = "folder";               // what a component of it is: "folder" or "file"
};

// Images and the parts that read them are given together: finds each without the other. Does
// nothing in a run.
class CheckControl final : public Block {
 public:
  // Only where `when` holds.
  explicit CheckControl(const ControlKind& kind, const Trigger& when = {});
  void run(Frame&) const override {}
  void check(Checks& checks) const override;

 private:
  ControlKind kind_;
  // So that an image without its part is a finding of this block, not an input that is not known.
  std::deque<OptionalInput<io::Image>> inputs_;
  std::map<std::string, Described<nn::Network>> parts_;  // by component
};

}  // namespace omnirt::blocks
