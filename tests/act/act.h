/* act: tries acts and says, one line each, whether the kernel allowed them.
 *
 *   act read=/etc/hostname exec=/bin/true tcp=127.0.0.1:80
 *   read=/etc/hostname DENIED ENOENT
 *   exec=/bin/true ALLOWED
 *
 * The promise tests run it twice: inside a sandbox, and bare as the negative control. It is a static C program so that
 * nothing but the act itself can fail. Exit code 0 whatever the answers are; 2 for an unknown act.
 */
#pragma once

/* 0 for "allowed", else the errno with which it was denied. */
typedef int act_function(const char* operand);

struct act {
  const char* name;
  act_function* run;
};

extern const struct act file_acts[];
extern const struct act process_acts[];
extern const struct act kernel_acts[];
extern const struct act show_acts[];

/* Splits "a:b" at the last colon into two buffers; 0 where there is none. */
int split_operand(const char* operand, char* first, char* second, unsigned long size);

const char* errno_word(int code);
int run_in_container(char** argv);
