// The network inside: lo, what leads to the broker, and the sockets that it will hold.
//
// A socket belongs to the network namespace that it was made in, whoever holds it. So init makes them, hands them to
// the supervisor and keeps none: nothing of Cordon's is left inside for the target to talk to but their ports. None
// sets an option that lets another socket bind beside it, and all but what a plan without nf_tables needs are below
// 1024, where the target cannot bind at all.
#pragma once

#include "enforce/launch/program/channel.h"
#include "enforce/launch/program/tree.h"
#include "kernel/net.h"

namespace cordon::enforce::launch {

Sys<void> bring_up_loopback();
Sys<void> local_network(const Record& record);
Sys<void> redirect(const Record& record);
/// Makes the socket, tries what the plan says of it, and hands it out.
Sys<void> listen(const Record& record, Channel& control);
/// Hands out sockets that are neither bound nor connected, one by one.
Sys<void> make_socket_pool(const Record& record, Channel& control);
/// Makes the unix socket of the relay to the ssh agent, and hands it out.
Sys<void> make_agent_socket(Tree& tree, const char* path, const Record& record, Channel& control);
/// In the child: until the supervisor says that the broker and the relay serve and the limits stand.
Sys<void> await_supervisor();
/// Where a datagram to nowhere (a documentation address) would come from: the own address, where all is local.
Sys<kernel::Endpoint> source_to_nowhere(int family);
kernel::Endpoint own_address(const Record& local_network);

}  // namespace cordon::enforce::launch
