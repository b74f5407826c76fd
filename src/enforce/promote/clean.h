// Takes from an object of the upper what must not arrive: set-id and sticky bits, access control lists, capabilities,
// every extended attribute. Through a descriptor, on the object itself: what is looked at is what is moved.
#pragma once

#include <string>

#include "base/fd.h"
#include "enforce/promote/beneath.h"
#include "kernel/errno.h"

namespace cordon::enforce::promote {

enum class Mark : unsigned char { kNone, kOpaque, kOpaqueWithMarkedFiles, kUnknown };

/// What the overlay noted on it. kUnknown: redirect or metacopy; its content is elsewhere.
Sys<Mark> overlay_mark(FdView object);
/// A whiteout that is an empty file, in a directory whose mark is kOpaqueWithMarkedFiles.
bool is_marked_as_whiteout(FdView file);

/// Whether something was taken away that the run had put there.
enum class Stripped : unsigned char { kNothing, kSomething };
/// kMarks: what the overlay noted stays, until the directory is where it belongs. Without it a second look after a
/// death would take a directory that was made anew for one that was only written to.
enum class Spare : unsigned char { kNothing, kMarks };
Sys<Stripped> strip_attributes(FdView object, Spare spare);

/// The permission bits with which it arrives.
inline mode_t arriving_mode(mode_t mode, mode_t umask) { return mode & 0777U & ~umask; }

}  // namespace cordon::enforce::promote
