/**
 * Stores the operator's certificates: keys and certificates in one Secret of the gateway's namespace, the authorities
 * in one ConfigMap, which the proxies mount. Optimistic locking by resourceVersion excludes concurrent writers.
 */
import type { KubeClient } from './client.ts';
import { hasStatus } from './errors.ts';
import type { ConfigMap, Secret } from './models.ts';
import { pathOfSecrets } from './parse-object.ts';

interface CertificateStoreOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly namespace: string;
  /** The Secret's name. */
  readonly secretName: string;
  /** The ConfigMap's name; its entry is ca.crt. */
  readonly configMapName: string;
}

/** The Secret's entries by name, as text. */
type Entries = Readonly<Record<string, string | undefined>>;

interface SecretEntries<T extends object> {
  load(): Promise<T | undefined>;
  store(next: T, before: T | undefined): Promise<boolean>;
  publishAuthorities(pem: string): Promise<void>;
}

type Manifest = (Secret | ConfigMap) & {
  /** The existing object's version; undefined if there is none. */
  readonly resourceVersion: string | undefined;
};

/** Entries are not validated, because only the operator writes this Secret. */
export function certificateStore<T extends object>(
  { client, namespace, secretName, configMapName }: CertificateStoreOptions,
  isComplete: (entries: Entries) => entries is Entries & T,
): SecretEntries<T> {
  const secrets = pathOfSecrets(namespace);
  const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
  /** The version that was last loaded. */
  let version: string | undefined;

  async function read(path: string): Promise<Secret | ConfigMap | undefined> {
    try {
      return await client.request({ method: 'GET', path });
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw error;
    }
  }

  /** Creates the object or replaces exactly this version. Returns false if another writer was faster. */
  async function write(folder: string, name: string, { resourceVersion, ...body }: Manifest): Promise<boolean> {
    const exists = resourceVersion !== undefined;
    const metadata = {
      name,
      namespace,
      labels: { 'app.kubernetes.io/managed-by': 'model-gateway' },
      ...(exists && { resourceVersion }),
    };
    try {
      await client.request({
        method: exists ? 'PUT' : 'POST',
        path: exists ? `${folder}/${name}` : folder,
        body: { ...body, metadata },
      });
      return true;
    } catch (error) {
      if (hasStatus(error, 409, exists ? 404 : 409)) return false;
      throw error;
    }
  }

  return {
    async load() {
      const secret = await read(`${secrets}/${secretName}`);
      version = secret?.metadata?.resourceVersion;
      const entries = Object.fromEntries(
        Object.entries(secret?.data ?? {}).map(([entry, value]) => [
          entry,
          Buffer.from(value, 'base64').toString('utf8'),
        ]),
      );
      return isComplete(entries) ? entries : undefined;
    },
    store(next) {
      const data = Object.fromEntries(
        Object.entries(next).flatMap(([entry, text]) =>
          typeof text === 'string' ? [[entry, Buffer.from(text).toString('base64')]] : [],
        ),
      );
      return write(secrets, secretName, {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'Opaque',
        data,
        resourceVersion: version,
      });
    },
    async publishAuthorities(pem) {
      const known = await read(`${configMaps}/${configMapName}`);
      if (known?.data?.['ca.crt'] === pem) return;
      const written = await write(configMaps, configMapName, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        data: { 'ca.crt': pem },
        resourceVersion: known?.metadata?.resourceVersion,
      });
      if (!written) throw new Error(`the ConfigMap ${configMapName} was written by another replica at the same moment`);
    },
  };
}
