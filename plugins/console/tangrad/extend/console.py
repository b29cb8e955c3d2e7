"""What other distributions may use of tangrad-console, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._console.explanations.catalogue": "distribution_of owner_in public_names",
        "tangrad._console.explanations.catalogue_data": "FAMILIES MODULES RULE_KINDS",
        "tangrad._console.report.model": "BAD Entry GOOD Key QUIET Report Sign Table WARNING",
        "tangrad._console.report.requirements": "normal_name",
        "tangrad._console.report.render": "to_html",
    },
)
