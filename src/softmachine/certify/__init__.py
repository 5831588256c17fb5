"""Hard attention by soft attention, with proof: gaps, temperatures, error budgets."""

from softmachine.certify.certificate import Certificate, certify
from softmachine.certify.from_weights import ExhaustiveCertificate, certify_or_run
from softmachine.certify.promises import (
    certify_model,
    certify_theorem_program,
    has_theorem_weights,
    recompute_certificate,
)

__all__ = [
    "Certificate",
    "ExhaustiveCertificate",
    "certify",
    "certify_model",
    "certify_or_run",
    "certify_theorem_program",
    "has_theorem_weights",
    "recompute_certificate",
]
