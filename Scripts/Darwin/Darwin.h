// A stand-in for the C library of Apple's platforms: the calls and constants that Daybook uses there, as their manual pages
// have them, with the values of the platform. `Scripts/darwin.sh` type-checks the sources against it on Linux; nothing is
// ever linked or run with it.
//
// Nullability is the platform's too: threads say what may be null, the older headers say nothing, so that their pointers reach
// Swift implicitly unwrapped. Calls with a variable number of arguments, and `errno`, have the forms that Swift's own Darwin
// module gives them.

#ifndef DAYBOOK_DARWIN_H
#define DAYBOOK_DARWIN_H

#include <stddef.h>
#include <stdint.h>

#define SWIFT_NAME(name) __attribute__((swift_name(#name)))

// MARK: types

typedef int32_t dev_t;
typedef uint16_t mode_t;
typedef uint16_t nlink_t;
typedef uint64_t ino_t;
typedef uint32_t uid_t;
typedef uint32_t gid_t;
typedef int32_t pid_t;
typedef int64_t off_t;
typedef long ssize_t;
typedef long time_t;
typedef uint32_t useconds_t;
typedef uint64_t rlim_t;

struct timespec {
  time_t tv_sec;
  long tv_nsec;
};

struct stat {
  dev_t st_dev;
  mode_t st_mode;
  nlink_t st_nlink;
  ino_t st_ino;
  uid_t st_uid;
  gid_t st_gid;
  dev_t st_rdev;
  struct timespec st_atimespec, st_mtimespec, st_ctimespec, st_birthtimespec;
  off_t st_size;
  int64_t st_blocks;
  int32_t st_blksize;
  uint32_t st_flags;
  uint32_t st_gen;
};

struct flock {
  off_t l_start;
  off_t l_len;
  pid_t l_pid;
  short l_type;
  short l_whence;
};

struct dirent {
  uint64_t d_ino;
  uint64_t d_seekoff;
  uint16_t d_reclen;
  uint16_t d_namlen;
  uint8_t d_type;
  char d_name[1024];
};

struct rlimit {
  rlim_t rlim_cur;
  rlim_t rlim_max;
};

typedef struct directory_stream DIR;
typedef struct access_list *acl_t;
typedef enum { ACL_TYPE_EXTENDED = 0x100 } acl_type_t;
typedef enum {
  CLOCK_REALTIME = 0,
  CLOCK_MONOTONIC_RAW = 4,
  CLOCK_MONOTONIC = 6,
  CLOCK_UPTIME_RAW = 8,
} clockid_t;

// MARK: constants

#define EPERM 1
#define ENOENT 2
#define EINTR 4
#define EIO 5
#define ENXIO 6
#define E2BIG 7
#define EBADF 9
#define ECHILD 10
#define ENOMEM 12
#define EACCES 13
#define EBUSY 16
#define EEXIST 17
#define EXDEV 18
#define ENOTDIR 20
#define EISDIR 21
#define EINVAL 22
#define ENFILE 23
#define EMFILE 24
#define ENOTTY 25
#define EFBIG 27
#define ENOSPC 28
#define EROFS 30
#define EMLINK 31
#define EPIPE 32
#define ERANGE 34
#define EAGAIN 35
#define ENOTSUP 45
#define ETIMEDOUT 60
#define ELOOP 62
#define ENAMETOOLONG 63
#define ENOTEMPTY 66
#define EDQUOT 69
#define ESTALE 70
#define ENOLCK 77
#define ENOSYS 78
#define EILSEQ 92
#define ENOATTR 93
#define EOPNOTSUPP 102

#define O_RDONLY 0x0
#define O_WRONLY 0x1
#define O_RDWR 0x2
#define O_NONBLOCK 0x4
#define O_APPEND 0x8
#define O_NOFOLLOW 0x100
#define O_CREAT 0x200
#define O_TRUNC 0x400
#define O_EXCL 0x800
#define O_EVTONLY 0x8000
#define O_NOCTTY 0x20000
#define O_DIRECTORY 0x100000
#define O_SYMLINK 0x200000
#define O_CLOEXEC 0x1000000

#define AT_FDCWD -2
#define AT_EACCESS 0x10
#define AT_SYMLINK_NOFOLLOW 0x20
#define AT_SYMLINK_FOLLOW 0x40
#define AT_REMOVEDIR 0x80

#define F_DUPFD 0
#define F_GETFD 1
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4
#define F_FULLFSYNC 51
#define F_DUPFD_CLOEXEC 67
#define F_BARRIERFSYNC 85
#define F_OFD_SETLK 90
#define F_OFD_GETLK 92
#define F_RDLCK 1
#define F_UNLCK 2
#define F_WRLCK 3

