"""Which dtypes there are, and where they meet.

`objects`: which dtypes there are; `kinds`: what they are; `lattice`: where they meet; `promotion`: where values meet;
`system`: all that the system itself needs of them, which is `tangrad.core.dtypes`.
"""
