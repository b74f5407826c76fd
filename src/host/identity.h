// Who and where we are: the kernel's name and boot, the ids that a map may name, the caller's home.
#pragma once

#include "host/accounts.h"
#include "host/fact_cache.h"
#include "host/host.h"
#include "plan/host_facts.h"

namespace cordon::host {

/// kernel_release, machine and boot_id.
void fill_kernel(plan::HostFacts& facts);

/// Ids, id spans (as root), sudo_uid, home, search path, working directory and the caller's account.
void fill_caller(const Caller& caller, const AccountBook& accounts, plan::HostFacts& facts);

/// The account, or the stand-in of HostFacts::accounts for an id that has none.
plan::Account account_of(const AccountBook& accounts, std::uint32_t uid);

/// The value of the variable, or "".
std::string variable(const Caller& caller, const char* name);

/// Needs kernel_release and boot_id; reads the LSM list.
CacheKey cache_key(const plan::HostFacts& facts, const Caller& caller, const CacheLocation& location);

}  // namespace cordon::host
