#include "network/way_out.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace cordon::test {

std::string rules(const std::vector<std::pair<std::string, std::string>>& all) {
  std::string out = "network:\n";
  for (const auto& [host, port] : all) out += "  - {host: '" + host + "', port: '" + port + "'}\n";
  return out;
}

std::string program(const std::string& path, const std::vector<std::string>& args, const std::string& extra) {
  return "entrypoint: " + path + "\n" + list("args", args) + extra;
}

std::string real(const std::string& path) { return std::filesystem::canonical(path).string(); }
std::string python_path() { return real("/usr/bin/python3"); }

pid_t broker_of(pid_t cordon) {
  for (int i = 0; i < 200; ++i) {
    for (const pid_t one : processes_with("cordon-broker")) {
      std::ifstream stat("/proc/" + std::to_string(one) + "/stat");
      std::string text;
      std::getline(stat, text);
      const auto after = text.rfind(')');
      if (after != std::string::npos && std::stol(text.substr(after + 4)) == cordon) return one;
    }
    ::usleep(10'000);
  }
  return -1;
}

Command WayOut::run_of(const std::string& yaml, const std::vector<std::string>& flags, const std::string& name) const {
  std::vector<std::string> args{"run", "--allow-unapproved"};
  args.insert(args.end(), flags.begin(), flags.end());
  args.push_back(scene.manifest(yaml, name));
  return scene.cordon(args);
}

std::string WayOut::python_manifest(const std::string& body, const std::string& name) const {
  scene.tree().write(
      "work/" + name,
      "import socket, sys, os, errno, time, urllib.request, http.client\n"
      "def said(name, act):\n"
      "  try: print(name, act(), flush=True)\n"
      "  except OSError as e: print(name, errno.errorcode.get(e.errno, type(e).__name__), flush=True)\n" +
          body);
  return "entrypoint: " + name + "\ninterpreter: " + python_path() + "\n";
}

Finished WayOut::python(const std::string& body, const std::string& extra,
                        const std::vector<std::string>& flags) const {
  return sandboxed(python_manifest(body) + extra, flags);
}

std::string WayOut::stdout_of(const Finished& finished) {
  std::string out;
  std::istringstream in(finished.out);
  for (std::string line; std::getline(in, line);) {
    const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
    if (event.is_discarded() || event.value("event", "") != "stdout") continue;
    const std::string text = event["data"];
    std::vector<unsigned char> bytes(text.size());
    const int size = ::EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()),
                                       static_cast<int>(text.size()));
    const auto padding = std::count(text.end() - 2, text.end(), '=');
    out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(size - padding));
  }
  return out;
}

nlohmann::json WayOut::verdict_of(const Finished& finished) {
  const auto at = finished.out.find("{\"event\":\"verdict\"");
  EXPECT_NE(at, std::string::npos) << finished;
  return at == std::string::npos ? nlohmann::json() : nlohmann::json::parse(finished.out.substr(at));
}

}  // namespace cordon::test
