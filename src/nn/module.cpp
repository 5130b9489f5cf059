#include "nn/module.hpp"

#include "base/ensure.hpp"

namespace omnirt::nn {

Module::Module(Module* parent, const std::string& name)
    : parent_(parent), path_(parent->path_.empty() ? name : parent->path_ + "." + name) {
  parent->children_.push_back(this);
}

void Module::visit(const std::function<void(const Module&)>& visitor) const {
  visitor(*this);
  for (const Module* child : children_) child->visit(visitor);
}

Module& Module::root() {
  Module* at = this;
  while (at->parent_) at = at->parent_;
  return *at;
}

Param Module::param(const std::string& name, std::vector<int64_t> shape, bool present) {
  return {path_.empty() ? name : path_ + "." + name, std::move(shape), SIZE_MAX, present};
}

void Module::own(Param& param) {
  if (!param.present) return;
  Module& top = root();
  param.index = top.params_.size();
  top.params_.push_back(&param);
}

}  // namespace omnirt::nn
