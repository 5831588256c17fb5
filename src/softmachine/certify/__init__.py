"""Hard attention by soft attention, with proof: gaps, temperatures, error budgets."""

from softmachine.certify.certificate import Certificate, certify, softened
from softmachine.certify.from_weights import WeightCertificate, certify_weights, soften_weights

__all__ = ["Certificate", "WeightCertificate", "certify", "certify_weights", "soften_weights", "softened"]
