/**
 * Stores the operator's certificates: keys and certificates in one Secret of the gateway's namespace, and, if clients
 * read them there, the authorities in one ConfigMap, which the proxies mount.
 */
import { ownedObject } from '#kube/owned-object.ts';
import type { Entries, OwnedRef, OwnedWatch } from '#kube/owned-object.ts';
import { isCertificate, isKeyPair } from './certificate-authority.ts';
import type { CertificateStore, StoredCertificates } from './certificates.ts';

interface CertificateStoreOptions extends OwnedWatch {
  readonly namespace: string;
  /** The Secret's name. */
  readonly secretName: string;
  /** The ConfigMap's name; its entry is ca.crt. Undefined: the authorities get to clients by other means. */
  readonly configMapName?: string;
}

const ENTRY = 'ca.crt';

/** A Secret whose certificates cannot be used counts as missing. */
export function certificateStore(options: CertificateStoreOptions): CertificateStore<OwnedRef> {
  const { client, namespace, secretName, configMapName } = options;
  const secret = ownedObject(client, { kind: 'Secret', namespace, name: secretName });
  const authorities =
    configMapName === undefined
      ? undefined
      : ownedObject(client, { kind: 'ConfigMap', namespace, name: configMapName });
  return {
    async load() {
      const entries = await secret.read();
      return entries && isStored(entries) ? entries : undefined;
    },
    async loadSound() {
      const entries = await secret.read();
      if (!entries || !isServing(entries)) return undefined;
      const { caCertificate, caKey, servingCertificate, servingKey } = entries;
      return { caCertificate, caKey, servingCertificate, servingKey };
    },
    store: (next) => secret.write({ ...next }),
    async publishAuthorities(pem) {
      if (!authorities || (await authorities.read())?.[ENTRY] === pem) return undefined;
      const written = await authorities.write({ [ENTRY]: pem });
      if (!written) throw new Error(`the ConfigMap ${configMapName} was written by another replica at the same moment`);
      return written;
    },
    watch(onChange) {
      const watches = [secret, authorities].flatMap((object) => object?.watch(options, onChange) ?? []);
      return {
        async stop() {
          await Promise.all(watches.map((each) => each.stop()));
        },
      };
    },
  };
}

/** True if each certificate has its key, and what need not be there can be read if it is. */
function isStored(entries: Entries): entries is Entries & StoredCertificates {
  const { previousCaCertificate } = entries;
  return (
    isServing(entries) &&
    hasNextOrNone(entries) &&
    (previousCaCertificate === undefined || isCertificate(previousCaCertificate))
  );
}

function isServing(entries: Entries): entries is Entries & StoredCertificates {
  const { caCertificate, caKey, servingCertificate, servingKey } = entries;
  return isKeyPair(caCertificate, caKey) && isKeyPair(servingCertificate, servingKey);
}

function hasNextOrNone({ nextCaCertificate, nextCaKey }: Entries): boolean {
  if (nextCaCertificate === undefined && nextCaKey === undefined) return true;
  return isKeyPair(nextCaCertificate, nextCaKey);
}
