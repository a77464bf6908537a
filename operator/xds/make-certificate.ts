/**
 * X.509 certificates (RFC 5280) on the P-256 curve: an authority that signs itself, and serving certificates that it signs.
 * Of the standard only what these two need is written here, in DER; keys and signatures are Node's.
 */
import { Buffer } from 'node:buffer';
import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** As PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Life {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** DER's tags. */
const TAG = { boolean: 0x01, integer: 0x02, bitString: 0x03, octetString: 0x04, oid: 0x06, utf8: 0x0c, utcTime: 0x17, generalizedTime: 0x18, sequence: 0x30, set: 0x31 } as const;
/** Object identifiers, encoded. */
const OID = {
  commonName: '550403', subjectKeyId: '551d0e', keyUsage: '551d0f', subjectAltName: '551d11', basicConstraints: '551d13', authorityKeyId: '551d23',
  extendedKeyUsage: '551d25', serverAuth: '2b06010505070301', ecdsaWithSha256: '2a8648ce3d040302',
} as const;
/** Bit strings: how many bits are unused, then the bits. */
const KEY_USAGE = { signsCertificates: '0106', signsData: '0780' } as const;

/** Clocks of other machines may be behind. */
const BACKDATED_MS = 5 * 60_000;

interface Wish {
  readonly issuer: string;
  readonly subject: string;
  readonly life: Life;
  readonly publicKey: KeyObject;
  readonly signingKey: KeyObject;
  readonly extensions: readonly Buffer[];
}

/** A new authority. `of`: what it vouches for, in its name. */
export function makeAuthority(nowMs: number, lifetimeMs: number, of = 'xDS'): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // a name of its own: during a rotation two authorities are trusted at once
  const name = `Model Gateway ${of} authority ${randomBytes(4).toString('hex')}`;
  const certificate = certificateOf({
    issuer: name, subject: name, life: { fromMs: nowMs, untilMs: nowMs + lifetimeMs }, publicKey, signingKey: privateKey,
    extensions: [
      extension(OID.basicConstraints, der(TAG.sequence, der(TAG.boolean, hex('ff')), der(TAG.integer, hex('00'))), true),
      extension(OID.keyUsage, der(TAG.bitString, hex(KEY_USAGE.signsCertificates)), true),
      extension(OID.subjectKeyId, der(TAG.octetString, keyId(publicKey))),
    ],
  });
  return { certificate, key: keyPem(privateKey) };
}

/** A certificate for a server of these names. */
export function makeServing(authority: KeyPair, serverNames: readonly string[], life: Life): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = new X509Certificate(authority.certificate);
  const certificate = certificateOf({
    issuer: issuer.subject.slice('CN='.length), subject: (serverNames[0] ?? '').slice(0, 64), life, publicKey, signingKey: createPrivateKey(authority.key),
    extensions: [
      extension(OID.basicConstraints, der(TAG.sequence), true),
      extension(OID.keyUsage, der(TAG.bitString, hex(KEY_USAGE.signsData)), true),
      extension(OID.extendedKeyUsage, der(TAG.sequence, der(TAG.oid, hex(OID.serverAuth)))),
      extension(OID.subjectAltName, der(TAG.sequence, ...serverNames.map((name) => der(0x82, Buffer.from(name, 'latin1'))))),
      extension(OID.authorityKeyId, der(TAG.sequence, der(0x80, keyId(issuer.publicKey)))),
    ],
  });
  return { certificate, key: keyPem(privateKey) };
}

/** When a certificate holds. */
export function lifeOf(pem: string): Life {
  const { validFrom, validTo } = new X509Certificate(pem);
  return { fromMs: Date.parse(validFrom) + BACKDATED_MS, untilMs: Date.parse(validTo) };
}

/** The DNS names that a certificate is made for. */
export function subjectNames(pem: string): string[] {
  return (new X509Certificate(pem).subjectAltName ?? '').split(', ').flatMap((each) => each.startsWith('DNS:') ? [each.slice(4)] : []);
}

function certificateOf({ issuer, subject, life, publicKey, signingKey, extensions }: Wish): string {
  const algorithm = der(TAG.sequence, der(TAG.oid, hex(OID.ecdsaWithSha256)));
  const toBeSigned = der(TAG.sequence,
    der(0xa0, der(TAG.integer, hex('02'))), // version 3
    der(TAG.integer, serialNumber()),
    algorithm,
    commonName(issuer),
    der(TAG.sequence, time(life.fromMs - BACKDATED_MS), time(life.untilMs)),
    commonName(subject),
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, der(TAG.sequence, ...extensions)));
  const signature = sign('sha256', toBeSigned, signingKey);
  const bytes = der(TAG.sequence, toBeSigned, algorithm, der(TAG.bitString, hex('00'), signature));
  return `-----BEGIN CERTIFICATE-----\n${(bytes.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`;
}

/** Tag, length, contents. */
function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const digits = content.length.toString(16);
  const length = hex(digits.padStart(digits.length + digits.length % 2, '0'));
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, content]);
}

function hex(digits: string): Buffer {
  return Buffer.from(digits, 'hex');
}

function extension(oid: string, value: Buffer, critical = false): Buffer {
  return der(TAG.sequence, der(TAG.oid, hex(oid)), ...critical ? [der(TAG.boolean, hex('ff'))] : [], der(TAG.octetString, value));
}

function commonName(name: string): Buffer {
  return der(TAG.sequence, der(TAG.set, der(TAG.sequence, der(TAG.oid, hex(OID.commonName)), der(TAG.utf8, Buffer.from(name)))));
}

/** To the second; from the year 2050 on with four digits of the year. */
function time(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().replaceAll(/\D/g, '').slice(0, 14)}Z`;
  return digits >= '2050' ? der(TAG.generalizedTime, Buffer.from(digits)) : der(TAG.utcTime, Buffer.from(digits.slice(2)));
}

function keyId(publicKey: KeyObject): Buffer {
  return createHash('sha256').update(publicKey.export({ format: 'der', type: 'spki' })).digest().subarray(0, 20);
}

/** Positive, and without a leading zero. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes.writeUInt8(bytes.readUInt8(0) & 0x7f | 0x40, 0);
  return bytes;
}

function keyPem(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'pkcs8' });
}
