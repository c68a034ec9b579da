/* A disk that fails and a clock that jumps, for a process that knows nothing of it (LD_PRELOAD).
 *
 *   SHIM_UNDER   counted are calls that change something below this path
 *   SHIM_LOG     file that gets a line for each of them: its name and the path
 *   SHIM_AT      the number of the call that goes wrong, from 1; 0: none
 *   SHIM_HOW     EIO, ENOSPC, EROFS, short (half of a write is done) or crash (SIGKILL)
 *   SHIM_ALWAYS  1: all later calls go wrong as well
 *   SHIM_CLOCK   file of eight bytes: nanoseconds to be added to the wall clock
 *
 * A call that cannot go wrong in that way (only a write can be short, ENOSPC does not keep a
 * file from being deleted, EROFS is for names) is done as if nothing were the matter.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum kind { WRITE, SYNC, NAME, UNLINK, CREATE, CUT };

static const char *under, *how = "";
static long at, always, calls;
static int log_fd = -1;
static volatile int64_t *offset;

__attribute__((constructor)) static void begin(void) {
  const char *value;
  under = getenv("SHIM_UNDER");
  if ((value = getenv("SHIM_HOW"))) how = value;
  if ((value = getenv("SHIM_AT"))) at = atol(value);
  if ((value = getenv("SHIM_ALWAYS"))) always = atol(value);
  if ((value = getenv("SHIM_LOG")))
    log_fd = (int)syscall(SYS_openat, AT_FDCWD, value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if ((value = getenv("SHIM_CLOCK"))) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, value, O_RDONLY | O_CLOEXEC, 0);
    void *map = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) offset = map;
  }
}

static int fails(enum kind kind) { /* whether this kind of call can go wrong that way */
  if (!strcmp(how, "short")) return kind == WRITE;
  if (!strcmp(how, "ENOSPC")) return kind != UNLINK && kind != CUT;
  if (!strcmp(how, "EROFS")) return kind == NAME || kind == UNLINK || kind == CREATE;
  return 1;
}

/* Whether the call is to go wrong; errno is set then. */
static int due(enum kind kind, const char *name, const char *path) {
  char line[4200];
  if (!under || !path || strncmp(path, under, strlen(under))) return 0;
  long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  if (log_fd >= 0) {
    int length = snprintf(line, sizeof line, "%s %s\n", name, path);
    syscall(SYS_write, log_fd, line, (size_t)length);
  }
  if (!at || number < at || (number > at && !always) || !fails(kind)) return 0;
  if (!strcmp(how, "crash") && kind != WRITE) kill(getpid(), SIGKILL);
  errno = !strcmp(how, "ENOSPC") ? ENOSPC : !strcmp(how, "EROFS") ? EROFS : EIO;
  return 1;
}

static int due_fd(enum kind kind, const char *name, int fd) {
  char link[64], path[4096];
  if (!under) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return due(kind, name, path);
}

#define REAL(type, name) \
  static type *real; \
  if (!real) real = (type *)dlsym(RTLD_NEXT, name)

ssize_t write(int fd, const void *data, size_t size) {
  typedef ssize_t call(int, const void *, size_t);
  REAL(call, "write");
  if (!due_fd(WRITE, "write", fd)) return real(fd, data, size);
  if (!strcmp(how, "short")) return real(fd, data, size > 1 ? size / 2 : size);
  if (!strcmp(how, "crash")) {
    real(fd, data, size / 2);
    kill(getpid(), SIGKILL);
  }
  return -1;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t place) {
  typedef ssize_t call(int, const void *, size_t, off64_t);
  REAL(call, "pwrite64");
  return due_fd(WRITE, "pwrite", fd) ? -1 : real(fd, data, size, place);
}

int fsync(int fd) {
  typedef int call(int);
  REAL(call, "fsync");
  return due_fd(SYNC, "fsync", fd) ? -1 : real(fd);
}

int fdatasync(int fd) {
  typedef int call(int);
  REAL(call, "fdatasync");
  return due_fd(SYNC, "fdatasync", fd) ? -1 : real(fd);
}

int ftruncate64(int fd, off64_t size) {
  typedef int call(int, off64_t);
  REAL(call, "ftruncate64");
  return due_fd(CUT, "ftruncate", fd) ? -1 : real(fd, size);
}

int rename(const char *old, const char *new) {
  typedef int call(const char *, const char *);
  REAL(call, "rename");
  return due(NAME, "rename", new) ? -1 : real(old, new);
}

int link(const char *old, const char *new) {
  typedef int call(const char *, const char *);
  REAL(call, "link");
  return due(NAME, "link", new) ? -1 : real(old, new);
}

int unlink(const char *path) {
  typedef int call(const char *);
  REAL(call, "unlink");
  return due(UNLINK, "unlink", path) ? -1 : real(path);
}

int mkdir(const char *path, mode_t mode) {
  typedef int call(const char *, mode_t);
  REAL(call, "mkdir");
  return due(CREATE, "mkdir", path) ? -1 : real(path, mode);
}

int open64(const char *path, int flags, ...) {
  typedef int call(const char *, int, ...);
  REAL(call, "open64");
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (flags & O_CREAT && due(CREATE, "create", path)) return -1;
  return real(path, flags, mode);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  typedef int call(clockid_t, struct timespec *);
  REAL(call, "clock_gettime");
  int result = real(clock, time);
  if (!result && offset && clock == CLOCK_REALTIME) {
    int64_t now = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + *offset;
    time->tv_sec = now / 1000000000;
    time->tv_nsec = now % 1000000000;
  }
  return result;
}
