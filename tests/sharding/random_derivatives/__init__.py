"""Random programs over devices, and their derivatives, against the same functions of whole arrays on one device."""
