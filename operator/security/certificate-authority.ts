/**
 * X.509 certificates (RFC 5280) on the P-256 curve: an authority that signs itself, and serving certificates that it
 * signs. @peculiar/x509 encodes and signs them with Node's WebCrypto.
 */
import 'reflect-metadata'; // @peculiar/x509 needs this polyfill loaded before it
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
  X509Certificate as ParsedCertificate,
} from '@peculiar/x509';

/** As PEM; the key in PKCS #8. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** The period in which a certificate is valid. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

const CURVE = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' };
/** Tolerates clocks of other machines that are behind. */
const BACKDATED_MS = 5 * 60_000;
/** RFC 5280, appendix A.1: the upper bound of a common name. */
const LONGEST_COMMON_NAME = 64;

/** True if both are PEM that can be read, and belong together. */
export function isKeyPair(certificate: string | undefined, key: string | undefined): boolean {
  if (certificate === undefined || key === undefined) return false;
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false; // it is not PEM, or not of a certificate or key
  }
}

/** True if it is PEM of a certificate. */
export function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).subject !== '';
  } catch {
    return false; // it is not PEM, or of something else
  }
}

/** Creates a self-signed authority; `purpose` is part of its name. */
export async function createAuthority(nowMs: number, lifetimeMs: number, purpose = 'xDS'): Promise<KeyPair> {
  const keys = await generateKeys();
  // a unique name, because clients trust two authorities at once during a rotation
  const name = `Model Gateway ${purpose} authority ${randomBytes(4).toString('hex')}`;
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...datesOf({ fromMs: nowMs, untilMs: nowMs + lifetimeMs }),
    serialNumber: serialNumber(),
    name: commonName(name),
    keys,
    signingAlgorithm: SIGNATURE,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: pemOf(certificate), key: await exportKey(keys.privateKey) };
}

/** Issues a certificate for a server of these DNS names; the first one is its subject. */
export async function issueServing(
  authority: KeyPair,
  dnsNames: readonly string[],
  validity: Validity,
): Promise<KeyPair> {
  const keys = await generateKeys();
  const issuer = new ParsedCertificate(authority.certificate);
  const certificate = await X509CertificateGenerator.create({
    ...datesOf(validity),
    serialNumber: serialNumber(),
    subject: commonName((dnsNames[0] ?? '').slice(0, LONGEST_COMMON_NAME)),
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.key),
    signingAlgorithm: SIGNATURE,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(dnsNames.map((value) => ({ type: 'dns' as const, value }))),
      authorityKeyId(issuer),
    ],
  });
  return { certificate: pemOf(certificate), key: await exportKey(keys.privateKey) };
}

/** The period in which a certificate is valid, without the minutes by which it is backdated. */
export function validityOf(pem: string): Validity {
  const { validFromDate, validToDate } = new X509Certificate(pem);
  return { fromMs: validFromDate.getTime() + BACKDATED_MS, untilMs: validToDate.getTime() };
}

/** The DNS names for which a certificate is issued. */
export function dnsNamesOf(pem: string): string[] {
  const names = (new X509Certificate(pem).subjectAltName ?? '').split(', ');
  return names.flatMap((name) => (name.startsWith('DNS:') ? [name.slice('DNS:'.length)] : []));
}

function datesOf({ fromMs, untilMs }: Validity): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(fromMs - BACKDATED_MS), notAfter: new Date(untilMs) };
}

function commonName(name: string): Name {
  return new Name([{ CN: [name] }]);
}

/** Refers to the authority by the identifier that its own certificate carries (RFC 5280, section 4.2.1.1). */
function authorityKeyId(issuer: ParsedCertificate): AuthorityKeyIdentifierExtension {
  const subjectKeyId = issuer.getExtension(SubjectKeyIdentifierExtension);
  if (!subjectKeyId) throw new TypeError('the certificate of the authority has no subject key identifier');
  return new AuthorityKeyIdentifierExtension(subjectKeyId.keyId);
}

/** 127 random bits, as a positive number in hexadecimal digits. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8((bytes.readUInt8(0) & 0x7f) | 0x40, 0);
  return bytes.toString('hex');
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(CURVE, true, ['sign', 'verify']);
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return `${PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), PemConverter.PrivateKeyTag)}\n`;
}

function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('pkcs8', PemConverter.decodeFirst(pem), CURVE, false, ['sign']);
}

function pemOf(certificate: ParsedCertificate): string {
  return `${certificate.toString('pem')}\n`;
}
