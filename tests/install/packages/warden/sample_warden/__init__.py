"""A hook object with a wrapper: it keeps a list of who contributed rules, and withholds those of one distribution."""

import os

from tangrad.core import hookimpl


class Warden:
    def __init__(self):
        self.seen = []
        self.unwanted = os.environ.get("SAMPLE_WARDEN_UNWANTED", "")

    @hookimpl(wrapper=True)
    def tangrad_rules(self, kind, family):
        contributions = yield
        self.seen.append((kind, family, [one.distribution for one in contributions]))
        return [one for one in contributions if one.distribution != self.unwanted]


warden = Warden()
