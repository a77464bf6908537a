/** A random key in a Secret of the gateway's namespace, which one replica creates and all others read. */
import { randomBytes } from 'node:crypto';
import type { KubeClient } from '../kube/client.ts';
import { hasStatus } from '../kube/errors.ts';
import { parseSecretObject, pathOfSecrets } from '../kube/parse-object.ts';

interface StoredKeyOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly namespace: string;
  readonly secret: string;
  /** The Secret's entry; its value is base64. */
  readonly entry: string;
  readonly bytes: number;
}

interface StoredKey {
  /** Undefined if there is no Secret. Rejects if it contains something else, which only its owner may replace. */
  read(): Promise<Buffer | undefined>;
  /** Creates the Secret. Undefined if another replica was faster. */
  make(): Promise<Buffer | undefined>;
}

/** Both methods reject with the client's errors. */
export function storedKey({ client, namespace, secret, entry, bytes }: StoredKeyOptions): StoredKey {
  const path = pathOfSecrets(namespace);
  return {
    async read() {
      try {
        const found = parseSecretObject(await client.request({ method: 'GET', path: `${path}/${secret}` }));
        const key = Buffer.from(found.data.get(entry) ?? '', 'base64');
        if (key.length === bytes) return key;
      } catch (error) {
        if (hasStatus(error, 404)) return undefined;
        throw error;
      }
      throw new Error(`its entry ${entry} is no key; delete the Secret, and another one is made`);
    },
    async make() {
      const key = randomBytes(bytes);
      const metadata = { name: secret, namespace, labels: { 'app.kubernetes.io/managed-by': 'model-gateway' } };
      const stringData = { [entry]: key.toString('base64') };
      try {
        await client.request({
          method: 'POST',
          path,
          body: { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, stringData },
        });
        return key;
      } catch (error) {
        if (hasStatus(error, 409)) return undefined;
        throw error;
      }
    },
  };
}
