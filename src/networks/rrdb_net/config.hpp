#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// What an RRDBNet is made of. Published files bring no config: it is inferred from the names and
// shapes of their tensors. The names are those of BasicSR's arguments where it has them; defaults
// are Real-ESRGAN x4plus's.
struct RRDBNetConfig {
  int64_t num_feat = 64;
  int64_t num_block = 23;
  int64_t num_grow_ch = 32;
  int64_t num_upsample = 2;  // convolutions that each double the sides
  // Squares of this many pixels become channels first: 2 in Real-ESRGAN x2plus.
  int64_t unshuffle = 1;

  int64_t scale() const { return (int64_t{1} << num_upsample) / unshuffle; }

  static void visit(auto& self, auto& v) {
    v("num_feat", self.num_feat);
    v("num_block", self.num_block);
    v("num_grow_ch", self.num_grow_ch);
    v("num_upsample", self.num_upsample);
    v("unshuffle", self.unshuffle);
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
RRDBNetConfig read_rrdb_net_config(const Json& json, const std::string& where);

// The config of a file that holds tensors of these shapes, with its class's name; null where they
// are none of an RRDBNet. Throws Unsupported, by name, for kinds that are not implemented.
Json rrdb_net_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                     const std::string& where);

// Which of the class's layouts the names are in: "basicsr", "bsrgan" or "esrgan"; "" where they are
// in none.
std::string rrdb_net_layout(const std::map<std::string, std::vector<int64_t>>& shapes);

}  // namespace omnirt
