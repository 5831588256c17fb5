"""Hard attention by soft attention, with proof: gaps, temperatures, error budgets."""

from softmachine.certify.certificate import Certificate, certify
from softmachine.certify.from_weights import WeightCertificate, certify_weights, soften_weights
from softmachine.certify.promises import certify_model, certify_theorem_program, require_theorem_weights

__all__ = [
    "Certificate",
    "WeightCertificate",
    "certify",
    "certify_model",
    "certify_theorem_program",
    "certify_weights",
    "require_theorem_weights",
    "soften_weights",
]
