// Owner of the libraries' precompiled headers (common/CMakeLists.txt); there is nothing in it.
