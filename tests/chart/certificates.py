"""Certificates for servers of tests, by an authority of the tests' own."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_FROM: Final = datetime(2024, 1, 1, tzinfo=UTC)
_DAYS: Final = timedelta(days=36500)


@dataclass(frozen=True, slots=True)
class Authority:
    """An authority, and the file of its certificate."""

    key: ec.EllipticCurvePrivateKey
    name: x509.Name
    certificate: Path

    @classmethod
    def new(cls, folder: Path, name: str) -> "Authority":
        """Make an authority of that name."""
        key, subject = ec.generate_private_key(ec.SECP256R1()), _named(name)
        basic = x509.BasicConstraints(ca=True, path_length=None)
        signed = _builder(subject, subject, key).add_extension(basic, critical=True)
        path = folder / f"{name}.crt"
        path.write_bytes(_text(signed.sign(key, hashes.SHA256())))
        return cls(key, subject, path)

    def issue(self, folder: Path, host: str) -> tuple[Path, Path]:
        """Make a server's certificate for that host; return its file, and that of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        signed = _builder(_named(host), self.name, key).add_extension(names, critical=False)
        certificate, secret = folder / "tls.crt", folder / "tls.key"
        certificate.write_bytes(_text(signed.sign(self.key, hashes.SHA256())))
        secret.touch(mode=0o600)
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return certificate, secret


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_FROM + _DAYS)
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _text(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
