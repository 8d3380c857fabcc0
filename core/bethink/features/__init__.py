"""What stands on the kernel: one module or package a feature, known by its entry file."""
