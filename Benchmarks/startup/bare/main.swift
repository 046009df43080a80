// Imports the C library alone, and ends: how long that takes is measured from outside.
import Glibc

_ = getpid()
