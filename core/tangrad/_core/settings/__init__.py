"""What is set: settings, the devices in use, and values that are computed while a program is traced."""
