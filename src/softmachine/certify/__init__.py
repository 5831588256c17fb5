"""Hard attention by soft attention, with proof: gaps, temperatures, error budgets."""

from softmachine.certify.certificate import Certificate, certify, softened

__all__ = ["Certificate", "certify", "softened"]
