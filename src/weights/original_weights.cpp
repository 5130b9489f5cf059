#include "weights/original_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "base/ensure.hpp"
#include "weights/tensor_shapes.hpp"
#include "weights/widened.hpp"

namespace omnirt {
namespace {

using nn::Form;
using nn::OriginalPlace;

// The transpose of a matrix {rows, columns} of elements of `width` bytes.
std::vector<std::byte> transposed(std::span<const std::byte> from, size_t rows, size_t columns,
                                  size_t width) {
  std::vector<std::byte> to(from.size());
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c)
      std::memcpy(&to[(c * rows + r) * width], &from[(r * columns + c) * width], width);
  }
  return to;
}

std::vector<std::byte> transposed(const std::byte* data, size_t bytes, io::Dtype dtype,
                                  const std::vector<int64_t>& shape) {
  return transposed({data, bytes}, static_cast<size_t>(shape[0]), static_cast<size_t>(shape[1]),
                    io::dtype_bits(dtype) / 8);
}

// The second half, then the first.
std::vector<std::byte> swapped(const std::byte* data, size_t bytes) {
  std::vector<std::byte> to(data + bytes / 2, data + bytes);
  to.insert(to.end(), data, data + bytes / 2);
  return to;
}

// The rows of each of `heads` with i and i + d / 2 side by side; `back`: in halves again.
std::vector<std::byte> paired(std::span<const std::byte> from, size_t rows, size_t heads,
                              bool back) {
  const size_t width = from.size() / rows, half = rows / heads / 2;
  std::vector<std::byte> to(from.size());
  for (size_t row = 0; row < rows; ++row) {
    const size_t head = row / (2 * half), part = row / half % 2, i = row % half;
    const size_t pair = 2 * (head * half + i) + part;
    std::memcpy(&to[(back ? row : pair) * width], &from[(back ? pair : row) * width], width);
  }
  return to;
}

// Whether the form has a tensor's numbers in another order than the network.
bool is_turned(Form form) {
  return form == Form::transposed || form == Form::swapped || form == Form::head_pairs;
}

// A weight's numbers in the order of the original's file, or, `back`, in that of the network.
// `shape`: the tensor's as it is.
std::vector<std::byte> turned(const Weight& weight, const OriginalPlace& place,
                              const std::vector<int64_t>& shape, bool back) {
  std::vector<std::byte> numbers;
  std::span<const std::byte> from(weight.data, weight.bytes);
  if (weight.encoding) {
    emit_numbers(weight, [&](std::span<const std::byte> piece) {
      numbers.insert(numbers.end(), piece.begin(), piece.end());
    });
    from = numbers;
  }
  if (place.form == Form::head_pairs)
    return paired(from, static_cast<size_t>(shape[0]), place.parts, back);
  return place.form == Form::swapped ? swapped(from.data(), from.size())
                                     : transposed(from.data(), from.size(), weight.dtype, shape);
}

// Whether a shape is another but for sizes of 1 in front, which ggml's files have no place for.
bool is_without_leading_ones(const std::vector<int64_t>& shape, const std::vector<int64_t>& whole) {
  if (shape.size() >= whole.size()) return false;
  const size_t dropped = whole.size() - shape.size();
  for (size_t i = 0; i < dropped; ++i)
    if (whole[i] != 1) return false;
  return std::equal(shape.begin(), shape.end(), whole.begin() + static_cast<ptrdiff_t>(dropped));
}

// Whether rows can be moved as they are stored: blocks that say all of their numbers, and end with
// the rows.
bool moves_encoded_rows(const Weight& weight) {
  if (!weight.encoding || !weight.encoding->ggml_type() || weight.first != 0) return false;
  size_t columns = 1;
  for (size_t i = 1; i < weight.shape.size(); ++i) columns *= static_cast<size_t>(weight.shape[i]);
  return columns % weight.encoding->unit() == 0;
}

// Collects what does not fit between a file and a network, so that all of it is reported at once.
class Reader {
 public:
  Reader(const io::TensorFiles& files, const nn::OriginalLayout& layout, std::string prefix,
         std::string component, const Json& config)
      : files_(files),
        layout_(layout),
        prefix_(std::move(prefix)),
        component_(std::move(component)),
        config_(config) {}

  void take(const Param& param) {
    auto place = nn::original_place(layout_, param);
    if (!place) {
      find(param.name, "", fmt::format("has no place in the layout '{}'", layout_.name));
      return;
    }
    taken_.insert(prefix_ + place->name);
    auto tensor = files_.find(prefix_ + place->name);
    if (!tensor) {
      find(place->name, "", "missing; " + shape_text(place->shape) + " is expected");
      return;
    }
    const std::vector<int64_t>& shape = tensor->entry->shape;
    // Some files hold these matrices as such.
    bool matrix = place->form == Form::conv1x1 && shape == param.shape;
    if (place->form == Form::same) {
      if (auto widened = widened_weight(*tensor, param, config_)) {
        store_->add(param.name, std::move(*widened));
        return;
      }
    }
    bool same_rows = !is_turned(place->form) && is_without_leading_ones(shape, place->shape);
    if (shape != place->shape && !matrix && !same_rows) {
      find(place->name, shape_text(shape),
           "mis-shaped: " + shape_text(place->shape) + " is expected");
      return;
    }
    store_->add(param.name, placed(*tensor, param, *place));
  }

  std::shared_ptr<const WeightStore> finish() {
    for (const std::string& name : files_.names()) {
      if (!name.starts_with(prefix_) || taken_.contains(name)) continue;
      std::string own = name.substr(prefix_.size());
      if (!is_leftover(layout_, own) && !is_marker(own)) {
        find(own, shape_text(files_.find(name)->entry->shape),
             "unexpected: the network that the names and shapes describe has no such parameter");
      }
    }
    if (!findings_.empty()) throw WeightMismatch(std::move(findings_));
    return store_;
  }

