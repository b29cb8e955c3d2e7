"""Whether random keys are used a second time. This file only hands names on."""

from tangrad._random.key_reuse.uses import KeyUse as KeyUse
from tangrad._random.key_reuse.uses import check_key_reuse as check_key_reuse
