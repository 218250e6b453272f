#if __has_include(<hiredis/hiredis.h>)
#include <hiredis/hiredis.h>
#else
#error "The trait Redis needs hiredis: install libhiredis-dev (apt), hiredis-devel (yum) or hiredis (brew)."
#endif