 private:
  void find(const std::string& name, std::string value, std::string message) {
    findings_.push_back(
        {component_ + ": " + prefix_ + name, std::move(value), std::move(message), ""});
  }

  static Weight placed(const io::FoundTensor& tensor, const Param& param,
                       const OriginalPlace& place) {
    bool rows = place.form == Form::rows;
    Weight weight = rows ? weight_of(tensor, param.shape, place.part, place.parts, place.span)
                         : weight_of(tensor, param.shape, 0, 1);
    if (!is_turned(place.form)) return weight;
    if (place.form == Form::head_pairs && moves_encoded_rows(weight)) {
      auto rows = std::make_shared<const std::vector<std::byte>>(
          paired({weight.data, weight.bytes}, static_cast<size_t>(param.shape[0]), place.parts,
                 /*back=*/true));
      return {weight.name,  weight.dtype, param.shape, rows->data(),
              rows->size(), rows,         nullptr,     weight.encoding};
    }
    auto copy = std::make_shared<const std::vector<std::byte>>(
        turned(weight, place, tensor.entry->shape, /*back=*/true));
    return {weight.name, weight.dtype, param.shape, copy->data(), copy->size(), copy, nullptr};
  }

  const io::TensorFiles& files_;
  const nn::OriginalLayout& layout_;
  std::string prefix_, component_;
  const Json& config_;  // the network's
  std::shared_ptr<WeightStore> store_ = std::make_shared<WeightStore>();
  std::set<std::string> taken_;
  std::vector<Finding> findings_;
};

using Part = std::pair<OriginalPlace, std::shared_ptr<const Weight>>;

io::TensorSource source_of(const std::string& name, const std::vector<Part>& parts) {
  auto produce = [parts](const io::TensorSource::Emit& emit) {
    for (const auto& [place, weight] : parts) {
      if (is_turned(place.form))
        emit(turned(*weight, place, weight->shape, /*back=*/false));
      else
        emit_numbers(*weight, emit);
      if (weight->release) weight->release();
    }
  };
  return {name, parts[0].second->dtype, parts[0].first.shape, produce};
}

// A stacked tensor has one type and all its parts.
void check_parts(const std::string& name, const std::vector<Part>& parts) {
  bool one_type = std::ranges::all_of(
      parts, [&](const Part& part) { return part.second->dtype == parts[0].second->dtype; });
  size_t there = 0;
  for (const Part& part : parts) there += part.first.span;
  const OriginalPlace& first = parts[0].first;
  const size_t wanted = first.form == Form::rows ? first.parts : 1;
  ensure(there == wanted, "{}: {} of {} parts", name, there, wanted);
  if (!one_type) {
    throw Unsupported({name, "",
                       "its parts are stored in different types, and the original has "
                       "them in one tensor",
                       "store them in one type first"});
  }
}

}  // namespace

bool is_leftover(const nn::OriginalLayout& layout, const std::string& name) {
  return std::ranges::any_of(layout.leftovers, [&](const std::string& start) {
    return name.starts_with(start) && (name.size() == start.size() || name[start.size()] == '.');
  });
}

bool is_marker(const std::string& name) {
  static constexpr std::array<std::string_view, 6> markers{
      "position_ids", "logit_scale", "num_batches_tracked", "v_pred", "ztsnr", "scaled_fp8"};
  const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
  const bool flag = last.size() > 4 && last.starts_with("__") && last.ends_with("__");
  return flag || std::ranges::find(markers, last) != markers.end();
}

nn::OriginalLayout original_layout(const nn::Network& network, const std::string& name) {
  if (name == own_names) return {own_names, {{"", ""}}, network.weight_map().ignored};
  for (nn::OriginalLayout& layout : network.original_layouts()) {
    if (layout.name == name) return std::move(layout);
  }
  throw Unsupported({network.class_name(), "",
                     fmt::format("a checkpoint of one file (layout {}) has no place for it", name),
                     "run the folder as it is, or one with another network in its place"});
}

std::shared_ptr<const WeightStore> open_original_weights(const io::TensorFiles& files,
                                                         const nn::Network& network,
                                                         const nn::OriginalLayout& layout,
                                                         const std::string& prefix,
                                                         const std::string& component) {
  Reader reader(files, layout, prefix, component, network.config());
  for (const Param* param : network.params()) reader.take(*param);
  return reader.finish();
}

std::vector<io::TensorSource> original_tensors(const WeightStore& store, const nn::Network& network,
                                               const nn::OriginalLayout& layout,
                                               const std::string& prefix) {
  std::map<std::string, std::vector<Part>> tensors;
  std::vector<Finding> findings;
  for (const Param* param : network.params()) {
    auto place = nn::original_place(layout, *param);
    if (place) {
      tensors[prefix + place->name].emplace_back(*place, store.all().at(param->name));
    } else {
      findings.push_back({param->name, "",
                          fmt::format("has no place in the original layout '{}'", layout.name),
                          ""});
    }
  }
  if (!findings.empty()) throw Unsupported(std::move(findings));
  std::vector<io::TensorSource> sources;
  for (auto& [name, parts] : tensors) {
    std::ranges::sort(parts, {}, [](const Part& part) { return part.first.part; });
    check_parts(name, parts);
    sources.push_back(source_of(name, parts));
  }
  return sources;
}

io::TensorSource tensor_source(const std::string& name, std::shared_ptr<const Weight> weight) {
  auto produce = [weight](const io::TensorSource::Emit& emit) {
    emit_numbers(*weight, emit);
    if (weight->release) weight->release();
  };
  return {name, weight->dtype, weight->shape, produce};
}

}  // namespace omnirt
