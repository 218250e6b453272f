#if !__has_include(<libpq-fe.h>)
#error "The trait PostgreSQL needs libpq and its headers: apt-get install libpq-dev, yum install libpq-devel, or brew install libpq"
#endif
#include <libpq-fe.h>
