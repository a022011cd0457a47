"""What is measured about the methods: the paper's experiments, accuracy, comparisons."""

from varfocus.studies import metrics

__all__ = ["metrics"]
