#include "pipeline/block.hpp"

#include <algorithm>

#include "base/ensure.hpp"
#include "base/error.hpp"

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

namespace {

// Components, config keys and values have names of their own.
bool same_name(const PortInfo& a, const PortInfo& b) {
  using Kind = PortInfo::Kind;
  return a.name == b.name && (a.kind == Kind::component) == (b.kind == Kind::component) &&
         (a.kind == Kind::config) == (b.kind == Kind::config);
}

bool declared(const std::vector<PortInfo>& ports, const PortInfo& info) {
  return std::ranges::any_of(ports, [&](const PortInfo& port) { return same_name(port, info); });
}

}  // namespace

Port::Port(Block* block, PortInfo info) : name_(info.name), block_(block) {
  auto& ports = info.kind == PortInfo::Kind::described ? block->described_ : block->ports_;
  ensure(!declared(ports, info), "block '{}' declares '{}' twice", block->name_, info.name);
  ports.push_back(std::move(info));
}

std::shared_ptr<const Block> Block::with_inner(const BlockList&) const {
  throw InternalError("block '" + name_ + "' runs no other blocks");
}

void Block::adopt_ports(const Block& inner) {
  for (const PortInfo& port : inner.ports_) {
    if (!declared(ports_, port)) ports_.push_back(port);
  }
}

}  // namespace omnirt