#define F_OK 0
#define SEEK_SET 0
#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2
#define PATH_MAX 1024
#define NAME_MAX 255
#define DT_UNKNOWN 0
#define DT_DIR 4
#define DT_REG 8
#define DT_LNK 10

#define PROT_NONE 0x0
#define PROT_READ 0x1
#define PROT_WRITE 0x2
#define MAP_SHARED 0x1
#define MAP_PRIVATE 0x2
#define MAP_FIXED 0x10
#define MAP_NORESERVE 0x40
#define MAP_ANON 0x1000

#define RENAME_SWAP 0x2
#define RENAME_EXCL 0x4
#define CLONE_NOFOLLOW 0x1
#define CLONE_NOOWNERCOPY 0x2
#define XATTR_NOFOLLOW 0x1
#define _SC_PAGESIZE 29
#define RLIMIT_FSIZE 1
#define RLIMIT_NOFILE 8
#define RLIMIT_AS 5
#define RTLD_NOW 0x2
#define SIGINT 2
#define SIGILL 4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGKILL 9
#define SIGBUS 10
#define SIGSEGV 11
#define SIGPIPE 13
#define SIGXFSZ 25
// On Apple platforms a constant of the Swift overlay.
extern void (*_Nullable const SIG_IGN)(int);
#define SIGALRM 14
#define SIGTERM 15
#define SIGURG 16
#define CLONE_ACL 0x4

extern const mode_t S_IFMT;
extern const mode_t S_IFDIR;
extern const mode_t S_IFREG;
extern const mode_t S_IFIFO;
extern const mode_t S_IFCHR;
extern const mode_t S_IFLNK;

int daybook_errno(void) SWIFT_NAME(getter:errno());
void daybook_set_errno(int code) SWIFT_NAME(setter:errno(_:));

// MARK: names

int daybook_open(const char *path, int flags) SWIFT_NAME(open(_:_:));
int daybook_open_mode(const char *path, int flags, mode_t mode) SWIFT_NAME(open(_:_:_:));
int daybook_openat(int directory, const char *path, int flags) SWIFT_NAME(openat(_:_:_:));
int daybook_openat_mode(int directory, const char *path, int flags, mode_t mode) SWIFT_NAME(openat(_:_:_:_:));
int stat(const char *path, struct stat *status);
int lstat(const char *path, struct stat *status);
int fstat(int descriptor, struct stat *status);
int fstatat(int directory, const char *path, struct stat *status, int flags);
int faccessat(int directory, const char *path, int mode, int flags);
int access(const char *path, int mode);
int rename(const char *source, const char *target);
int renameat(int sourceDirectory, const char *source, int targetDirectory, const char *target);
int renamex_np(const char *source, const char *target, unsigned int flags);
int renameatx_np(int sourceDirectory, const char *source, int targetDirectory, const char *target, unsigned int flags);
int link(const char *source, const char *target);
int linkat(int sourceDirectory, const char *source, int targetDirectory, const char *target, int flags);
int symlink(const char *content, const char *path);
int symlinkat(const char *content, int directory, const char *path);
ssize_t readlink(const char *path, char *buffer, size_t byteCount);
ssize_t readlinkat(int directory, const char *path, char *buffer, size_t byteCount);
int unlink(const char *path);
int unlinkat(int directory, const char *path, int flags);
int mkdir(const char *path, mode_t mode);
int mkdirat(int directory, const char *path, mode_t mode);
int rmdir(const char *path);
char *realpath(const char *path, char *resolved);
char *getcwd(char *buffer, size_t byteCount);
DIR *opendir(const char *path);
DIR *fdopendir(int descriptor);
struct dirent *readdir(DIR *stream);
void rewinddir(DIR *stream);
int closedir(DIR *stream);
int dirfd(DIR *stream);
int clonefile(const char *source, const char *target, uint32_t flags);
int clonefileat(int sourceDirectory, const char *source, int targetDirectory, const char *target, uint32_t flags);
int fclonefileat(int source, int targetDirectory, const char *target, uint32_t flags);

// MARK: rights and attributes

int chmod(const char *path, mode_t mode);
int fchmod(int descriptor, mode_t mode);
int fchmodat(int directory, const char *path, mode_t mode, int flags);
int fchown(int descriptor, uid_t owner, gid_t group);
mode_t umask(mode_t mask);
ssize_t flistxattr(int descriptor, char *names, size_t byteCount, int options);
ssize_t fgetxattr(int descriptor, const char *name, void *value, size_t byteCount, uint32_t position, int options);
int fsetxattr(int descriptor, const char *name, const void *value, size_t byteCount, uint32_t position, int options);
acl_t acl_init(int count);
acl_t acl_get_fd_np(int descriptor, acl_type_t type);
int acl_set_fd_np(int descriptor, acl_t list, acl_type_t type);
ssize_t acl_size(acl_t list);
ssize_t acl_copy_ext(void *buffer, acl_t list, ssize_t byteCount);
acl_t acl_copy_int(const void *buffer);
int acl_free(void *list);

