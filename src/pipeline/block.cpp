#include "pipeline/block.hpp"

#include "base/ensure.hpp"

namespace omnirt {

const char* to_string(Stage stage) {
  switch (stage) {
    case Stage::prepare_conditions:
      return "prepare_conditions";
    case Stage::prepare_latents:
      return "prepare_latents";
    case Stage::denoise_loop:
      return "denoise_loop";
    case Stage::decode:
      return "decode";
    case Stage::export_artifacts:
      return "export";
  }
  return "";
}

Port::Port(Block* block, PortInfo info) : name_(info.name), block_(block) {
  for (const PortInfo& other : block->ports_) {
    bool same_space =
        (other.kind == PortInfo::Kind::component) == (info.kind == PortInfo::Kind::component) &&
        (other.kind == PortInfo::Kind::config) == (info.kind == PortInfo::Kind::config);
    ensure(!same_space || other.name != info.name, "block '{}' declares '{}' twice", block->name_,
           info.name);
  }
  block->ports_.push_back(std::move(info));
}

}  // namespace omnirt
