"""Hard attention by soft attention, with proof: gaps, temperatures, error budgets."""

from softmachine.certify.certificate import Certificate, certify, soften, softened

__all__ = ["Certificate", "certify", "soften", "softened"]