// MARK: bytes

ssize_t read(int descriptor, void *buffer, size_t byteCount);
ssize_t write(int descriptor, const void *bytes, size_t byteCount);
ssize_t pread(int descriptor, void *buffer, size_t byteCount, off_t offset);
ssize_t pwrite(int descriptor, const void *bytes, size_t byteCount, off_t offset);
int ftruncate(int descriptor, off_t byteCount);
off_t lseek(int descriptor, off_t offset, int whence);
int fsync(int descriptor);
int close(int descriptor);
int isatty(int descriptor);
int dup(int descriptor);
int daybook_fcntl(int descriptor, int command) SWIFT_NAME(fcntl(_:_:));
int daybook_fcntl_number(int descriptor, int command, int value) SWIFT_NAME(fcntl(_:_:_:));
int daybook_fcntl_pointer(int descriptor, int command, void *_Nonnull value) SWIFT_NAME(fcntl(_:_:_:));
void *mmap(void *address, size_t byteCount, int protection, int flags, int descriptor, off_t offset);
int munmap(void *address, size_t byteCount);
void *memset(void *target, int byte, size_t byteCount);
int memcmp(const void *first, const void *second, size_t byteCount);
void *memcpy(void *target, const void *source, size_t byteCount);
void free(void *memory);

// MARK: time and the process

int clock_gettime(clockid_t clock, struct timespec *time);
uint64_t clock_gettime_nsec_np(clockid_t clock);
int sysctlbyname(const char *name, void *old, size_t *oldSize, void *new, size_t newSize);
int atexit(void (*work)(void));
int nanosleep(const struct timespec *wish, struct timespec *rest);
pid_t getpid(void);
uid_t geteuid(void);
gid_t getegid(void);
int kill(pid_t process, int signal);
void (*_Nullable signal(int signal, void (*_Nullable handler)(int)))(int);
char *getenv(const char *name);
long sysconf(int name);
int getrlimit(int resource, struct rlimit *limit);
int setrlimit(int resource, const struct rlimit *limit);
pid_t waitpid(pid_t process, int *status, int options);
unsigned int alarm(unsigned int seconds);
void exit(int code) __attribute__((noreturn));
void _exit(int code) __attribute__((noreturn));
void *dlsym(void *library, const char *name);
double sin(double x);
double cos(double x);
double asin(double x);

// MARK: threads

#pragma clang assume_nonnull begin

struct _opaque_pthread_t {
  long __sig;
  char __opaque[8176];
};
typedef struct _opaque_pthread_t *pthread_t;
typedef struct {
  long __sig;
  char __opaque[56];
} pthread_mutex_t;
typedef struct {
  long __sig;
  char __opaque[56];
} pthread_attr_t;
typedef struct {
  long __sig;
  char __opaque[40];
} pthread_cond_t;
typedef struct {
  long __sig;
  char __opaque[8];
} pthread_mutexattr_t;
typedef struct {
  long __sig;
  char __opaque[8];
} pthread_condattr_t;
typedef unsigned long pthread_key_t;

int pthread_atfork(void (*_Nullable prepare)(void), void (*_Nullable parent)(void), void (*_Nullable child)(void));
int pthread_attr_init(pthread_attr_t *attributes);
int pthread_attr_destroy(pthread_attr_t *attributes);
int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t byteCount);
int pthread_create(
    pthread_t _Nullable *_Nonnull thread, const pthread_attr_t *_Nullable attributes,
    void *_Nullable (*_Nonnull start)(void *_Nullable), void *_Nullable argument);
int pthread_join(pthread_t thread, void *_Nullable *_Nullable result);
int pthread_detach(pthread_t thread);
pthread_t pthread_self(void);
int pthread_setname_np(const char *name);
int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *_Nullable attributes);
int pthread_mutex_destroy(pthread_mutex_t *mutex);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_trylock(pthread_mutex_t *mutex);
int pthread_mutex_unlock(pthread_mutex_t *mutex);
int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *_Nullable attributes);
int pthread_cond_destroy(pthread_cond_t *condition);
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int pthread_cond_timedwait_relative_np(
    pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *_Nullable time);
int pthread_cond_signal(pthread_cond_t *condition);
int pthread_cond_broadcast(pthread_cond_t *condition);
int pthread_key_create(pthread_key_t *key, void (*_Nullable destructor)(void *));
void *_Nullable pthread_getspecific(pthread_key_t key);
int pthread_setspecific(pthread_key_t key, const void *_Nullable value);
int sched_yield(void);

#pragma clang assume_nonnull end

#endif
