"""Features on top of the kernel: a module or package each, known by the entry file."""
