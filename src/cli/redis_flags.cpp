#include "cli/redis_flags.hpp"

#include "base/error.hpp"

namespace omnirt::cli {

std::optional<serve::RedisUrl> RedisFlags::url() const {
  if (!address.empty()) return serve::read_redis_url(address, password_file);
  if (password_file.empty()) return std::nullopt;
  throw InvalidRequest({"--redis-password-file", password_file, "has no effect without --redis",
                        "add --redis URL, or omit it"});
}

void add_redis_flags(CLI::App& command, RedisFlags& flags) {
  command
      .add_option("--redis", flags.address,
                  "Redis that keeps the jobs, which `omnirt worker` processes run: "
                  "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE] or unix://PATH")
      ->type_name("URL");
  command
      .add_option("--redis-password-file", flags.password_file,
                  "file with the password, which then is in no list of processes")
      ->type_name("FILE");
  command
      .add_option("--lease-seconds", flags.lease_seconds,
                  "with --redis: silent for longer, a worker or server is taken for dead [3]")
      ->check(CLI::Range(0.3, 3600.0).description(""))
      ->type_name("NUMBER 0.3..3600");
}

}  // namespace omnirt::cli
