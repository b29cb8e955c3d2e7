"""Which dtypes there are, and where they meet.

`objects`: which dtypes there are; `kinds`: what they are; `lattice`: where they meet; `promotion`: where values meet.
`tangrad.core.dtypes` has what others may use of them.
"""
